"""What tests need: found, named, counted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from models.errors import UsageError
from models.running import packages
from tests import needs_kit
from tests.needs_kit import MODULES, need, needs_of, table, unnamed

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


def test_what_a_test_uses_it_names(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    def require(what: str, needed: Sequence[str], **_: object) -> None:
        if "h5py" in needed:
            raise UsageError("it is not installed")

    monkeypatch.setattr(needs_kit, "_require", require)
    packages.require("It", ["torch", "typst"], parameter="method")
    with pytest.raises(UsageError):
        packages.require("It", ["h5py"], parameter="method")
    assert unnamed(request.node) == ["torch", "typst"]
    monkeypatch.setattr(needs_kit, "find_spec", lambda module: module)
    need("torch")
    assert unnamed(request.node) == ["typst"]
    request.node.add_marker(pytest.mark.needs("typst"))
    assert unnamed(request.node) == []


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
