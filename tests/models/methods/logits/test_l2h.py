"""L2H against the paper's own code, against a slow literal version of the rules, on real logits."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.method import Fitted
from models.methods.logits.classes.of_logits import MOST_LISTED
from models.methods.logits.l2h import TABLE_BYTES, L2HParams
from models.methods.logits.merging import empty_classes, row_digest
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.reference import assign, merge

METHOD = registry.method("l2h")
AGGREGATIONS = ("mean-sum", "sum", "mean", "size")

Step = tuple[list[int], list[int]]


def steps_of(logits: np.ndarray, aggregation: str = "mean-sum") -> list[Step]:
    matrix = LogitMatrix(ArrayRows(np.asarray(logits)))
    return merge(matrix, assign(matrix), aggregation).steps


def fit(logits: Any, names: list[str] | None = None, **params: Any) -> Fitted:
    values = {"logits": np.asarray(logits)}
    if names is not None:
        values["names"] = names
    return METHOD.fit(Data(values), L2HParams(**params))


def steps_in_tree(fitted: Fitted) -> list[list[list[int]]]:
    """The two groups of classes of each merge, each ascending, in no particular order."""
    tree = fitted.tree
    class_of_node = {int(node): c for c, node in enumerate(tree.leaves)}
    start, child = tree.children
    under: dict[int, list[int]] = {}
    for node in range(tree.n_nodes - 1, -1, -1):
        below = child[start[node] : start[node + 1]]
        own = [class_of_node[node]] if not len(below) else []
        under[node] = sorted(own + [c for v in below for c in under[int(v)]])
    inner = sorted(np.flatnonzero(tree.n_children), key=lambda node: tree.height[node])
    return [sorted(under[int(v)] for v in child[start[node] : start[node + 1]]) for node in inner]


def appendix(logits: np.ndarray) -> list[Step]:
    """The code of appendix A, in float64; no class may be empty and no two values may tie."""
    logits = logits.astype(np.float64)
    K = logits.shape[-1]
    groups = [(c,) for c in range(K)]
    steps = []
    softmaxed_logits = softmax(logits, axis=-1)
    assignments = np.argmax(softmaxed_logits, axis=-1)
    pred_probs = np.max(softmaxed_logits, axis=-1)
    for _ in range(1, K):
        score_per_gr = {}
        for group in groups:
            score_per_gr[group] = sum([np.mean(pred_probs[assignments == c]) for c in group])
        lsg = min(score_per_gr, key=score_per_gr.get)
        logits_lsg = logits[np.where(np.isin(assignments, lsg))[0]]
        msm_logits_lsg = np.zeros_like(logits_lsg)
        cls_not_in_lsg = [c for c in range(K) if c not in lsg]
        cls_in_lsg = [c for c in range(K) if c in lsg]
        msm_logits_lsg[:, cls_not_in_lsg] = softmax(logits_lsg[:, cls_not_in_lsg], axis=-1)
        msm_logits_lsg[:, cls_in_lsg] = 0.0
        reassignments = np.argmax(msm_logits_lsg, axis=-1)
        re_pred_probs = np.max(msm_logits_lsg, axis=-1)
        re_pp_per_group = {
            group: np.mean([np.sum(re_pred_probs[reassignments == c]) for c in group])
            for group in groups
            if group != lsg
        }
        mtg = max(re_pp_per_group, key=re_pp_per_group.get)
        groups = [gr for gr in groups if gr not in [lsg, mtg]] + [lsg + mtg]
        steps.append((sorted(lsg), sorted(mtg)))
    return steps


def literal(logits: np.ndarray, aggregation: str) -> list[Step]:
    """Algorithm 1 with the rules for ties and classes without points, one number at a time."""
    rows = [[float(x) for x in row] for row in logits]
    n_classes = len(rows[0])

    def probabilities(row: list[float], outside: tuple[int, ...]) -> list[float]:
        others = [c for c in range(n_classes) if c not in outside]
        top = max(row[c] for c in others)
        part = {c: float(np.exp(np.float64(row[c] - top))) for c in others}
        return [part.get(c, 0.0) / sum(part.values()) for c in range(n_classes)]

    def winner(row: list[float], outside: tuple[int, ...]) -> int:
        others = [c for c in range(n_classes) if c not in outside]
        return max(others, key=lambda c: (row[c], -c))

    full = [probabilities(row, ()) for row in rows]
    label = [winner(row, ()) for row in rows]
    points = {c: [i for i, own in enumerate(label) if own == c] for c in range(n_classes)}

    def score(group: tuple[int, ...]) -> float:
        confidences = [[full[i][c] for i in points[c]] for c in group]
        everything = [p for of_class in confidences for p in of_class]
        if aggregation == "mean-sum":
            return sum(sum(of_class) / len(of_class) for of_class in confidences if of_class)
        if aggregation == "sum":
            return sum(everything)
        if aggregation == "mean":
            return sum(everything) / len(everything) if everything else 0.0
        return float(len(everything))

    def first(values: dict[tuple[int, ...], float], best: float) -> tuple[int, ...]:
        tied = [g for g, value in values.items() if abs(value - best) <= 1e-10 * abs(best)]
        return min(tied, key=min)

    groups: list[tuple[int, ...]] = [(c,) for c in range(n_classes)]
    steps = []
    for _ in range(n_classes - 1):
        scores = {g: score(g) for g in groups}
        lowest = first(scores, min(scores.values()))
        inside = [i for c in lowest for i in points[c]]
        related = {}
        for g in groups:
            if g == lowest:
                continue
            own = [i for c in g for i in points[c]]
            if inside:
                probabilities_outside = [
                    max(probabilities(rows[i], lowest))
                    for i in inside
                    if winner(rows[i], lowest) in g
                ]
                related[g] = sum(probabilities_outside) / len(g)
            elif own:
                related[g] = sum(full[i][c] for i in own for c in lowest) / len(own)
        host = first(related, max(related.values()))
        groups = [g for g in groups if g not in (lowest, host)] + [lowest + host]
        steps.append((sorted(lowest), sorted(host)))
    return steps


def random_logits(seed: int, n_points: int, n_classes: int) -> np.ndarray:
    """Logits with a point in every class, as a fair classifier gives them."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n_points, n_classes)) * 1.5
    logits[np.arange(n_points), np.arange(n_points) % n_classes] += 5.0
    return logits


@pytest.mark.parametrize(("n_points", "n_classes"), [(40, 2), (60, 3), (300, 12), (900, 60)])
@pytest.mark.parametrize("seed", range(3))
def test_the_merges_are_those_of_the_papers_code(seed: int, n_points: int, n_classes: int) -> None:
    logits = random_logits(seed, n_points, n_classes)
    assert set(logits.argmax(axis=1)) == set(range(n_classes))
    expected = appendix(logits)
    assert steps_of(logits) == expected
    assert steps_in_tree(fit(logits)) == [sorted(step) for step in expected]


def test_several_blocks_of_rows_give_the_merges_of_the_papers_code() -> None:
    logits = random_logits(7, 30_000, 9)
    assert steps_of(logits) == appendix(logits)


CELLS = st.sampled_from([0.0, -0.0, 1.0, 2.0, 3.0, 5e-324, 1e30, -1e30, 1e308, -1e308])


@st.composite
def odd_logits(draw: st.DrawFn) -> np.ndarray:
    """Few rows, many ties, classes without points, saturated rows, doubled rows."""
    n_classes = draw(st.integers(2, 7))
    row = st.lists(
        st.one_of(CELLS, st.floats(-4, 4, width=16)), min_size=n_classes, max_size=n_classes
    )
    rows = draw(st.lists(row, min_size=1, max_size=7))
    again = draw(st.lists(st.sampled_from(rows), max_size=3))
    return np.array(rows + again)


@settings(deadline=None)
@given(odd_logits(), st.sampled_from(AGGREGATIONS))
def test_ties_empty_and_saturated_classes_follow_the_rules(
    logits: np.ndarray, aggregation: str
) -> None:
    expected = literal(logits, aggregation)
    assert steps_of(logits, aggregation) == expected
    fitted = fit(logits, aggregation=aggregation)
    assert steps_in_tree(fitted) == [sorted(step) for step in expected]
    leaf = fitted.tree.leaves[logits.argmax(axis=1)]
    assert (fitted.tree.leaf_of_point == leaf).all()
    assert sorted(set(fitted.tree.height)) == list(range(logits.shape[1]))


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("seed", range(3))
def test_every_aggregation_follows_its_definition(seed: int, aggregation: str) -> None:
    logits = random_logits(seed, 50, 8) * 0.4
    assert steps_of(logits, aggregation) == literal(logits, aggregation)


def test_aggregations_differ_where_they_should() -> None:
    logits = random_logits(1, 60, 10)[:43]
    assert len({str(steps_of(logits, aggregation)) for aggregation in AGGREGATIONS}) > 1


@pytest.mark.parametrize(
    "logits",
    [
        np.zeros((1, 2)),
        np.zeros((5, 6)),
        np.full((3, 4), 1e30),
        np.full((3, 4), 5e-324),
        np.eye(6) * 1e4,
        np.tile(np.eye(3), (4, 1)) * 1e30,
        np.eye(4)[[0, 0, 0]] * 50.0,
        np.eye(3, 6),
        np.eye(3, 6)[:, ::-1],
    ],
    ids=[
        "one row",
        "all equal",
        "1e30",
        "denormal",
        "one-hot",
        "saturated",
        "one class",
        "tied hosts",
        "tied hosts on the right",
    ],
)
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_drawn_extremes(logits: np.ndarray, aggregation: str) -> None:
    assert steps_of(logits, aggregation) == literal(logits, aggregation)


def rolled(n_classes: int, n_unused: int, order: np.random.Generator) -> np.ndarray:
    """Classes that are the first one's rows turned around, so that every first score ties.

    Mixed rows make the sums differ in their last digits. `n_unused` columns are equal and low.
    """
    rng = np.random.default_rng(0)
    base = rng.normal(size=(23, n_classes))
    base[:, 0] = 4.0
    rows = np.concatenate([np.roll(base, c, axis=1) for c in range(n_classes)])
    rows = np.concatenate([rows, np.full((len(rows), n_unused), -1.0)], axis=1)
    return rows[order.permutation(len(rows))]


@pytest.mark.parametrize("n_unused", [0, 3])
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_ties_do_not_depend_on_the_order_of_summation(aggregation: str, n_unused: int) -> None:
    order = np.random.default_rng(1)
    expected = literal(rolled(7, n_unused, order), aggregation)
    assert expected[n_unused][0] == [0, *range(7, 7 + n_unused)]
    for _ in range(8):
        assert steps_of(rolled(7, n_unused, order), aggregation) == expected


@pytest.mark.parametrize("seed", range(6))
def test_reassigned_probabilities_that_tie_go_to_the_lowest_class(seed: int) -> None:
    """Class 2's points choose 0 and 1 as often and as surely, in rows that mirror each other."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.uniform(0, 1, (3, 61)) + np.array([[0], [1], [2]])
    rows = np.stack([b, a, c], axis=1)
    sure = np.array([[9.0, 0.0, 0.0], [0.0, 9.0, 0.0]])
    logits = np.concatenate([rows, rows[:, [1, 0, 2]], sure])[rng.permutation(124)]
    assert steps_of(logits)[0] == ([2], [0])


@pytest.mark.parametrize("seed", range(20))
def test_ties_of_hosts_go_to_the_group_with_the_smallest_class(seed: int) -> None:
    """Classes 0 and 3 are unused. 0 joins 2; 1 and 2 tie as hosts of 3, and 2's group has 0."""
    rng = np.random.default_rng(seed)
    x, y, z = rng.uniform(0, 1, (3, 61)) + np.array([[0], [1], [1]])
    five = np.full(61, 5.0)
    ones, twos = np.stack([x, five, y, z], axis=1), np.stack([y, x, five, z], axis=1)
    logits = np.concatenate([ones, twos])[rng.permutation(122)]
    assert steps_of(logits)[:2] == [([0], [2]), ([3], [0, 2])]


@pytest.mark.parametrize("dtype", ["float16", "float32", ">f4", "int16"])
def test_decisions_are_in_float64_whatever_the_type(dtype: str) -> None:
    logits = (random_logits(5, 200, 15) * 2).astype(dtype)
    assert steps_of(logits) == steps_of(logits.astype(np.float64))


def test_the_array_may_lie_in_a_file_and_in_any_order(tmp_path: Path) -> None:
    logits = random_logits(3, 500, 11).astype(np.float32)
    np.save(tmp_path / "logits.npy", logits)
    mapped = np.load(tmp_path / "logits.npy", mmap_mode="r")
    expected = fit(logits)
    for same in (mapped, np.asfortranarray(logits), np.repeat(logits, 2, axis=1)[:, ::2]):
        fitted = fit(same)
        assert steps_in_tree(fitted) == steps_in_tree(expected)
        assert (fitted.tree.leaf_of_point == expected.tree.leaf_of_point).all()


@pytest.mark.parametrize("name", ["lang_py3langid_udhr", "tinyimagenet_efflite0"])
def test_known_merges_of_real_classifiers(name: str, real_data: Callable[[str], Path]) -> None:
    logits = np.load(real_data(f"{name}_logits.npy"), mmap_mode="r")
    known = json.loads(real_data(f"{name}_l2h_steps.json").read_text())
    assert [[a, b] for a, b in steps_of(logits)] == [[sorted(a), sorted(b)] for a, b in known]
    fitted = fit(logits)
    assert steps_in_tree(fitted) == [sorted(sorted(group) for group in step) for step in known]
    n_empty = logits.shape[1] - len(set(fitted.tree.leaf_of_point))
    assert fitted.metrics["n_empty_classes"] == n_empty
    assert bool(fitted.warnings) == (n_empty > 0)


# Drawn: three classes, the third never predicted.
#
#   logits   a  b  c        3 points in a, 1 in b, none in c; c's mass is larger in b's point,
#            5  1  0        so {c} joins {b} first, then {a}.
#            5  0  0                    root (2)
#            5  0  1                    /      \
#            0  5  4                   a       (1)
#                                             /   \
#                                            b     c
DRAWN = np.array([[5.0, 1.0, 0.0], [5.0, 0.0, 0.0], [5.0, 0.0, 1.0], [0.0, 5.0, 4.0]])


def test_the_drawn_tree() -> None:
    fitted = fit(DRAWN, ["a", "b", "c"])
    tree = fitted.tree
    assert tree.parent.tolist() == [-1, 0, 0, 1, 1]
    assert tree.name.tolist() == [None, None, "a", "b", "c"]
    assert tree.height.tolist() == [2, 1, 0, 0, 0]
    assert tree.size.tolist() == [4, 1, 3, 1, 0]
    assert tree.leaf_of_point.tolist() == [2, 2, 2, 3]
    confidence = tree.extra["confidence"]
    top = softmax(DRAWN, axis=1).max(axis=1)
    assert confidence[:4] == pytest.approx([top.mean(), top[3], top[:3].mean(), top[3]])
    assert np.isnan(confidence[4])
    assert fitted.metrics == {
        "n_empty_classes": 1.0,
        "mean_confidence": pytest.approx(top.mean()),
        "n_rows_read_again": 0.0,
        "n_undecided_merges": 0.0,
    }
    assert "1 of 3 classes have no point: 'c'." in fitted.warnings
    assert any("first 1 merge(s)" in warning for warning in fitted.warnings)
    assert not any("All rows lie in one class" in warning for warning in fitted.warnings)
    alone = fit(DRAWN + np.array([50.0, 0.0, 0.0]))
    assert any("All rows lie in one class" in warning for warning in alone.warnings)


def test_the_drawn_tree_predicts_masses_of_classes() -> None:
    fitted = fit(DRAWN)
    new = np.array([[0.0, 1.0, 1.5], [9.0, 0.0, 0.0]])
    p = softmax(new, axis=1)
    placed = METHOD.predict(fitted.model, fitted.tree, Data({"logits": new}))
    assert placed.leaf.tolist() == [4, 2]
    assert placed.start.tolist() == [0, 3, 5]
    assert placed.node.tolist() == [0, 1, 4, 0, 2]
    assert placed.probability == pytest.approx([1.0, p[0, 1] + p[0, 2], p[0, 2], 1.0, p[1, 0]])


@settings(deadline=None)
@given(odd_logits())
def test_prediction_is_the_mass_of_the_classes_below(logits: np.ndarray) -> None:
    fitted = fit(logits)
    tree = fitted.tree
    placed = METHOD.predict(fitted.model, tree, Data({"logits": logits}))
    assert (placed.leaf == tree.leaf_of_point).all()
    with np.errstate(over="ignore"):
        p = softmax(logits, axis=1)
    class_of_node = {int(node): c for c, node in enumerate(tree.leaves)}
    for row in range(len(logits)):
        path = placed.node[placed.start[row] : placed.start[row + 1]].tolist()
        mass = placed.probability[placed.start[row] : placed.start[row + 1]]
        up = [int(placed.leaf[row])]
        while up[-1] != 0:
            up.append(int(tree.parent[up[-1]]))
        assert path == up[::-1]
        assert mass[0] == 1.0
        assert (np.diff(mass) <= 0).all()
        for node, value in zip(path, mass, strict=True):
            below = [c for leaf, c in class_of_node.items() if is_under(tree.parent, leaf, node)]
            assert value == pytest.approx(p[row, below].sum(), abs=1e-12)


def is_under(parent: np.ndarray, node: int, top: int) -> bool:
    while node > top:
        node = int(parent[node])
    return node == top


def test_prediction_in_several_blocks_is_that_of_single_rows() -> None:
    logits = random_logits(2, 3000, 300)
    fitted = fit(logits)
    whole = METHOD.predict(fitted.model, fitted.tree, Data({"logits": logits}))
    for row in (0, 1, 1747, 1748, 2999):
        single = METHOD.predict(fitted.model, fitted.tree, Data({"logits": logits[[row]]}))
        part = slice(whole.start[row], whole.start[row + 1])
        assert single.leaf[0] == whole.leaf[row]
        assert (single.node == whole.node[part]).all()
        assert single.probability == pytest.approx(whole.probability[part], rel=1e-12)


@pytest.mark.parametrize(
    ("logits", "names", "code", "part"),
    [
        (np.zeros((4, 1)), None, "wrong-shape", "at least 2 classes"),
        (np.zeros((4, 3)), ["a", "b"], "wrong-shape", "2 names; 3 are needed"),
        (np.zeros(4), None, "wrong-input", "dense matrix"),
        (np.array([["a", "b"]]), None, "wrong-input", "dense matrix"),
    ],
)
def test_unusable_input_is_named(
    logits: np.ndarray, names: list[str] | None, code: str, part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        fit(logits, names)
    assert caught.value.code == code
    assert part in caught.value.detail


def test_memory_is_estimated_by_rows_and_classes() -> None:
    with pytest.raises(UsageError, match="'l2h' would need about") as caught:
        METHOD.check_size({"logits": (100_000, 64)}, L2HParams(), 1 << 16)
    assert caught.value.code == "too-large"
    assert "sample of the rows" in caught.value.detail
    for shapes in ({}, {"logits": (7,)}, {"top_classes": (5, 2)}):
        METHOD.check_size(shapes, L2HParams(), 1)
    assert row_digest.LISTED == MOST_LISTED
    assert empty_classes.TABLE_BYTES == TABLE_BYTES


def test_memory_counts_the_table_of_classes_without_points() -> None:
    # 10,000 rows leave 990,000 classes without a point.
    shapes = {"logits": (10_000, 6), "top_classes": (10_000, 6)}
    with pytest.raises(UsageError, match="'l2h' would need about"):
        METHOD.check_size(shapes, L2HParams(n_classes=1_000_000), 32 << 30)
    rng = np.random.default_rng(4)
    data = Data({"logits": rng.normal(size=(300, 2000)).astype(np.float32)})
    # What is loaded and compiled once is not of this fit.
    METHOD.fit(Data({"logits": data.values["logits"][:, :400]}), L2HParams())
    tracemalloc.start()
    METHOD.fit(data, L2HParams())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The blocks of rows are not in the estimate.
    assert 8 * 250 * 1700 < peak < METHOD._memory(data.shapes(), L2HParams()) + (8 << 20)


def test_tables_of_many_threads_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    matrix = LogitMatrix(ArrayRows(rng.normal(size=(60, 12))))
    filled, wanted = np.arange(8), np.arange(8, 12)
    monkeypatch.setattr(empty_classes, "segment_rows", lambda matrix: 10)
    threads: list[int] = []
    each = empty_classes.each

    def counted(work: Any, items: range, n_threads: int) -> Any:
        threads.append(len(items))
        return each(work, items, n_threads)

    monkeypatch.setattr(empty_classes, "each", counted)
    tables = []
    for table_bytes in (1 << 20, 2 * 8 * 8 * 4, 1):
        monkeypatch.setattr(empty_classes, "TABLE_BYTES", table_bytes)
        tables.append(empty_classes.class_masses(matrix, 0, 60, filled, wanted, 4))
    assert threads == [4, 2, 1]
    np.testing.assert_allclose(tables[1], tables[0], rtol=1e-12)
    np.testing.assert_allclose(tables[2], tables[0], rtol=1e-12)


@pytest.mark.parametrize("top", [False, True])
def test_the_memory_estimate_is_what_a_fit_takes(top: bool) -> None:
    # Enough rows to outweigh blocks and the sample for the modularity.
    logits = np.random.default_rng(4).normal(size=(400_000, 12)).astype(np.float32)
    inputs: dict[str, Any] = {"logits": logits}
    if top:
        inputs["top_classes"] = np.argsort(-logits, axis=1)[:, :6]
        inputs["logits"] = np.take_along_axis(logits, inputs["top_classes"], axis=1)
    data = Data(inputs)
    METHOD.fit(Data({role: values[:100] for role, values in inputs.items()}), L2HParams())
    tracemalloc.start()
    METHOD.fit(data, L2HParams())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    estimate = METHOD._memory(data.shapes(), L2HParams())
    assert peak == pytest.approx(estimate, rel=0.3)


def test_doubled_names_are_warned_of() -> None:
    warnings = fit(DRAWN, ["x", "x", "y"]).warnings
    assert any(warning.startswith("1 name(s) occur more than once: 'x';") for warning in warnings)
