"""What the suites of tests have in common: each test runs on each example."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar, TypeVar

import pytest

from models.running import packages
from umbel.testing.examples import Example

Test = TypeVar("Test", bound=Callable[..., None])


def where(
    applies: Callable[[Example], bool],
    needs: Callable[[Example], Sequence[str]] = lambda example: example.method.needs,
) -> Callable[[Test], Test]:
    """A test of the examples of which this holds.

    needs : the optional packages of the test, by default those of a fit.
    """

    def mark(test: Test) -> Test:
        test.applies, test.needs = applies, needs  # type: ignore[attr-defined]
        return test

    return mark


once = where(lambda example: example.number == 0, needs=lambda _: ())
"""A test of each method alone, without a fit."""


class Suite:
    """Tests of some examples.

    examples : of `umbel.testing.examples_of`. order_matters : ids of methods whose result may
    depend on the order of rows, by their mathematics: online ones, and those that draw batches of
    rows by number.
    """

    examples: ClassVar[Sequence[Example]] = ()
    order_matters: ClassVar[Collection[str]] = frozenset()

    @classmethod
    def needing(cls, names: Sequence[str]) -> list[pytest.MarkDecorator]:
        """The marks of a test that needs optional packages: skipped where one is missing."""
        missing = packages.missing(names)
        reason = "".join(f"needs {name}: {packages.command(name)}" for name in missing[:1])
        return [pytest.mark.skip(reason=reason)] if missing else []

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give each test its examples."""
        if "example" not in metafunc.fixturenames:
            return
        assert self.examples, f"{type(self).__name__}.examples is empty: see examples_of"
        applies: Any = getattr(metafunc.function, "applies", lambda _: True)
        needs: Any = getattr(metafunc.function, "needs", lambda example: example.method.needs)
        chosen = [
            pytest.param(example, id=str(example), marks=self.needing(needs(example)))
            for example in self.examples
            if applies(example)
        ]
        metafunc.parametrize("example", chosen)
