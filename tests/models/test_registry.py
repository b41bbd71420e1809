"""The registry finds every method once, under the name of its module."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import models.methods.partitions
from models import registry
from models.errors import UsageError

METHOD = """
from models.method import Method, Params

class NoParams(Params):
    pass

class {name}(Method[NoParams]):
    id = "{id}"
    Params = NoParams
    inputs = {{}}

    def _fit(self, data, params, run):
        raise NotImplementedError
"""

Add = Callable[[str, str], None]


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Add]:
    """add(module, text): one more module in a family of methods, for this test only."""
    family = models.methods.partitions
    monkeypatch.setattr(family, "__path__", [*family.__path__, str(tmp_path)])
    before = set(sys.modules)

    def write(module: str, text: str) -> None:
        (tmp_path / f"{module}.py").write_text(text)

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


def method_ids() -> list[str]:
    return list(registry.built_in.__wrapped__())


def test_the_methods_of_this_version() -> None:
    assert set(registry.methods()) >= {"hac", "kmeans", "l2h"}
    assert list(registry.methods()) == sorted(registry.methods())
    assert all(registry.method(key).id == key for key in registry.methods())


def test_a_new_file_is_a_new_method(add: Add) -> None:
    add("dash_ed", METHOD.format(name="Dashed", id="dash-ed"))
    assert "dash-ed" in method_ids()


def test_a_method_is_named_after_its_module_and_its_family_after_the_folder(add: Add) -> None:
    add("two_words", METHOD.format(name="TwoWords", id="").replace('    id = ""\n', ""))
    method = registry.built_in.__wrapped__()["two-words"]
    assert (method.id, method.family) == ("two-words", "partitions")


def test_abstract_and_imported_classes_are_no_methods(add: Add) -> None:
    before = method_ids()
    add(
        "base_only",
        "from models.method import Method\n"
        "from models.methods.logits.l2h import L2H\n"
        "class Base(Method):\n    pass\n",
    )
    assert method_ids() == before


def test_a_doubled_id_is_refused(add: Add) -> None:
    add("l2h", METHOD.format(name="Another", id="l2h"))
    with pytest.raises(RuntimeError, match="two methods are called 'l2h'"):
        method_ids()


def test_a_module_of_another_name_is_refused(add: Add) -> None:
    add("alpha", METHOD.format(name="Beta", id="beta"))
    with pytest.raises(
        RuntimeError, match=r"'beta' lives in module models\.methods\.partitions\.alpha"
    ):
        method_ids()


def test_one_method_is_found_alone() -> None:
    assert registry.known("l2h") is registry.methods()["l2h"]
    for name in ("", "L2H", "l3h", "ghhc_mtl", "models.methods.logits.l2h", "__init__"):
        assert registry.known(name) is None


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        registry.method("l3h")
    assert caught.value.code == "unknown-method"
    assert "'l3h'" in caught.value.detail
    assert all(f"{name}, " in caught.value.detail for name in ("hac", "kmeans", "l2h"))


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("k-means", "kmeans"), ("HAC", "hac"), ("bisecting_kmeans", "bisecting-kmeans")],
)
def test_an_unknown_method_is_answered_with_the_nearest(wrong: str, meant: str) -> None:
    with pytest.raises(UsageError, match=rf"Did you mean '{meant}'\?$"):
        registry.method(wrong)


def test_a_foreign_name_is_shown_safely_and_nothing_is_guessed() -> None:
    with pytest.raises(UsageError) as caught:
        registry.method("\u202e" + "x" * 10_000)
    assert "\\u202e" in caught.value.detail
    assert "Did you mean" not in caught.value.detail
    assert caught.value.detail.endswith(".")
