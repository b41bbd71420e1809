"""Which classes are taken for which, against counts one row at a time."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Any

import numpy as np
import pytest

from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, UNKNOWN, dataset, fit, get, npy, post

NAMES = ["Danish", "Norwegian", "Swedish", "Finnish", "Estonian"]
RNG = np.random.default_rng(5)
CLASS = RNG.integers(0, 5, 200)
# Neighbours are alike, so that they are taken for each other.
LOGITS = 2.0 * np.exp(-np.abs(CLASS[:, None] - np.arange(5))) + RNG.normal(0, 0.6, (200, 5))
PLACED = LOGITS.argmax(axis=1)


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return fit(working, "l2h", {"logits": LOGITS.tolist(), "names": NAMES})


@pytest.fixture
def by_labels(working: Working) -> str:
    return "/confusions?labels=" + dataset(working, [NAMES[label] for label in CLASS])


def counted() -> Counter[tuple[str, str]]:
    pairs = zip(CLASS.tolist(), PLACED.tolist(), strict=True)
    return Counter((NAMES[a], NAMES[b]) for a, b in pairs)


def test_every_row_is_counted_once(working: Working, tree: dict[str, Any], by_labels: str) -> None:
    body = get(working, tree, by_labels).json()
    expected = counted()
    pairs = {(pair["name"], pair["taken_for_name"]): pair["mass"] for pair in body["pairs"]}
    assert pairs == {pair: n for pair, n in expected.items() if pair[0] != pair[1]}
    n_rows = Counter(NAMES[label] for label in CLASS)
    for pair in body["pairs"]:
        a, b = pair["name"], pair["taken_for_name"]
        both = expected[a, b] / n_rows[a] + expected[b, a] / n_rows[b]
        assert pair["cost"] == pytest.approx(both / 2)
    masses = [pair["mass"] for pair in body["pairs"]]
    assert masses == sorted(masses, reverse=True)
    assert body["n_pairs"] == len(pairs)
    picture = get(working, tree, by_labels.replace("?", ".svg?") + "&width_mm=85")
    assert picture.headers["content-type"] == "image/svg+xml"
    for name in NAMES:
        assert picture.text.count(f">{name}<") == 2
    assert (body["source"], body["n_rows"], body["rest"]) == ("labels", 200, 0)
    assert body["right"] == pytest.approx((CLASS == PLACED).mean())
    number = {name: number for number, name in enumerate(NAMES)}
    for entry in body["classes"]:
        of_class = np.equal(CLASS, number[entry["name"]])
        assert entry["n_rows"] == of_class.sum()
        assert entry["right"] == pytest.approx((PLACED == CLASS)[of_class].mean())


def test_nodes_add_up_the_pairs_that_meet_there(
    working: Working, tree: dict[str, Any], by_labels: str
) -> None:
    body = get(working, tree, by_labels).json()
    parent = {node["id"]: node["parent"] for node in tree["nodes"]}

    def above(node: int | None) -> list[int]:
        path = []
        while node is not None:
            path.append(node)
            node = parent[node]
        return path

    sums: Counter[int] = Counter()
    for pair in body["pairs"]:
        both = [node for node in above(pair["node"]) if node in above(pair["taken_for"])]
        assert pair["meet"] == both[0]
        sums[both[0]] += pair["mass"]
    assert {node["node"]: node["mass"] for node in body["nodes"]} == sums


def test_csv_and_matrix(working: Working, tree: dict[str, Any], by_labels: str) -> None:
    rows = list(
        csv.DictReader(io.StringIO(get(working, tree, by_labels.replace("?", ".csv?")).text))
    )
    body = get(working, tree, by_labels).json()
    assert [int(row["node"]) for row in rows] == [pair["node"] for pair in body["pairs"]]
    matrix = np.load(io.BytesIO(get(working, tree, by_labels.replace("?", ".npy?")).content))
    order = [NAMES.index(entry["name"]) for entry in body["classes"]]
    expected = np.zeros((5, 5))
    np.add.at(expected, (CLASS, PLACED), 1)
    np.testing.assert_array_equal(matrix, expected[np.ix_(order, order)])


def test_a_part_of_the_tree(working: Working, tree: dict[str, Any], by_labels: str) -> None:
    whole = get(working, tree, by_labels).json()
    node = next(
        node["id"]
        for node in tree["nodes"]
        if node["id"] and any(other["parent"] == node["id"] for other in tree["nodes"])
    )
    part = get(working, tree, f"{by_labels}&root={node}").json()
    names = {entry["name"] for entry in part["classes"]}
    assert 1 < len(names) < 5
    assert part["pairs"] == [
        pair for pair in whole["pairs"] if {pair["name"], pair["taken_for_name"]} <= names
    ]
    assert len(get(working, tree, f"{by_labels}&limit=2").json()["pairs"]) == 2


def softmax() -> Any:
    e = np.exp(LOGITS - LOGITS.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_by_the_logits_alone(working: Working, tree: dict[str, Any]) -> None:
    body = get(working, tree, "/confusions").json()
    mean = np.array([softmax()[np.equal(PLACED, a)].mean(axis=0) for a in range(5)])
    n_rows = np.bincount(PLACED, minlength=5)
    assert body["source"] == "logits"
    assert (body["n_rows"], body["n_pairs"], body["rest"], body["warnings"]) == (200, 20, 0, [])
    for pair in body["pairs"]:
        a, b = NAMES.index(pair["name"]), NAMES.index(pair["taken_for_name"])
        assert pair["share"] == pytest.approx(mean[a, b], rel=1e-5)
        assert pair["mass"] == pytest.approx(mean[a, b] * n_rows[a], rel=1e-5)
        assert pair["cost"] == pytest.approx((mean[a, b] + mean[b, a]) / 2, rel=1e-5)
    for entry in body["classes"]:
        a = NAMES.index(entry["name"])
        assert (entry["n_rows"], entry["right"]) == (n_rows[a], pytest.approx(mean[a, a]))
    assert sum(node["mass"] for node in body["nodes"]) == pytest.approx(
        sum(pair["mass"] for pair in body["pairs"])
    )
    matrix = np.load(io.BytesIO(get(working, tree, "/confusions.npy").content))
    order = [NAMES.index(entry["name"]) for entry in body["classes"]]
    expected = mean * n_rows[:, None]
    np.testing.assert_allclose(matrix, expected[np.ix_(order, order)], rtol=1e-5)
    inner = next(pair["meet"] for pair in body["pairs"] if pair["meet"])
    part = get(working, tree, f"/confusions?root={inner}").json()
    names = {entry["name"] for entry in part["classes"]}
    assert part["pairs"] == [
        pair for pair in body["pairs"] if {pair["name"], pair["taken_for_name"]} <= names
    ]


def test_a_tree_without_probabilities_asks_for_labels(working: Working) -> None:
    headers = {"Content-Type": "application/x-npy"}
    best = npy(PLACED[:, None].astype(np.int32))
    uploaded = working.client.post("/v1/datasets", content=best, headers=headers).json()
    inputs = {"logits": [[1.0]] * len(PLACED), "top_classes": uploaded["id"], "names": NAMES}
    tree = fit(working, "l2h", inputs)
    detail = problem_of(get(working, tree, "/confusions"), 404, "not-found")["detail"]
    assert "give `labels`" in detail
    assert "earlier version" in detail


def test_labels_by_number_and_rows_without_one(working: Working, tree: dict[str, Any]) -> None:
    by_number = get(working, tree, f"/confusions?labels={dataset(working, CLASS.tolist())}").json()
    by_name = [NAMES[label] for label in CLASS]
    whole = get(working, tree, f"/confusions?labels={dataset(working, by_name)}").json()
    assert by_number["pairs"] == whole["pairs"]
    some = [name if row % 2 else None for row, name in enumerate(by_name)]
    half = get(working, tree, f"/confusions?labels={dataset(working, some)}").json()
    assert half["n_rows"] == 100


def test_refusals(working: Working, tree: dict[str, Any]) -> None:
    path = "/confusions?labels="
    problem_of(get(working, tree, f"{path}nothing"), 422, "invalid-request")
    problem_of(get(working, tree, f"{path}ds_{0:026d}"), 404, "not-found")
    few = dataset(working, ["Danish"] * 3)
    problem_of(get(working, tree, path + few), 422, "wrong-shape")
    per_leaf = dataset(working, NAMES)
    problem_of(get(working, tree, path + per_leaf), 422, "wrong-shape")
    odd = dataset(working, ["Klingon", *["Danish"] * 199])
    assert (
        "'Klingon' names no leaf"
        in problem_of(get(working, tree, path + odd), 422, "wrong-input")["detail"]
    )
    ignored = dataset(working, [0, *[-100] * 5, *[1] * 194])
    assert (
        "'-100' names no leaf"
        in problem_of(get(working, tree, path + ignored), 422, "wrong-input")["detail"]
    )
    good = dataset(working, ["Danish"] * 200)
    problem_of(get(working, tree, f"{path}{good}&root=99"), 422, "unknown-node")
    problem_of(get(working, {"id": UNKNOWN}, path + good), 404, "not-found")
    imported = post(working, NEWICK)
    assert (
        "give `labels`"
        in problem_of(get(working, imported, "/confusions"), 404, "not-found")["detail"]
    )
