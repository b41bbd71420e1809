"""A fit leaves its process as it found it: a later job of the same process depends on none."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import pytest

from tests.contract.contract_kit import EXAMPLES, with_needs
from tests.contract.left_kit import changed, state
from tests.models.scales_kit import BRIEF
from umbel.testing import Example


class Cancelled(Exception):
    """A job is not wanted any more."""


@pytest.mark.parametrize("example", with_needs(EXAMPLES))
@pytest.mark.parametrize("ends", ["well", "cancelled"])
def test_a_fit_changes_nothing_of_its_process(
    example: Example, ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other processes change the usual folder of temporary files.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    params = example.params(**BRIEF.get(example.method.id, {}))
    # What it loads stays, and loading changes more than computing does.
    example.method.fit(example.data(), params, threads=2)
    before = state()
    n_reports = 0

    def watch(fraction: float, stage: str, message: str = "") -> None:
        nonlocal n_reports
        n_reports += 1
        if ends == "cancelled" and n_reports > 1:
            raise Cancelled

    with contextlib.suppress(Cancelled):
        example.method.fit(example.data(), params, watch, threads=2)
    assert changed(before, state()) == {}
