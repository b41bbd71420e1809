"""What tests need: found, named, counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import needs_kit
from tests.needs_kit import MODULES, need, needs_of, table

FILE = """
import pytest
import no_such_module

pytestmark = [pytest.mark.slow, pytest.mark.needs("torch", "node")]


@pytest.mark.parametrize("n", [1, 2])
def test_one(n): ...


class TestMore:
    def test_two(self): ...
"""


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs_kit, "find_spec", lambda module: None)
    monkeypatch.delenv("UMBEL_REQUIRE_ALL", raising=False)


@pytest.mark.usefixtures("nothing")
def test_a_test_is_skipped_by_name_or_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    need()
    with pytest.raises(pytest.skip.Exception, match=r"needs torch: pip install 'umbel\[torch\]'"):
        need("torch")
    monkeypatch.setenv("UMBEL_REQUIRE_ALL", "1")
    with pytest.raises(pytest.fail.Exception, match="needs torch"):
        need("torch")
    with pytest.raises(pytest.skip.Exception, match="needs ete4"):
        need("ete4")


def test_nothing_is_skipped_for_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs_kit, "find_spec", lambda module: module)
    need(*MODULES)


def test_a_file_names_its_needs(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(FILE)
    assert needs_of(path) == ("torch", "node")
    unread = needs_kit.Unread.from_parent(request.session, path=path)
    items = list(unread.collect())
    assert [item.name for item in items] == ["test_one", "test_two"]
    for item in items:
        assert item.get_closest_marker("slow")
        marker = item.get_closest_marker("needs")
        assert marker is not None
        assert marker.args == ("torch", "node")
    path.write_text("pytestmark = pytest.mark.slow\n")
    assert needs_of(path) == ()


def test_the_table_counts_by_what_is_missing() -> None:
    skips = [
        "('a.py', 3, \"Skipped: needs torch: pip install 'umbel[torch]'\")",
        "('b.py', 3, \"Skipped: needs torch: pip install 'umbel[torch]'\")",
        "('a.py', 9, 'Skipped: needs node: apt-get install nodejs npm')",
        "('a.py', 9, 'Skipped: there is a GPU')",
    ]
    assert table(skips) == [
        "node       1 skipped   apt-get install nodejs npm",
        "torch      2 skipped   pip install 'umbel[torch]'",
    ]
    assert table(skips[3:]) == []
