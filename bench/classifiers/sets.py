"""Sets with a hierarchy of classes, cut into training and test rows.

Features have mean 0 and deviation 1 on the training rows. `ImCLEF07A` has its own test rows; of the
others a fifth is drawn, class by class.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import real_data
from bench.report import Report
from models.arrays import Array, Float, Int
from models.inputs.data import Data
from models.tree import class_paths
from models.tree.tree import Tree
from workers.formats import arff

NOUN_DEPTH = 6
"""Nouns are in the class of the concept so many edges below the root; those above are left out."""

FEWEST_NOUNS = 20
"""Nouns of a class with fewer are left out."""

TEST_SHARE = 0.2

NAMES = ("ImCLEF07A", "WordNet nouns", "TinyImageNet")


@dataclass(frozen=True, slots=True)
class Examples:
    """features : (n, D). labels : (n,) class paths, such as `2/1/3`."""

    features: Float
    labels: Array

    def some(self, rows: Int) -> Examples:
        return Examples(self.features[rows], self.labels[rows])


@dataclass(frozen=True, slots=True)
class Labelled:
    """A set. hierarchy : of all prefixes of the class paths."""

    name: str
    train: Examples
    test: Examples
    hierarchy: Tree

    def data(self, with_hierarchy: bool) -> Data:
        """The inputs of a training."""
        hierarchy = {"hierarchy": self.hierarchy} if with_hierarchy else {}
        return Data({"features": self.train.features, "labels": self.train.labels, **hierarchy})

    def of_each_class(self, n_rows: int, rng: np.random.Generator) -> Labelled:
        """With `n_rows` training rows of each class, or all where there are fewer, and features
        standardised by these."""
        order = rng.permutation(self.train.labels.size)
        code = np.unique(self.train.labels[order], return_inverse=True)[1]
        by_class = np.argsort(code, kind="stable")
        start = np.searchsorted(code[by_class], np.arange(code.max() + 1))
        rank = np.arange(code.size) - start[code[by_class]]
        drawn = np.sort(order[by_class[rank < n_rows]])
        return prepared(self.name, self.train.some(drawn), self.test)


def at_hand(report: Report, names: Sequence[str]) -> Iterator[Labelled]:
    """The sets whose files are in the folder that UMBEL_TEST_DATA names; a note for each other."""
    for name in names:
        labelled = loaded(name)
        if labelled is None:
            report.note(
                "classifiers", f"Left out: {name} is not in the folder that UMBEL_TEST_DATA names."
            )
        else:
            yield labelled


def loaded(name: str) -> Labelled | None:
    """The set, or None if a file of it is absent."""
    read, *files = _READERS[name]
    located = [real_data(file) for file in files]
    if any(path is None for path in located):
        return None
    train, test = read(*located)
    return prepared(name, train, test)


def prepared(name: str, train: Examples, test: Examples) -> Labelled:
    """The set with standardised features and its hierarchy."""
    mean, deviation = train.features.mean(axis=0), train.features.std(axis=0)
    deviation[deviation == 0] = 1.0
    train, test = (
        Examples((rows.features - mean) / deviation, rows.labels) for rows in (train, test)
    )
    return Labelled(name, train, test, class_paths.read("\n".join(np.unique(train.labels))))


def cut(rows: Examples, rng: np.random.Generator) -> tuple[Examples, Examples]:
    """Training and test rows: of each class the share `TEST_SHARE`, rounded, is for the test."""
    code = np.unique(rows.labels, return_inverse=True)[1]
    out = np.zeros(code.size, dtype=bool)
    for number in range(code.max() + 1):
        own = rng.permutation(np.flatnonzero(code == number))
        out[own[: round(TEST_SHARE * own.size)]] = True
    return rows.some(np.flatnonzero(~out)), rows.some(np.flatnonzero(out))


def classes_of_nouns(full_paths: Sequence[Sequence[int]]) -> list[str | None]:
    """The class of each noun, by its path from the root to itself; None if it is left out."""
    ends = ["/".join(map(str, path[: NOUN_DEPTH + 1])) for path in full_paths]
    deep = [len(path) > NOUN_DEPTH for path in full_paths]
    times = Counter(end for end, is_deep in zip(ends, deep, strict=True) if is_deep)
    return [
        end if is_deep and times[end] >= FEWEST_NOUNS else None
        for end, is_deep in zip(ends, deep, strict=True)
    ]


def _medical(train: Any, test: Any) -> tuple[Examples, Examples]:
    cut_rows = []
    for path in (train, test):
        features, labels = arff.read(path, None, "matrix"), arff.read(path, None, "column")
        cut_rows.append(Examples(np.asarray(features), np.asarray(labels, dtype=object)))
    return cut_rows[0], cut_rows[1]


def _nouns(features: Any, described: Any) -> tuple[Examples, Examples]:
    classes = classes_of_nouns(json.loads(described.read_text())["path_root_to_self"])
    labels = np.array(classes, dtype=object)
    kept = np.array([class_ is not None for class_ in classes])
    rows = Examples(np.load(features)[kept].astype(np.float64), labels[kept])
    return cut(rows, np.random.default_rng(0))


def _images(features: Any, labels: Any, described: Any) -> tuple[Examples, Examples]:
    classes = json.loads(described.read_text())
    path_of = np.array(
        [
            "/".join((*path, own))
            for path, own in zip(classes["wordnet_path"], classes["wnid"], strict=True)
        ],
        dtype=object,
    )
    rows = Examples(np.load(features).astype(np.float64), path_of[np.load(labels)])
    return cut(rows, np.random.default_rng(0))


_READERS: dict[str, tuple[Any, ...]] = {
    "ImCLEF07A": (_medical, "ImCLEF07A_Train.arff", "ImCLEF07A_Test.arff"),
    "WordNet nouns": (_nouns, "wordnet12k_minilm.npy", "wordnet12k_tree.json"),
    "TinyImageNet": (
        _images,
        "tinyimagenet_efflite0_feat16.npy",
        "tinyimagenet_efflite0_labels.npy",
        "tinyimagenet_classes.json",
    ),
}
