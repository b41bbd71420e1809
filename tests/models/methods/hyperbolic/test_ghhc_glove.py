"""gHHC with GloVe: words of planted topics, their tree, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import UsageError
from models.inputs.data import Data
from models.method import Checkpoint, Fitted
from models.preprocess.documents import cooccurrences, numbered, vocabulary
from models.registry import method
from models.tree.build import from_merges
from models.tree.tree import Tree
from tests.models.methods.hyperbolic.documents_kit import N_TOPICS, PER_TOPIC, QUICK, planted
from umbel.testing.lost_worker import MemoryCheckpoint

pytestmark = pytest.mark.needs("torch")

GLOVE = method("ghhc-glove")


def fit(data: dict[str, Any], **params: Any) -> Fitted:
    return GLOVE.fit(Data(data), GLOVE.Params(**{**QUICK, **params}))


def leaf_names(tree: Tree) -> list[str]:
    return [str(tree.name[leaf]) for leaf in tree.leaf_of_point]


def purity(tree: Tree, topics: list[int]) -> float:
    from models.metrics.hierarchical import dendrogram_purity
    from models.metrics.inputs import classes_of

    return float(dendrogram_purity(tree, classes_of(np.array(topics), len(topics))).value)


def topics_of(names: list[str]) -> list[int]:
    return [int(name[1]) for name in names]


def by_linkage(documents: list[str], seed: int) -> float:
    """Average linkage by angle of GloVe vectors, word and context added as their authors do."""
    from scipy.cluster.hierarchy import linkage

    from models.methods.hyperbolic.words.pairs import checked, pairs_of
    from models.methods.hyperbolic.words.vectors import learn_vectors
    from models.running.progress import silent

    words = vocabulary(documents).words
    counts = cooccurrences(numbered(documents, words), len(words), 10)
    pairs = pairs_of(checked(counts, "graph"), 100.0, 0.75)
    vectors = learn_vectors(pairs, 50, 50, 0.05, seed, Checkpoint(), silent)
    both = vectors.words + vectors.contexts
    both /= np.linalg.norm(both, axis=1, keepdims=True)
    merges = linkage(both, "average")
    tree = from_merges(*merges[:, :2].T.astype(int), merges[:, 2])
    return purity(tree, topics_of([words[number] for number in pairs.order]))


@pytest.fixture(scope="module")
def topics_fit() -> Fitted:
    return fit({"documents": planted(0)})


def test_topics_are_clades(topics_fit: Fitted) -> None:
    """
    root
    |- topics 0 to 3: (0 1) (2 3)
    `- topics 4 to 7: (4 5) (6 7)
    """
    names = leaf_names(topics_fit.tree)
    assert sorted(set(names)) == sorted(names)
    assert len(names) == N_TOPICS * PER_TOPIC
    topics = topics_of(names)
    assert purity(topics_fit.tree, topics) > 0.9
    assert purity(topics_fit.tree, [topic // 2 for topic in topics]) > 0.8


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_topics_are_clades_as_much_as_linkage_finds_them() -> None:
    """Five seeds, few documents."""
    ours, theirs = [], []
    for seed in range(5):
        documents = planted(seed, n_documents=120)
        params = GLOVE.Params(min_count=1, max_iter=1000, seed=seed)
        tree = GLOVE.fit(Data({"documents": documents}), params).tree
        ours.append(purity(tree, topics_of(leaf_names(tree))))
        theirs.append(by_linkage(documents, seed))
    assert np.mean(ours) > np.mean(theirs) - 0.02, (ours, theirs)
    assert np.mean(ours) > 0.8


def test_each_word_is_a_leaf_below_words_of_its_node(topics_fit: Fitted) -> None:
    tree = topics_fit.tree
    assert len(set(tree.leaf_of_point.tolist())) == tree.n_points == len(tree.leaves)
    assert (tree.height[tree.leaves] == 0).all()
    children = np.bincount(tree.parent[1:], minlength=tree.n_nodes)
    assert set(np.flatnonzero(children == 0)) == set(tree.leaves.tolist())
    assert (children != 1).all()
    inner = children > 0
    assert all(tree.name[inner] == None)  # noqa: E711
    for column in ("norm", "parent_probability", "alternative_1"):
        assert len(tree.extra[column]) == tree.n_nodes
    # Nodes of the ball come first: alternatives are ids of the tree.
    assert topics_fit.model is not None
    n_ball = len(topics_fit.model.arrays["embedding"])
    assert tree.extra["alternative_1"].max() < n_ball
    np.testing.assert_allclose(
        tree.extra["norm"][:n_ball][children[:n_ball] > 0],
        2 * np.arctanh(np.linalg.norm(topics_fit.model.arrays["embedding"], axis=1))[
            children[:n_ball] > 0
        ],
        rtol=1e-4,
    )  # fmt: skip


def test_vectors_are_in_the_model_and_give_the_counts(topics_fit: Fitted) -> None:
    assert topics_fit.model is not None
    arrays, words = topics_fit.model.arrays, topics_fit.model.facts["vocabulary"]
    documents = planted(0)
    assert words == vocabulary(documents).words == leaf_names(topics_fit.tree)
    counts = cooccurrences(numbered(documents, words), len(words), 10).toarray()
    log_counts = (
        arrays["words"] @ arrays["contexts"].T + arrays["bias"][:, None] + arrays["context_bias"]
    )
    some = counts > 0
    rest = (log_counts - np.log(np.where(some, counts, 1)))[some]
    weight = np.minimum(counts[some] / 100, 1) ** 0.75
    assert float((weight * rest**2).mean()) == pytest.approx(
        topics_fit.metrics["glove_loss"], rel=1e-3
    )
    assert np.linalg.norm(arrays["words"], axis=1).max() < 0.96
    assert topics_fit.metrics["n_pairs"] == some.sum()


def test_words_move_with_the_tree(topics_fit: Fitted) -> None:
    still = fit({"documents": planted(0)}, word_learning_rate=0.0, max_iter=100)
    assert topics_fit.model is not None
    assert still.model is not None
    assert not np.array_equal(topics_fit.model.arrays["words"], still.model.arrays["words"])
    assert np.allclose(np.linalg.norm(still.model.arrays["words"], axis=1), 0.9)
    assert topics_fit.metrics["cost"] <= topics_fit.metrics["cost_of_seeds"]


def test_counts_give_the_same_as_their_documents(topics_fit: Fitted) -> None:
    documents = planted(0)
    words = vocabulary(documents).words
    counts = cooccurrences(numbered(documents, words), len(words), 10)
    for graph in (counts, counts.toarray()):
        same = fit({"graph": graph, "names": words}, max_iter=0)
        assert leaf_names(same.tree) == words
        assert same.metrics["glove_loss_alone"] == topics_fit.metrics["glove_loss_alone"]
        assert same.metrics["cost_of_seeds"] == topics_fit.metrics["cost_of_seeds"]
    unnamed = fit({"graph": counts}, max_iter=0, n_passes=5)
    assert leaf_names(unnamed.tree) == [str(number) for number in range(len(words))]
    assert isinstance(counts, sp.csr_array)


def test_new_documents_come_to_their_topic(topics_fit: Fitted) -> None:
    assert topics_fit.model is not None
    placed = GLOVE.predict(
        topics_fit.model, topics_fit.tree, Data({"documents": planted(77, 40, own=0.7)})
    )
    topics = [
        np.bincount([int(word[1]) for word in text.split()]).argmax()
        for text in planted(77, 40, own=0.7)
    ]
    at = topics_of([str(topics_fit.tree.name[leaf]) for leaf in placed.leaf])
    assert np.mean([one == other for one, other in zip(at, topics, strict=True)]) > 0.9
    with pytest.raises(UsageError, match="row 1"):
        GLOVE.predict(topics_fit.model, topics_fit.tree, Data({"documents": ["t1w1", "zzz"]}))


def test_a_model_of_counts_takes_no_documents() -> None:
    counts = np.random.default_rng(0).exponential(30, size=(12, 12))
    fitted = fit({"graph": counts + counts.T}, n_internal=5, max_iter=0)
    assert fitted.model is not None
    with pytest.raises(UsageError, match="without a vocabulary"):
        GLOVE.predict(fitted.model, fitted.tree, Data({"documents": ["a b"]}))


def test_a_fit_resumed_from_a_checkpoint_ends_the_same() -> None:
    counts = np.random.default_rng(0).exponential(30, size=(12, 12))
    kept, data = MemoryCheckpoint(), Data({"graph": counts + counts.T})
    params = GLOVE.Params(**{**QUICK, "n_internal": 5, "max_iter": 110, "n_passes": 20})
    fitted = GLOVE.fit(data, params, checkpoint=kept)
    # Twenty passes, then two rounds.
    assert len(kept.states) == 22
    for state in (kept.states[10], kept.states[19], kept.states[20]):
        again = GLOVE.fit(data, params, checkpoint=MemoryCheckpoint(state))
        assert (again.tree.parent == fitted.tree.parent).all()
        assert again.metrics == fitted.metrics
        assert again.curves == fitted.curves


@pytest.mark.parametrize("scaling", ["unit", "largest"])
@pytest.mark.parametrize("keep", ["best", "last"])
def test_other_settings_give_good_trees(scaling: str, keep: str) -> None:
    fitted = fit(
        {"documents": planted(1, 60)}, scaling=scaling, keep=keep, max_iter=100, optimizer="adam"
    )
    assert purity(fitted.tree, topics_of(leaf_names(fitted.tree))) > 0.3


def refused(data: dict[str, Any], **params: Any) -> UsageError:
    with pytest.raises(UsageError) as caught:
        fit(data, **params)
    return caught.value


def test_documents_without_enough_words_are_refused() -> None:
    assert refused({"documents": []}).code == "empty"
    assert "without a single word" in refused({"documents": ["...", "--"]}).detail
    error = refused({"documents": ["a b c", "a"]}, min_count=5)
    assert error.where == {"role": "documents"}
    assert "'min_count' = 5" in error.detail
    assert "no document has two" in refused({"documents": ["a", "b", "a"]}).detail
    error = refused({"documents": planted(0, 5), "names": ["a"]})
    assert error.where == {"role": "names"}


def test_invalid_counts_are_refused() -> None:
    counts = np.random.default_rng(0).exponential(30, size=(40, 40))
    error = refused({"graph": counts})
    assert (error.code, error.where["role"]) == ("not-symmetric", "graph")
    error = refused({"graph": -counts - counts.T})
    assert "negative" in error.detail
    assert refused({"graph": np.ones((1, 1))}).code == "too-few-points"
    assert refused({"graph": counts[:35]}).code == "wrong-shape"


def test_more_pairs_than_memory_has_room_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from models.running import budget

    counts = np.random.default_rng(0).exponential(30, size=(40, 40))
    monkeypatch.setattr(budget, "available", lambda: 100_000)
    error = refused({"graph": counts + counts.T}, n_internal=3, batch_size=1, n_dimensions=2)
    assert error.code == "too-large"
    assert "Keep fewer words" in error.detail


def test_words_left_out_are_reported() -> None:
    documents = [*planted(0, 60), "alone", "t0w0 seldom", ""]
    fitted = fit({"documents": documents}, min_count=2, max_iter=0)
    assert any("left out" in warning for warning in fitted.warnings)
    assert any(
        "2 document(s) have fewer than two words" in warning for warning in fitted.warnings
    ) or any("3 document(s)" in warning for warning in fitted.warnings)
    lonely = fit({"documents": [*planted(0, 60), "alone", "alone"]}, max_iter=0)
    assert "1 word(s) occur near no other and are left out." in lonely.warnings
    assert "alone" not in leaf_names(lonely.tree)


def test_words_all_alike_make_a_tree() -> None:
    """Two words that nothing distinguishes, and three."""
    for n_words in (3, 4):
        fitted = fit(
            {"graph": np.full((n_words, n_words), 5.0)}, n_internal=3, n_dimensions=2, max_iter=20
        )
        assert fitted.tree.n_points == n_words
