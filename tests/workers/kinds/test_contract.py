"""What every kind of work owes, checked for all of them."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from tests.conftest import ROOT
from tests.document_kit import made
from workers.kinds import registry
from workers.kinds.kind import QUICK_S, SHORT_S, Kind, NamedKind, OfTree, Options, Size
from workers.model import Request, new_id, now

KINDS = {kind.name: kind for kind in registry.kinds()}
ROOMS_OF_KINDS = ("workers/kinds/", "app/resources/")


@pytest.fixture(scope="module")
def paths() -> dict[str, Any]:
    paths: dict[str, Any] = json.loads(made())["paths"]
    return paths


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_is_a_module_of_its_name(name: str) -> None:
    kind = KINDS[name]
    module = type(kind).__module__
    assert module == f"workers.kinds.{name}" or module == f"workers.kinds.{name}_"
    assert (ROOT / Path(*module.split("."))).with_suffix(".py").is_file()
    assert registry.kind_of(name) is kind


def test_names_nouns_and_prefixes_are_distinct() -> None:
    named = [kind for kind in KINDS.values() if isinstance(kind, NamedKind)]
    for values in (
        [kind.name for kind in KINDS.values()],
        [kind.noun for kind in KINDS.values()],
        ["job", "tr", "md", "ds", "up", "ed", "sh", *(kind.prefix for kind in named)],
    ):
        assert len(set(values)) == len(values)
        assert all(re.fullmatch(r"[a-z]+", value) for value in values)


@pytest.mark.parametrize("name", KINDS)
def test_options_are_typed_and_survive_other_versions(name: str) -> None:
    kind = KINDS[name]
    assert issubclass(kind.Options, Options)
    assert kind.Options.model_config["frozen"]
    assert kind.Options.model_config["extra"] == "ignore"
    assert not {
        field
        for field, info in kind.Options.model_fields.items()
        if info.annotation is Any or Any in get_args(info.annotation)
    }


@pytest.mark.parametrize(
    "name", [name for name in KINDS if issubclass(KINDS[name].Options, OfTree)]
)
def test_work_on_a_tree_needs_that_tree(name: str) -> None:
    made = new_id("tr")
    request = _request(name, {"tree": made, **_chosen(KINDS[name].Options)})
    assert request.needs == (made.replace("tr_", "job_"),)
    assert KINDS[name].options(request).tree == made


@pytest.mark.parametrize("name", KINDS)
def test_a_job_waits_in_a_lane_and_counts(name: str) -> None:
    kind = KINDS[name]
    params = {"by": "umap"} if name == "map" else {}
    request = _request(name, {"tree": "tr_0", **_chosen(kind.Options)}, params)
    standing = kind.standing(request)
    assert standing.lane in ("quick", "fit")
    assert standing.listed == (name not in ("import", "inspect"))


def test_what_may_take_seconds_keeps_no_place_of_quick_work() -> None:
    """Placements of 3,000 classes held all quick slots: another tenant's job of .2 s took 8 s."""
    request = _request("place", {"tree": "tr_0", **_chosen(KINDS["place"].Options)})
    assert KINDS["place"].lane(request) == "fit"


BY_METHODS = {"fit", "compare"}
"""Kinds whose methods say what they take (`Method.seconds`, `app.creation.steps.expected_s`)."""


@pytest.mark.parametrize("name", [name for name in KINDS if name not in BY_METHODS])
@pytest.mark.parametrize("how", [{}, {"by": "umap", "what": "distances"}], ids=["", "other"])
def test_a_kind_estimates_what_it_takes(name: str, how: dict[str, Any]) -> None:
    """Small work is quick, more is never less, and what is very large does not wait among quick
    work, whichever of its sizes it is that is large."""
    kind: Kind[Any] = KINDS[name]
    params = how if name in ("map", "heatmap") else {}
    request = _request(name, {"tree": "tr_0", **_chosen(kind.Options)}, {"by": "pca", **params})

    def seconds(n: int) -> float:
        size = Size(n_rows=n, n_values=100 * n, n_bytes=400 * n, n_nodes=3 * n, n_trees=2)
        found = kind.seconds(kind.options(request), request.params, size)
        assert found is not None
        return found

    estimates = [seconds(10**power) for power in range(2, 9)]
    assert all(less < more for less, more in itertools.pairwise(estimates))
    assert estimates[0] <= SHORT_S
    assert estimates[-1] > QUICK_S
    small, large = (
        kind.lane(request.model_copy(update={"cost_s": cost_s}))
        for cost_s in (estimates[0], estimates[-1])
    )
    assert large == "fit"
    assert small == kind.lane(request)


def test_methods_estimate_fits_and_comparisons() -> None:
    for name in BY_METHODS:
        kind: Kind[Any] = KINDS[name]
        options = kind.options(_request(name, _chosen(kind.Options)))
        assert kind.seconds(options, {}, Size(n_rows=10)) is None
        assert kind.lane(_request(name, _chosen(kind.Options))) == "fit"


@pytest.mark.parametrize("name", [n for n, kind in KINDS.items() if isinstance(kind, NamedKind)])
def test_what_has_an_id_has_a_list_and_a_removal(name: str, paths: dict[str, Any]) -> None:
    kind = KINDS[name]
    assert "get" in paths[f"/v1/{kind.noun}s"]
    assert {"get", "delete"} <= paths[f"/v1/{kind.noun}s/{{{kind.noun}_id}}"].keys()
    assert kind.id_of("job_1") == f"{kind.prefix}_1"


@pytest.mark.parametrize("name", KINDS)
def test_a_result_stays_as_it_was_stored(name: str) -> None:
    """What clients see is made of it, and it is not changed."""
    kind: Kind[Any] = KINDS[name]
    stored = {"tree": "tr_0", kind.noun: {"n_moves": 1}}
    before = json.dumps(stored)
    shown = kind.shown("job_0", stored)
    assert json.dumps(stored) == before
    assert shown["tree"] == "tr_0"


def test_few_places_name_a_kind() -> None:
    """No process, store or shared room asks what kind a job is, but for two that ask for a fit."""
    asks = re.compile(rf"\.kind (?:==|!=) \"(?:{'|'.join(KINDS)})\"")
    found = {
        str(path.relative_to(ROOT))
        for floor in ("workers", "app")
        for path in (ROOT / floor).rglob("*.py")
        if asks.search(path.read_text())
    }
    assert {path for path in found if not path.startswith(ROOMS_OF_KINDS)} == {
        "app/creation/inputs.py",
        "app/creation/fit_rows.py",
    }


def _chosen(options: type[BaseModel]) -> dict[str, Any]:
    """A value for each field that has no default, but for the tree."""
    values = {"by": "labels", "model": "md_0", "format": "newick", "dataset": "ds_0", "runs": []}
    needed = [name for name, info in options.model_fields.items() if info.is_required()]
    return {name: values[name] for name in needed if name != "tree"}


def _request(kind: str, options: dict[str, Any], params: dict[str, Any] | None = None) -> Request:
    return Request(
        id="job_1",
        tenant="t",
        kind=kind,
        method=kind,
        options=options,
        params=params or {},
        created_at=now(),
    )
