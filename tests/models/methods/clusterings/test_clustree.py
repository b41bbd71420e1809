"""The method: its tree and its warnings, and what drives a split of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.clusterings.clustree import Clustree, ClustreeParams
from models.node_names.evidence import evidence
from models.tree import newick
from tests.models.clusterings.tables_kit import table


def fit(columns: dict[str, list[Any]], **params: Any) -> Fitted:
    return Clustree().fit(Data({"items": table(columns)}), ClustreeParams(**params))


def test_a_nested_table_gives_its_tree_without_warnings() -> None:
    fitted = fit({"K1": [0] * 4, "K2": [0, 0, 1, 1], "K3": [0, 1, 2, 2]})
    # K1 0 over K2 0 (K3 0, K3 1) and K2 1 (K3 2).
    text = "".join(newick.write(fitted.tree))
    assert text.strip() == ("(('K3 0':1.0,'K3 1':1.0)'K2 0':1.0,('K3 2':1.0)'K2 1':1.0)'K1 0';")
    assert fitted.warnings == ()
    assert fitted.metrics["rows_apart"] == 0.0
    assert fitted.tree.extra["flows"][3] == [
        {"from": 1, "rows": 1, "in_proportion": 1.0, "out_proportion": 0.5}
    ]


def test_what_the_tree_loses_is_warned_of() -> None:
    fitted = fit({"K2": [0, 0, 0, 0, 1, 1, 1], "K3": [0, 0, 1, 1, 0, 1, 2]})
    assert fitted.metrics["rows_apart"] == 2.0
    assert any("2 of 7 row(s) are at some level" in warning for warning in fitted.warnings)
    lost = fit({"K2": [0, 0, 0, 0, 1], "K3": [5, 5, 6, 6, 6]})
    assert any("1 cluster(s) above the last level are leaves" in own for own in lost.warnings)
    tied = fit({"K2": [0, 0, 1, 1], "K3": [5, 6, 6, 7]})
    assert any(own.startswith("1 cluster(s) have as many rows") for own in tied.warnings)
    noise = fit({"K2": [0, 0, -1, -1], "K3": [5, 5, 6, 6]})
    assert any("1 cluster(s) take most of their rows from noise" in own for own in noise.warnings)


def test_levels_are_those_requested() -> None:
    columns = {"K2": [0, 0, 1, 1], "K3": [0, 0, 1, 2], "K4": [0, 1, 2, 3]}
    fitted = fit(columns, levels=["K4", "K2"])
    assert list(dict.fromkeys(fitted.tree.extra["level"][1:])) == ["K4", "K2"]


def test_only_a_table_is_accepted() -> None:
    for value in (np.zeros((4, 2)), ["a", "b"]):
        with pytest.raises(UsageError) as caught:
            Clustree().fit(Data({"items": value}), ClustreeParams())
        assert (caught.value.code, caught.value.where) == ("wrong-input", {"role": "items"})


def test_a_naming_by_features_finds_what_drives_a_split() -> None:
    rng = np.random.default_rng(3)
    fine = np.arange(90) % 3
    coarse = np.minimum(fine, 1)
    features = rng.normal(size=(90, 3))
    features[:, 0] += 9.0 * coarse
    features[:, 2] += 9.0 * (fine == 2)
    tree = fit({"K2": coarse.tolist(), "K3": fine.tolist()}).tree
    found = evidence(tree, "features", {"features": features, "feature_names": list("abc")}, 256)
    # The root splits by a, and its second child, K2 1, by c.
    named = {tree.name[node]: name for node, name in found.name.items()}
    assert named["K2 0"].startswith("low a")
    assert named["K2 1"].startswith("high a")
    assert (named["K3 1"], named["K3 2"]) == ("low c", "high c")
    # K3 0 has all rows of K2 0: nothing is split.
    assert "K3 0" not in named
