"""Small cases take the paths of large ones."""

from __future__ import annotations

import pytest

from models.l2h import merging


@pytest.fixture(autouse=True)
def rows_of_few_classes_are_listed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "SHORT", 6)
