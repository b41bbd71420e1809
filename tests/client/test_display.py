"""What a user sees while waiting, and in a notebook."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tests.needs_kit import need
from umbel_client import display, progress
from umbel_client.comparison import Comparison
from umbel_client.core.connection import Connection
from umbel_client.core.facts import TreeFacts
from umbel_client.core.messages import Settings
from umbel_client.errors import MissingPackage
from umbel_client.packages import package
from umbel_client.progress import bar_of
from umbel_client.results import Evaluation

CONNECTION = Connection(Settings("http://localhost"))
WILD = "<script>alert('x')</script>"


def test_a_function_is_called_with_the_fraction_and_the_stage() -> None:
    calls: list[tuple[float, str]] = []
    bar = bar_of(lambda done, stage: calls.append((done, stage)), "hac")
    bar.update(0.5, "merging")
    bar.end()
    assert calls == [(0.5, "merging")]


@pytest.mark.parametrize("name", ["tqdm", "rich"])
def test_a_bar_is_of_a_package_that_is_there(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    need(name)
    monkeypatch.setattr(progress, "find_spec", lambda module: module if module == name else None)
    monkeypatch.setattr(progress, "_SHOW_AFTER_S", 0.0)
    bar = bar_of(True, "hac")
    bar.update(0.5, "merging")
    bar.end()
    shown = capsys.readouterr()
    assert "hac" in shown.err
    assert "merging" in shown.err
    assert "50%" in shown.err
    assert not shown.out


@pytest.mark.parametrize("wanted", [False, None])
def test_no_bar_where_nobody_watches(
    wanted: bool | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_SHOW_AFTER_S", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    bar = bar_of(wanted, "hac")
    bar.update(0.5, "merging")
    bar.end()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("shell", "watched"), [(SimpleNamespace(kernel=None), True), (None, False)]
)
def test_a_notebook_is_one_whose_shell_has_a_kernel(
    shell: object,
    watched: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(progress, "_SHOW_AFTER_S", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    bar = bar_of(None, "hac")
    bar.update(0.5, "merging")
    bar.end()
    assert ("merging" in capsys.readouterr().err) == watched


def test_names_of_users_are_text_in_html() -> None:
    facts = TreeFacts(
        id="tr_1",
        name=WILD,
        method="hac",
        kind="hierarchy",
        job=None,
        model=None,
        n_points=1200,
        n_leaves=30,
        created_at="",
        warnings=(WILD,),
    )
    html = display.tree_html(facts, f"http://x/#/{WILD}", None, WILD)
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") == 4
    assert "30 leaves, 1,200 points" in html
    spread = {"mean": 0.5, "std": 0.0}
    row = {"method": WILD, "params": {}, "seeds": 1, "metrics": {"nmi": spread}, "seconds": None}
    table = Comparison(CONNECTION, {"id": "cmp_1", "table": [row]})._repr_html_()
    assert "<script>" not in table
    assert "0.5" in table
    assert "<script>" not in Evaluation({"metrics": {WILD: 0.5}})._repr_html_()


def test_a_missing_package_is_named() -> None:
    with pytest.raises(MissingPackage, match=r"to_x\(\) needs the package 'no_such_package'"):
        package("no_such_package.part", "to_x()")
