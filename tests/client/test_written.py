"""What is written from the code is up to date, and says what the catalogue says."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path
from typing import Any

import pytest

import umbel_client
from app.http.problems import KINDS
from app.openapi import document as openapi
from models.registry import methods
from scripts import write_client
from tests.conftest import ROOT
from umbel_client import problems, version
from umbel_client._written.aio.client import AsyncUmbel
from umbel_client.client import Umbel
from umbel_client.methods import METHODS, Methods


@pytest.fixture(scope="module")
def expected() -> dict[Path, str]:
    return write_client.files()


def test_written_files_are_up_to_date(expected: dict[Path, str]) -> None:
    for path, text in expected.items():
        written = path.read_text("utf-8") if path.exists() else None
        assert written == text, f"{path.relative_to(ROOT)}: run `make client`"


def test_nothing_else_is_in_the_written_folder(expected: dict[Path, str]) -> None:
    there = set(write_client.WRITTEN.rglob("*.py"))
    assert there <= expected.keys(), "run `make client`"


def test_every_method_is_a_function_with_its_inputs_and_parameters() -> None:
    assert METHODS.keys() == methods().keys()
    for method in methods().values():
        function = getattr(Methods, method.id.replace("-", "_"))
        arguments = inspect.signature(function).parameters
        assert set(method.inputs) <= set(arguments)
        for name, entry in method.Params.model_json_schema()["properties"].items():
            assert arguments[name].default == entry["default"], (method.id, name)
        described = inspect.getdoc(function) or ""
        assert all(f"{role} : " in described for role in method.inputs), method.id
        assert all(f"{name} : " in described for name in method.Params.model_fields), method.id


def test_a_function_runs_its_method() -> None:
    calls: list[Any] = []
    Methods(lambda method, **given: calls.append((method, given))).l2h(
        logits=[[1.0, 2.0]], temperature=2.0, then="hac", extra_inputs={"labels": ["a"]}
    )
    ((method, given),) = calls
    assert method == "l2h"
    assert given["params"]["temperature"] == 2.0
    assert given["params"]["aggregation"] == "mean-sum"
    assert (given["logits"], given["then"], given["labels"]) == ([[1.0, 2.0]], "hac", ["a"])


def test_every_type_of_problem_has_an_exception() -> None:
    assert {f"/problems/{code}" for code in KINDS} <= problems.BY_TYPE.keys()
    assert issubclass(problems.NotFinite, problems.UnusableInput)


def test_both_clients_have_the_same_calls() -> None:
    renamed = {"close": "aclose", "__enter__": "__aenter__", "__exit__": "__aexit__"}
    blocking = {renamed.get(name, name) for name in vars(Umbel) if not name.startswith("__doc")}
    assert blocking == {name for name in vars(AsyncUmbel) if not name.startswith("__doc")}
    assert inspect.iscoroutinefunction(AsyncUmbel.run)
    assert not inspect.iscoroutinefunction(Umbel.run)


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text())["project"]
    assert version.VERSION == umbel_client.__version__ == project["version"]
    assert version.API_VERSION == openapi.VERSION
