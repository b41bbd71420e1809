"""`ghhc-glove` with words that stay and words that move with the tree, on WordNet's glosses.

The corpus is WordNet's 117,659 glosses, each after its words; the words are the `N_WORDS` most
frequent nouns of at least 3 letters. What is compared: a tree over GloVe's vectors, which stay as
they are; vectors and tree learned jointly, GloVe's loss counted 0, 1, 10 or 100 times; the same
where the scaling keeps GloVe's products ('largest'); and average linkage of GloVe's vectors. All
fits of a seed start from the same vectors. Differences are from the frozen vectors of the same
seed, with Student's interval of 95%.

    vectors  Spearman's correlation of cosines, about the mean, with the Wu-Palmer similarity of
             first senses in WordNet's tree of hypernyms, over `N_PAIRS` random pairs of nouns
    tree     the same, of minus the number of words below the lowest common ancestor
    purity   dendrogram purity, classes being the 26 noun topics of WordNet's lexicographers

The folder of WordNet's files `data.noun`, `index.noun`, ... is named by WNSEARCHDIR, as WordNet's
own programs have it; without it the table is left out.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy import stats

from bench import Size
from bench.report import Report, interval
from models.arrays import Arrays
from models.inputs.data import Data
from models.method import Checkpoint
from models.methods.hyperbolic.words.pairs import count_words
from models.metrics.catalogue import evaluate
from models.registry import method
from models.running.progress import silent
from models.tree.tree import Tree
from models.tree.walk import lca

N_WORDS: dict[Size, int] = {"quick": 300, "default": 600, "full": 5_000}
SEEDS: dict[Size, int] = {"quick": 2, "default": 3, "full": 10}
N_STEPS: dict[Size, int] = {"quick": 100, "default": 1_000, "full": 1_000}
N_PAIRS = 20_000
WINDOW = 10

CONTENDERS: Mapping[str, Mapping[str, Any]] = {
    "frozen": {"word_learning_rate": 0.0},
    "joint, weight 0": {"problem_weight": 0.0},
    "joint, weight 1": {"problem_weight": 1.0},
    "joint, weight 10": {"problem_weight": 10.0},
    "joint, weight 100": {"problem_weight": 100.0},
    "joint, products kept, weight 1": {"scaling": "largest", "problem_weight": 1.0},
}


class Nouns(NamedTuple):
    """hypernyms : the path from the root to the first sense of each noun. topic : its number."""

    hypernyms: dict[str, list[str]]
    topic: dict[str, int]


class Vectors(Checkpoint):
    """Keeps the vectors that GloVe learns alone, for other fits of the same seed."""

    def __init__(self) -> None:
        self._state: Arrays | None = None

    def load(self) -> Arrays | None:
        return self._state

    def save(self, state: Arrays) -> None:
        if all(name.startswith("vectors.") for name in state):
            self._state = {name: array.copy() for name, array in state.items()}


def table(report: Report, size: Size) -> None:
    """A row for each way, with means over seeds and differences from the frozen vectors."""
    folder = Path(os.environ.get("WNSEARCHDIR", "/usr/share/wordnet"))
    if not (folder / "data.noun").exists():
        report.left_out("words", "WordNet's files (WNSEARCHDIR)")
        return
    nouns = _nouns(folder)
    words, counts = _counted(_glosses(folder), nouns, N_WORDS[size])
    judge = _Judge(words, nouns)
    scores: dict[str, list[dict[str, float]]] = defaultdict(list)
    for seed in range(SEEDS[size]):
        for name, values in _scores(counts, judge, seed, N_STEPS[size]).items():
            scores[name].append(values)
    for name, values_of_seeds in scores.items():
        columns: dict[str, str] = {}
        for key in values_of_seeds[0]:
            values = np.array([of_seed[key] for of_seed in values_of_seeds])
            columns[key] = f"{values.mean():.4f}"
            if key in ("vectors", "tree", "purity") and name != "frozen":
                frozen = np.array([of_seed[key] for of_seed in scores["frozen"]])
                columns[key] += f" ({interval(values - frozen, 4)})"
        report.row("words", what=name, seeds=len(values_of_seeds), **columns)


def _counted(documents: list[str], nouns: Nouns, n_words: int) -> tuple[list[str], sp.csr_array]:
    """The most frequent nouns, and how often they occur near each other."""
    names, counts, _ = count_words(documents, 5, 10 * n_words, WINDOW, silent)
    rows = [row for row, word in enumerate(names) if len(word) > 2 and word in nouns.topic]
    rows = rows[:n_words]
    return [names[row] for row in rows], counts[rows][:, rows].tocsr()


def _scores(
    counts: sp.csr_array, judge: _Judge, seed: int, n_steps: int
) -> dict[str, dict[str, float]]:
    glove, hac = method("ghhc-glove"), method("hac")
    checkpoint = Vectors()
    scores = {}
    for name, options in {"GloVe alone": {"max_iter": 0}, **CONTENDERS}.items():
        params = glove.Params.model_validate(
            {"n_passes": 25, "seed": seed, "max_iter": n_steps, **options}
        )
        fitted = glove.fit(Data({"graph": counts}), params, threads=1, checkpoint=checkpoint)
        assert fitted.model is not None
        vectors = fitted.model.arrays["words"].astype(np.float64)
        scores[name] = {
            **judge.of(vectors, fitted.tree),
            "glove_loss": fitted.metrics["glove_loss"],
            "cost": fitted.metrics.get("cost", np.nan),
        }
        if name == "GloVe alone":
            linkage = hac.Params.model_validate({"linkage": "average"})
            tree = hac.fit(Data({"features": vectors}), linkage, threads=1).tree
            scores["average linkage"] = {
                **judge.of(vectors, tree),
                "glove_loss": np.nan,
                "cost": np.nan,
            }
    del scores["GloVe alone"]
    return scores


class _Judge:
    """Vectors and trees of words against WordNet."""

    def __init__(self, words: list[str], nouns: Nouns) -> None:
        self._topic = np.array([nouns.topic[word] for word in words])
        drawn = np.random.default_rng(0).integers(len(words), size=(2, N_PAIRS))
        self._first, self._second = drawn[:, drawn[0] != drawn[1]]
        self._similarity = [
            _wu_palmer(nouns.hypernyms[words[i]], nouns.hypernyms[words[j]])
            for i, j in zip(self._first.tolist(), self._second.tolist(), strict=True)
        ]

    def of(self, vectors: npt.NDArray[np.float64], tree: Tree) -> dict[str, float]:
        """vectors : (V, D). tree : its points are the words."""
        about = vectors - vectors.mean(axis=0)
        about /= np.maximum(np.linalg.norm(about, axis=1, keepdims=True), 1e-12)
        cosine = np.einsum("pd,pd->p", about[self._first], about[self._second])
        leaf = tree.leaf_of_point.astype(np.int64)
        size = tree.size[lca(tree, leaf[self._first], leaf[self._second])]
        purity = evaluate(tree, labels=self._topic, metrics=["dendrogram_purity"]).metrics
        return {
            "vectors": float(stats.spearmanr(cosine, self._similarity).statistic),
            "tree": float(stats.spearmanr(-size, self._similarity).statistic),
            "purity": purity["dendrogram_purity"] or 0.0,
        }


def _wu_palmer(first: list[str], second: list[str]) -> float:
    """2 depth(LCA) / (depth + depth), depths counted in nodes from the root."""
    shared = 0
    while shared < min(len(first), len(second)) and first[shared] == second[shared]:
        shared += 1
    return 2 * shared / (len(first) + len(second))


def _glosses(folder: Path) -> list[str]:
    documents = []
    for part in ("noun", "verb", "adj", "adv"):
        for line in _lines(folder / f"data.{part}"):
            head, gloss = line.split(" | ", 1)
            fields = head.split()
            words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            documents.append(f"{' '.join(words).replace('_', ' ')} {gloss}".lower())
    return documents


def _nouns(folder: Path) -> Nouns:
    topic_of_sense, parent = {}, {}
    for line in _lines(folder / "data.noun"):
        fields = line.split(" | ", 1)[0].split()
        topic_of_sense[fields[0]] = int(fields[1])
        hypernym = re.search(r" @i? (\d{8}) n ", line)
        if hypernym:
            parent[fields[0]] = hypernym[1]
    hypernyms, topic = {}, {}
    for line in _lines(folder / "index.noun"):
        fields = line.split()
        sense = fields[-int(fields[2])]
        path = [sense]
        while path[-1] in parent:
            path.append(parent[path[-1]])
        hypernyms[fields[0]], topic[fields[0]] = path[::-1], topic_of_sense[sense]
    return Nouns(hypernyms, topic)


def _lines(path: Path) -> list[str]:
    """Those after the licence, which is indented."""
    return [line for line in path.read_text("latin-1").splitlines() if not line.startswith(" ")]
