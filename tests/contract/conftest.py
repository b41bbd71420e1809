"""`--methods`: the contract of some methods alone."""

from __future__ import annotations

import pytest

from models.method import Method


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--methods", help="ids of methods, with commas: others are not tested")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = config.getoption("methods", None)
    if chosen is None:
        return
    others = [item for item in items if (own := method_of(item)) and own not in chosen.split(",")]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]


def method_of(item: pytest.Item) -> str | None:
    """The id of the method that a contract test is about."""
    call = getattr(item, "callspec", None)
    params = {} if call is None else call.params
    method = params["example"].method if "example" in params else params.get("method")
    return method.id if isinstance(method, Method) else None
