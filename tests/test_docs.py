"""Documents stay up to date: generated pages follow the code, links and paths exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import write_docs
from tests.conftest import ROOT

WRITTEN = sorted(
    path.relative_to(ROOT)
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "app").rglob("*.md"))
)


def test_generated_pages_are_up_to_date() -> None:
    for path, text in write_docs.pages().items():
        written = path.read_text("utf-8") if path.exists() else None
        assert written == text, f"{path.relative_to(ROOT)}: run `make docs`"


def test_every_method_has_a_page_and_there_are_no_others() -> None:
    pages = {path for path in write_docs.pages() if path.parent.name == "methods"}
    assert set((ROOT / "docs" / "methods").glob("*.md")) == pages, "run `make docs`"
    how_many = re.findall(r"one of (\d+) methods", (ROOT / "README.md").read_text("utf-8"))
    assert how_many == [str(len(pages) - 1)]


@pytest.mark.parametrize("page", WRITTEN, ids=str)
def test_link_targets_exist(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", (ROOT / page).read_text("utf-8"))
    local = [
        target for target in targets if "://" not in target and not target.startswith("mailto:")
    ]
    assert not [target for target in local if not ((ROOT / page).parent / target).exists()]


@pytest.mark.parametrize("page", WRITTEN, ids=str)
def test_paths_in_backticks_exist(page: Path) -> None:
    text = (ROOT / page).read_text("utf-8")
    paths = re.findall(
        r"`((?:app|workers|models|tests|scripts|bench|docs|openapi)/[\w./-]*)`", text
    )
    assert not [path for path in paths if not (ROOT / path).exists()]
