"""`class-tree` against its definition written row by row, and what may not change it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from models import registry
from models.arrays import Arrays, Float
from models.errors import UsageError
from models.inputs.data import Data, Earlier
from models.inputs.rows import ArrayRows, Rows
from models.method import Fitted
from models.methods.logits.class_tree import ClassTreeParams
from models.methods.logits.class_trees import joining, similarities, sums
from models.methods.logits.class_trees.statistics import (
    ClassStatistics,
    class_statistics,
    covariance,
    fold_counts,
)
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.numerics.rows import whitened
from models.running.progress import Alone
from models.tree.tree import Tree
from tests.models.crew_kit import Scattered

METHOD = registry.method("class-tree")
RULES = ("consensus", "walk")


def drawn(n: int, k: int, seed: int, never: int = 0) -> Float:
    """Logits of n rows over k classes in pairs of pairs; the last `never` are never predicted."""
    rng = np.random.default_rng(seed)
    right, group = rng.integers(0, k - never, n), np.arange(k)
    near = sum(s * (group[:, None] // w == group // w) for w, s in ((1, 3.0), (2, 1.5), (4, 1.0)))
    logits = near[right] + rng.normal(size=(n, k)) + rng.normal(size=k)
    logits[:, k - never :] -= 20.0
    return np.asarray(logits)


def fit(logits: Any, **params: Any) -> Fitted:
    return METHOD.fit(Data({"logits": np.asarray(logits)}), ClassTreeParams(**params))


def nodes(tree: Tree) -> dict[frozenset[int], float]:
    """The classes under each inner node, and its height."""
    under = [set() for _ in range(tree.n_nodes)]
    for c, leaf in enumerate(tree.leaves):
        under[leaf] = {c}
    for node in range(tree.n_nodes - 1, 0, -1):
        under[tree.parent[node]] |= under[node]
    return {frozenset(u): float(h) for u, h in zip(under, tree.height, strict=True) if len(u) > 1}


# The definition, in plain words: sets of classes, and one row after the other.


def means_by_definition(logits: Float) -> tuple[list[int], Float, Float, Float, Float]:
    """Used classes, confusions, mean logits, covariance, and scores."""
    rows = [row for row in logits.astype(np.float64) if len(set(row.tolist())) > 1]
    own = [int(np.argmax(row)) for row in rows]
    used = sorted(set(own))
    confusion, score = np.zeros((2, len(used), len(used)))
    centred: list[list[Float]] = [[] for _ in used]
    for row, c in zip(rows, own, strict=True):
        i = used.index(c)
        for j, d in enumerate(used):
            if c != d:
                others = [row[e] for e in used if e != c]
                above, equal = (others > row[d]).sum(), (others == row[d]).sum()  # type: ignore
                ranks = range(above + 1, above + equal + 1)
                confusion[i, j] += sum(1.0 / rank for rank in ranks) / equal
        score[i, i] += 1.0 / np.exp(row - row.max()).sum()
        floor = row[np.isfinite(row)].min()
        inside = np.maximum(row, floor)[used]
        centred[i].append(np.maximum(row, floor) - inside.mean())
    mean = np.array([np.mean(of, axis=0) for of in centred])
    away = [(x - mean[i])[used] for i, of in enumerate(centred) for x in of]
    within = np.array(away).T @ np.array(away) / max(1, len(rows) - len(used))
    confusion /= np.array([[len(of)] for of in centred])
    return used, confusion, mean, within, np.diag(score)


def similar_by_definition(confusion: Float, mean: Float, within: Float) -> list[Float]:
    n = len(confusion)
    b = (confusion + confusion.T) / 2 + 1e-6 * confusion.mean()
    b[np.arange(n), np.arange(n)] = 0.0
    d = np.ones(n)
    for _ in range(200):
        d = np.sqrt(d / (b @ d))
    b = np.diag(d) @ b @ np.diag(d)
    b = b / b.sum(axis=1)[:, None]
    found = []
    for a in (0.5, 0.9):
        w = (1 - a) * np.linalg.inv(np.eye(n) - a * b)
        found.append(np.corrcoef(np.log((w + w.T) / 2)))
    value, vector = np.linalg.eigh(within)
    x = (mean - mean.mean(axis=0)) @ vector
    if value.mean() > 1e-12:
        x = x / np.sqrt(np.maximum(value, 0) + 0.1 * value.mean())
    x = x - x.mean(axis=0)
    length = np.linalg.norm(x, axis=1)
    return [*found, x @ x.T / length[:, None] / length]


Groups = list[tuple[list[int], float]]


def average_by_definition(apart: Float) -> Groups:
    """Each merge's items, and its height."""
    groups, merges = [[i] for i in range(len(apart))], []
    while len(groups) > 1:
        height, a, b = min(
            (float(apart[np.ix_(p, q)].mean()), i, j)
            for (i, p), (j, q) in itertools.combinations(enumerate(groups), 2)
        )
        groups.append(groups[a] + groups[b])
        merges.append((groups[-1], height))
        del groups[b], groups[a]
    return merges


def smallest_by_definition(near: Float, score: Float) -> Groups:
    groups, merges = [[i] for i in range(len(near))], []
    while len(groups) > 1:
        group = min(groups, key=lambda g: score[g].sum())
        groups.remove(group)
        host = max(groups, key=lambda g: near[np.ix_(g, group)].mean())
        groups.remove(host)
        groups.append(group + host)
        merges.append((groups[-1], 0.0))
    return merges


def consensus_by_definition(trees: list[Groups], n: int) -> Groups:
    apart = np.zeros((n, n))
    for tree in trees:
        for i, j in itertools.permutations(range(n), 2):
            smallest = min(len(group) for group, _ in tree if i in group and j in group)
            apart[i, j] += np.log(smallest) / np.log(n) / len(trees)
    return average_by_definition(apart)


def tree_by_definition(logits: Float, rule: str) -> dict[frozenset[int], float]:
    used, confusion, mean, within, score = means_by_definition(logits)
    found = similar_by_definition(confusion, mean[:, used], within)
    if len(used) == 3:
        found[:2] = [(confusion + confusion.T) / 2] * 2
    if rule == "walk":
        joined = average_by_definition(1.0 - found[1])
    else:
        trees = [
            tree
            for s in found
            for tree in (average_by_definition(1.0 - s), smallest_by_definition(s, score))
        ]
        joined = consensus_by_definition(trees, len(used))
    below, expected = {c: {c} for c in used}, {}
    for e in sorted(set(range(logits.shape[1])) - set(used)):
        host = used[int(np.argmax(mean[:, e]))]
        below[host].add(e)
        expected[frozenset(below[host])] = 0.0
    for group, height in joined:
        expected[frozenset(c for i in group for c in below[used[i]])] = height
    return expected


@pytest.mark.parametrize(
    ("n", "k", "never", "dtype"),
    [
        (60, 12, 0, np.float64),
        (200, 9, 2, np.float32),
        (25, 16, 5, np.float64),
        (300, 7, 0, np.float16),
        (40, 2, 0, np.float32),
        (90, 4, 1, np.float16),
    ],
)
@pytest.mark.parametrize("rule", RULES)
def test_the_tree_is_the_definition(n: int, k: int, never: int, dtype: Any, rule: str) -> None:
    for seed in range(4):
        logits = drawn(n, k, seed, never).astype(dtype)
        if seed == 1:
            logits[::7] = 1.5
        if seed == 2 and k > 4:
            logits[::3, 2] = -np.inf
        fitted = fit(logits, rule=rule)
        expected = tree_by_definition(logits, rule)
        own = nodes(fitted.tree)
        assert own.keys() == expected.keys()
        # Means are rounded, and where trees leave a tie, similarities count by 1e-6.
        assert np.allclose([own[u] for u in expected], list(expected.values()), atol=1e-5)
        assert (fitted.tree.leaf_of_point == fitted.tree.leaves[logits.argmax(axis=1)]).all()
        flat = [w for w in fitted.warnings if "all equal were left out" in w]
        assert len(flat) == (seed == 1)


def of(
    logits: Any, folds: int = 1, threads: int = 1, crew: Any = None
) -> tuple[sums.Sums, ClassStatistics]:
    matrix = LogitMatrix(ArrayRows(np.asarray(logits)))
    crew = crew or Alone(lambda piece, at: sums.piece(matrix, piece, threads, at))
    rows = sums.of_rows(matrix, 0, crew)
    total, _ = sums.summed(matrix, rows, crew, folds)
    counts = fold_counts(rows, total)
    return total, class_statistics(total, counts, covariance(total, counts))


def coarse(seed: int) -> Float:
    """Few different values: ties in rows, some of them -inf, and rows that are all equal."""
    rng = np.random.default_rng(seed)
    logits = rng.integers(0, 5, (120, 11)).astype(np.float64)
    logits[rng.random(logits.shape) < 0.1] = -np.inf
    logits[:, 0] = 0.0
    return logits


@pytest.mark.parametrize("seed", range(5))
def test_ties_and_rounding_of_the_statistics(seed: int) -> None:
    logits = coarse(seed)
    used, confusion, mean, within, score = means_by_definition(logits)
    total, found = of(logits)
    unit = 2.0**total.exponent * 2.0
    assert found.used.tolist() == used
    assert np.allclose(found.confusion, confusion, atol=1e-9)
    assert np.allclose(found.mean * unit, mean[:, used], atol=1e-6)
    assert np.allclose(found.within * unit**2, within, atol=1e-3)
    assert np.allclose(found.score, score, atol=1e-6)
    steps = similarities.balanced(found.confusion)
    own = [similarities.walked(steps, a) for a in (0.5, 0.9)]
    own.append(whitened(found.mean, found.within))
    for s, expected in zip(
        own, similar_by_definition(confusion, mean[:, used], within), strict=True
    ):
        assert np.allclose(s, expected, atol=1e-4)


def test_ranks_of_many_values_in_one_level() -> None:
    """An outlier leaves the others in one level of the sort, more than are sorted by insertion."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(80, 40))
    logits[np.arange(80), np.arange(80) % 40] += 9.0
    logits[::2, 3] = -1e12
    assert np.allclose(of(logits)[1].confusion, means_by_definition(logits)[1], atol=1e-9)


def same(a: sums.Sums, b: sums.Sums) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in sums.TABLES)


@pytest.mark.parametrize("folds", [1, 4])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_sums_are_the_same_bit_for_bit(
    folds: int, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums, "segment_rows", lambda matrix: 32)
    monkeypatch.setattr(sums, "quotas", lambda n_used: (9, 5))
    logits = np.concatenate([coarse(1), drawn(200, 11, 3)]).astype(dtype)
    matrix = LogitMatrix(ArrayRows(logits))
    whole, _ = of(logits, folds)
    for n_pieces, threads in ((1, 2), (2, 1), (3, 2)):
        crew = Scattered(lambda piece, at: sums.piece(matrix, piece, threads, at), n_pieces)  # noqa: B023
        assert same(of(logits, folds, crew=crew)[0], whole)
    order = np.random.default_rng(0).permutation(len(logits))
    monkeypatch.setattr(sums, "quotas", lambda n_used: (999, 999))
    assert folds > 1 or same(of(logits[order])[0], of(logits)[0])


@pytest.mark.needs("torch")
@pytest.mark.parametrize("folds", [1, 4])
def test_a_gpu_gives_the_same_sums(folds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from models.methods.logits.class_trees import sums_gpu

    monkeypatch.setattr(sums, "quotas", lambda n_used: (9, 5))
    monkeypatch.setattr(sums_gpu, "_BLOCK_BYTES", 8 * 11 * 50)
    logits = np.concatenate([coarse(2), drawn(200, 11, 4)])
    whole, _ = of(logits, folds)
    with monkeypatch.context() as patch:
        # The device of the sums is the GPU's module; torch computes on the processor here.
        patch.setattr(sums, "_sums", lambda task, threads, at: sums_gpu.summed(task, "cpu", at))
        assert same(of(logits, folds)[0], whole)


def test_the_first_rows_of_each_class_where_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    logits = drawn(400, 8, 5)
    own = logits.argmax(axis=1)
    first = {q: sorted(r for c in set(own) for r in np.flatnonzero(own == c)[:q]) for q in (20, 8)}
    monkeypatch.setattr(sums, "quotas", lambda n_used: (20, 8))
    total, found = of(logits)
    unit = 2.0**total.exponent * 2.0
    assert np.allclose(found.mean * unit, means_by_definition(logits)[2], atol=1e-5)
    assert np.allclose(found.confusion, means_by_definition(logits[first[20]])[1], atol=1e-9)
    assert np.allclose(found.within * unit**2, means_by_definition(logits[first[8]])[3], atol=1e-3)
    warnings = " ".join(fit(logits).warnings)
    assert "ranks are of the first 20 rows of each class, 160 in all" in warnings
    assert "covariances are of the first 8 rows of each class, 64 in all" in warnings
    assert "covariances" not in " ".join(fit(logits, rule="walk").warnings)


def grown(blocks: list[Float], gone: int = 0, **params: Any) -> Fitted:
    """Block after block; of the first `gone` ones the rows cannot be read again."""
    chosen = ClassTreeParams(growable=True, **params)
    fitted = METHOD.fit(Data({"logits": blocks[0]}), chosen)
    for i in range(1, len(blocks)):
        assert fitted.state is not None
        state: Arrays = {name: np.array(array) for name, array in fitted.state.items()}
        rows: list[Rows | None] = [
            None if k < gone else ArrayRows(block) for k, block in enumerate(blocks[:i])
        ]
        values = {"logits": rows}
        earlier = Earlier("class-tree", chosen.model_dump(), fitted.tree, state, values)
        fitted = METHOD.fit(Data({"logits": blocks[i], "base": earlier}), chosen)
    return fitted


@pytest.mark.parametrize("params", [{}, {"rule": "walk"}, {"bootstraps": 3}])
def test_growing_equals_the_fit_on_all_rows(params: dict[str, Any]) -> None:
    logits = np.clip(drawn(300, 8, 6), -4.0, 4.0)
    logits[[0, 140, 250], :2] = [-4.0, 4.0]
    blocks = [logits[:120], logits[120:240], logits[240:]]
    whole = fit(logits, **params)
    on = grown(blocks, gone=1, **params)
    assert nodes(on.tree) == nodes(whole.tree)
    assert on.tree.leaf_of_point.tolist() == whole.tree.leaf_of_point.tolist()
    assert all(
        np.array_equal(on.tree.extra[name], whole.tree.extra[name], equal_nan=True)
        for name in whole.tree.extra
        if name != "confidence"
    )


def test_growing_by_classes_that_had_no_rows() -> None:
    logits = drawn(200, 6, 7)
    order = np.argsort(logits.argmax(axis=1) == 5, kind="stable")
    blocks = [logits[order[:120]], logits[order[120:]]]
    on = grown(blocks)
    assert nodes(on.tree) == nodes(fit(logits[order]).tree)
    assert "The 120 rows of the job in 'base' had to be read again." in on.warnings
    with pytest.raises(UsageError, match="are gone, and they must be read again"):
        grown(blocks, gone=1)


@pytest.mark.parametrize(("k", "kind"), [(9, "logits"), (4, "logits"), (4, "probs"), (1, "probs")])
def test_best_classes_alone(k: int, kind: str) -> None:
    logits = drawn(150, 9, 8)
    if kind == "probs":
        logits = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    best = np.argsort(-logits, axis=1)[:, :k].copy()
    values = np.take_along_axis(logits, best, axis=1)
    missing = np.full(logits.shape, -np.inf if kind == "logits" else 0.0)
    np.put_along_axis(missing, best, values, axis=1)
    params = ClassTreeParams(input="probs" if kind == "probs" else "logits", n_classes=9)
    found = METHOD.fit(Data({"logits": values, "top_classes": best}), params)
    if kind == "logits":
        assert nodes(found.tree) == nodes(fit(missing).tree)
    assert len(nodes(found.tree)) == 8
    assert any(f"Only {k} of 9 classes" in w for w in found.warnings) == (k < 9)


def flipped(logits: Float) -> Float:
    return logits[:, ::-1]


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        (lambda x: x * 1e-150, ("walk",)),
        (lambda x: x * 3e4 + 7.0, ("walk",)),
        (lambda x: x + np.arange(len(x))[:, None], RULES),
        (lambda x: np.sign(x) * np.abs(x) ** 3, ("walk",)),
    ],
)
def test_scales_do_not_matter(change: Any, rules: tuple[str, ...]) -> None:
    """Confidences, which scales change, order the merges of half of the consensus's trees."""
    logits = np.round(drawn(160, 10, 9) * 256) / 256
    for rule in rules:
        own, changed = (nodes(fit(each, rule=rule).tree) for each in (logits, change(logits)))
        assert own.keys() == changed.keys()
    found = [of(each)[1] for each in (logits, change(logits))]
    assert np.allclose(found[0].confusion, found[1].confusion, atol=1e-9)


def test_the_order_of_columns_does_not_matter() -> None:
    logits = drawn(300, 12, 10)
    own, turned = (nodes(fit(each).tree) for each in (logits, flipped(logits)))
    back = {frozenset(11 - c for c in u): h for u, h in turned.items()}
    assert own.keys() == back.keys()
    assert np.allclose([own[u] for u in own], [back[u] for u in own], atol=1e-9)


@pytest.mark.parametrize(
    ("logits", "why"),
    [
        (np.zeros((3, 4)), "values of each row are all equal"),
        (np.eye(6)[[0, 1, 2, 3, 4, 5, 0]], "merges are ties"),
        (np.array([[3.0, 1.0, 2.0]]), "2 of 3 classes have no point"),
        (np.array([[9.0, 1.0, 2.0], [9.0, 2.0, 1.0]]), "All rows lie in one class"),
        (np.array([[3.0, -np.inf], [1.0, 2.0]]), "-inf, of 1 of 2 classes"),
        (np.array([[1.0, 2.0], [-np.inf, -np.inf]]), None),
    ],
)
@pytest.mark.parametrize("rule", RULES)
def test_little_to_go_by(logits: Float, why: str | None, rule: str) -> None:
    if why is None:
        with pytest.raises(UsageError):
            fit(logits, rule=rule)
        return
    fitted = fit(logits, rule=rule)
    assert any(why in warning for warning in fitted.warnings)
    assert len(nodes(fitted.tree)) == logits.shape[1] - 1


def test_rows_of_a_class_that_are_the_same() -> None:
    """No variance within classes: directions stay as they are."""
    logits = np.repeat(drawn(6, 6, 11) + 30.0 * np.eye(6), 3, axis=0)
    assert not of(logits)[1].within.any()
    assert nodes(fit(logits).tree).keys() == tree_by_definition(logits, "consensus").keys()


def test_support_and_agreement() -> None:
    """Two far groups, clear in every draw; within them noise.

    ((0 1 2)(3 4 5))
    """
    rng = np.random.default_rng(0)
    right = np.arange(300) % 6
    logits = 0.01 * rng.normal(size=(300, 6)) + 4.0 * np.eye(6)[right]
    logits += 2.0 * (np.arange(6) // 3 == (right // 3)[:, None])
    tree = fit(logits, bootstraps=20, seed=1).tree
    start, child = tree.children
    halves = child[start[0] : start[1]]
    assert (tree.extra["support"][halves] == 1.0).all()
    assert (tree.extra["agreement"][halves] == 1.0).all()
    below = [v for half in halves for v in child[start[half] : start[half + 1]]]
    inner = [v for v in below if tree.n_children[v]]
    assert len(inner) == 2
    assert (tree.extra["support"][inner] < 1.0).any()
    assert np.isnan(tree.extra["support"][0])
    again = fit(logits, bootstraps=20, seed=1).tree
    assert np.array_equal(again.extra["support"], tree.extra["support"], equal_nan=True)


def test_trees_that_disagree_at_the_top_are_a_warning() -> None:
    noise = np.random.default_rng(3).normal(size=(600, 40))
    fitted = fit(noise)
    assert fitted.metrics["top_agreement"] < 0.75
    assert any("disagree at the top" in warning for warning in fitted.warnings)
    clear = fit(drawn(400, 8, 12))
    assert clear.metrics["top_agreement"] > 0.75
    assert not any("disagree" in warning for warning in clear.warnings)


def test_pieces_of_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "segment_rows", lambda matrix: 16)
    logits = drawn(120, 7, 13)
    best = np.argsort(-logits, axis=1)[:, :3].copy()
    inputs: list[dict[str, Any]] = [
        {"logits": logits},
        {"logits": np.take_along_axis(logits, best, axis=1), "top_classes": best},
    ]
    for values in inputs:
        data, params = Data(values), ClassTreeParams()
        one = METHOD.fit(data, params)
        for n_pieces in (2, 3):
            crew = Scattered(
                lambda piece, at: METHOD.piece(data, params, piece, at),  # noqa: B023
                n_pieces,
            )
            several = METHOD.fit(data, params, crew=crew)
            assert several.tree.parent.tolist() == one.tree.parent.tolist()
            assert several.tree.height.tolist() == one.tree.height.tolist()


def test_how_near_classes_are_in_a_tree() -> None:
    merges = np.array([[0.0, 2.0, 1.0, 2.0], [1.0, 3.0, 2.0, 2.0], [4.0, 5.0, 3.0, 4.0]])
    near = joining.together(merges)
    assert np.allclose(
        near, np.log([[1, 4, 2, 4], [4, 1, 4, 2], [2, 4, 1, 4], [4, 2, 4, 1]]) / np.log(4)
    )
