"""The registry finds the methods of other distributions, and leaves out what cannot be used."""

from __future__ import annotations

import logging
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from models import registry
from models.method import Fitted, Input, Method, Paper
from models.parameters import Params
from models.plugins import entry_points
from models.plugins.entry_points import GROUP, Entry
from models.plugins.loading import load, problem_of

PROBLEMS = {
    "gone": "toy_methods.gone:Gone cannot be imported: ModuleNotFoundError.",
    "hac": "Umbel has a method of this id.",
    "median-split": None,
    "unfinished": "It lists 'model' but defines no _predict or _classify.",
}


@pytest.mark.usefixtures("installed")
def test_a_method_beside_umbel_is_one_of_all() -> None:
    before = set(registry.built_in())
    assert set(registry.methods()) - before == {"median-split"}
    assert list(registry.methods()) == sorted(registry.methods())
    method = registry.method("median-split")
    assert method is registry.methods()["median-split"]
    assert (method.family, type(method).__module__) == ("toys", "toy_methods.median_split")


@pytest.mark.usefixtures("installed")
def test_what_cannot_be_used_is_left_out_and_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = registry.plugins()
    assert {plugin.entry.name: plugin.problem for plugin in found} == PROBLEMS
    assert {plugin.entry.distribution for plugin in found} == {"toy-methods"}
    assert {plugin.entry.version for plugin in found} == {"0.3"}
    for name in ("gone", "hac", "unfinished"):
        assert f"the method {name!r} of toy-methods 0.3 is left out: {PROBLEMS[name]}" in (
            caplog.messages
        )
        assert registry.known(name) is registry.built_in().get(name)


@pytest.mark.usefixtures("installed")
def test_one_is_imported_when_it_is_requested() -> None:
    assert registry.known("no-such") is None
    assert registry.known("hac") is not None
    assert not [name for name in sys.modules if name.startswith("toy_methods")]
    assert registry.known("median-split") is not None
    assert "toy_methods.unfinished" not in sys.modules


@pytest.mark.usefixtures("installed")
def test_of_two_distributions_with_one_id_the_first_in_order_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [first] = [entry for entry in entry_points.entries() if entry.name == "median-split"]
    second = Entry(first.name, "zoo", "1.0", first.point)
    monkeypatch.setattr(registry, "entries", lambda: (first, second))
    assert [plugin.problem for plugin in registry.plugins()] == [
        None,
        "toy-methods has a method of this id.",
    ]


def test_a_distribution_whose_entry_points_cannot_be_read_harms_nobody(
    installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = tmp_path / "other-1.0.dist-info"
    damaged.mkdir()
    (damaged / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (damaged / "entry_points.txt").write_text("[console_scripts]\nno value\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "median-split" in registry.methods()


def test_where_there_is_none_the_methods_are_umbels() -> None:
    assert entry_points.entries() == ()
    assert registry.methods() == registry.built_in()


class _Params(Params):
    pass


class _Good(Method[_Params]):
    id = "good"
    family = "toys"
    title = "Good"
    paper = Paper("None", 2025)
    Params = _Params
    inputs = {"features": Input()}

    def _fit(self, data: Any, params: Any, run: Any) -> Fitted:
        raise NotImplementedError


class _Inexact(Params):
    n: int = "three"  # type: ignore[assignment]

    model_config = {"validate_default": True}


BREAKS: list[tuple[dict[str, Any], str]] = [
    ({"id": "other"}, "Its id is 'other', its entry point is called 'good'."),
    ({"family": ""}, "Its family is ''"),
    ({"family": "My Family"}, "Its family is 'My Family'"),
    ({"title": None}, "Its 'title' is no str."),
    ({"paper": "Ward, 1963"}, "Its 'paper' is no Paper."),
    ({"Params": dict}, "Its Params is no subclass of Params."),
    ({"Params": _Inexact}, "Its Params refuses its defaults or its example: n: Input should be"),
    ({"example": {"n_clusters": 3}}, "n_clusters: Extra inputs are not permitted."),
    ({"inputs": {}}, "Its inputs are no mapping with a role at least."),
    ({"inputs": {"features": "a matrix"}}, "Its input 'features' is no Input."),
    ({"one_of": ("logits",)}, "It requires 'logits', which is none of its inputs."),
    ({"outputs": ("model",)}, "Its outputs are ['model'], not 'tree' and of"),
    ({"outputs": ("tree", "song")}, "Its outputs are ['tree', 'song']"),
    ({"outputs": ("tree", "logits")}, "It lists 'logits' but defines no _logits."),
    ({"placing": "its leaf"}, "It has 'placing' without a model"),
    ({"queue": "tpu"}, "Its queue is 'tpu'"),
    ({"needs": ("tensorflow",)}, "It needs 'tensorflow', which is no extra of Umbel"),
]


@pytest.mark.parametrize(("attributes", "problem"), BREAKS, ids=lambda value: str(value)[:40])
def test_what_of_the_contract_is_checked_as_it_is_loaded(
    attributes: dict[str, Any], problem: str
) -> None:
    assert problem_of(_Good(), "good") is None
    found = problem_of(type("Broken", (_Good,), attributes)(), "good")
    assert found is not None
    assert problem in found


@pytest.mark.parametrize(
    ("object_name", "problem"),
    [
        ("METHOD", None),
        ("Good", None),
        ("Abstract", "cannot be imported: TypeError."),
        ("Params", "It is no Method but an object of type ModelMetaclass."),
        ("nothing", "cannot be imported: AttributeError."),
    ],
)
def test_an_entry_point_gives_a_class_or_an_instance(
    object_name: str, problem: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Abstract(Method[_Params]):
        """It fits nothing."""

    module = type(sys)("beside")
    module.__dict__.update(METHOD=_Good(), Good=_Good, Abstract=Abstract, Params=_Params)
    monkeypatch.setitem(sys.modules, "beside", module)
    plugin = load(Entry("good", "beside", "1", EntryPoint("good", f"beside:{object_name}", GROUP)))
    assert (plugin.method is None) == (problem is not None)
    assert (problem or "") in (plugin.problem or "")


def test_a_module_that_ends_the_process_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leaver.py").write_text("import sys\nsys.exit('no')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugin = load(Entry("good", "leaver", "1", EntryPoint("good", "leaver:Good", GROUP)))
    assert plugin.problem == "leaver:Good cannot be imported: SystemExit."


def test_the_start_of_the_app_imports_no_plugin(path: str) -> None:
    code = (
        "import sys, app.main; app.main.create_app(); from models.registry import known;"
        "known('kmeans'); print([name for name in sys.modules if name.startswith('toy_m')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
