"""The trees that a fit had on its way, over HTTP."""

from __future__ import annotations

import numpy as np
import pytest

from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import UNKNOWN, fit, get

RNG = np.random.default_rng(5)
ROWS = (RNG.normal(size=(40, 3)) + np.repeat(np.eye(4, 3) * 4, 10, axis=0)).tolist()
PARAMS = {"max_iter": 100, "n_init": 1, "batch_size": 256}


DEEP = {"n_clusters": 6, "hidden_sizes": [8], "pretrain_epochs": 4, "epochs": 10}


@pytest.mark.needs("torch")
@pytest.mark.parametrize(("name", "params"), [("hyphc", PARAMS), ("deepect", DEEP)])
def test_steps_are_trees_of_the_same_rows(
    working: Working, name: str, params: dict[str, object]
) -> None:
    tree = fit(working, name, {"features": ROWS}, params={**params, "keep_steps": 3})
    items = get(working, tree, "/steps").json()["items"]
    assert 2 <= len(items) <= 4
    assert [item["number"] for item in items] == list(range(len(items)))
    costs = [item["cost"] for item in items]
    assert costs == sorted(costs, reverse=True)
    first = get(working, tree, "/steps/0/tree.json").json()
    assert (first["id"], first["n_points"]) == (tree["id"], 40)
    assert first["n_leaves"] == (40 if name == "hyphc" else 2)
    assert first["nodes"] != tree["nodes"]
    last = get(working, tree, f"/steps/{len(items) - 1}/tree.json").json()
    assert last["nodes"] == get(working, tree, ".json").json()["nodes"]
    picture = get(working, tree, "/steps/0/tree.svg?color_by=cluster:2")
    assert picture.text.startswith("<svg")
    assert get(working, tree, "/steps/0/tree.nwk").text.endswith(";\n")
    by_parameter = get(working, tree, ".json?step=0")
    assert by_parameter.json() == first
    assert get(working, tree, ".svg?step=0&color_by=cluster:2").text == picture.text
    assert by_parameter.headers["etag"] != get(working, tree, ".json").headers["etag"]
    detail = problem_of(get(working, tree, f".json?step={len(items)}"), 404, "not-found")["detail"]
    assert "from 0 to" in detail
    refused = get(working, tree, f".json?step=0&edition=ed_{'0' * 52}")
    assert "not of a step" in problem_of(refused, 422, "invalid-request")["detail"]
    answer = get(working, tree, f"/steps/{len(items)}/tree.json")
    assert "from 0 to" in problem_of(answer, 404, "not-found")["detail"]
    assert get(working, tree, "/steps/9/tree.json").status_code in (404, 422)


@pytest.mark.needs("torch")
def test_a_fit_without_them_has_none(working: Working) -> None:
    tree = fit(working, "hyphc", {"features": ROWS}, params=PARAMS)
    assert get(working, tree, "/steps").json() == {"items": []}
    detail = problem_of(get(working, tree, "/steps/0/tree.json"), 404, "not-found")["detail"]
    assert "'keep_steps'" in detail
    assert get(working, {"id": UNKNOWN}, "/steps").status_code == 404
