"""Real sets with a true hierarchy: points, and the path of each point's class from the root.

Features are scaled to rows of length 1, except for embeddings of text, and projected to 100
principal components, as in the HMMC paper.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bench import real_data
from models.tree import class_paths
from models.tree.tree import Tree

COMPONENTS = 100

FEWEST = 100
"""Minimum number of points of a class of nouns; smaller ones count for the concept above."""

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TrueSet:
    """points : (n, D). hierarchy : its leaves are the classes. label : (n,) its rows."""

    points: npt.NDArray[np.float64]
    hierarchy: Tree
    label: npt.NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        return self.hierarchy.n_points


def loaded(name: str) -> TrueSet | None:
    """The set, or None if its files are absent. `tinyimagenet-20-3`: 20 classes, the third draw."""
    kind, _, draw = name.partition("-20-")
    files, load = _SETS[kind]
    located = [real_data(file) for file in files]
    if any(path is None for path in located):
        return None
    points, path_of = load(*located)
    if draw:
        classes = sorted(set(path_of))
        rng = np.random.default_rng(int(draw))
        drawn = {classes[at] for at in rng.choice(len(classes), 20, replace=False)}
        inside = np.array([path in drawn for path in path_of])
        points, path_of = points[inside], [path for path in path_of if path in drawn]
    path_of = _without_single_children(path_of)
    classes = sorted(set(path_of))
    number = {path: at for at, path in enumerate(classes)}
    hierarchy = class_paths.read("\n".join("/".join(path) for path in classes))
    label = np.array([number[path] for path in path_of])
    return TrueSet(_projected(points), hierarchy, label)


def _projected(points: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    centred = points.astype(np.float64)
    centred -= centred.mean(axis=0)
    if points.shape[1] <= COMPONENTS:
        return centred
    _, vectors = np.linalg.eigh(centred.T @ centred)
    return centred @ vectors[:, ::-1][:, :COMPONENTS]


def _unit(points: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    values = points.astype(np.float64)
    length = np.linalg.norm(values, axis=1, keepdims=True)
    return values / np.where(length > 0, length, 1.0)


def _without_single_children(path_of: list[Path]) -> list[Path]:
    """Paths with nodes of a single child merged into it: taxonomies have long chains of them."""
    below: dict[Path, set[str]] = {}
    for path in set(path_of):
        for end in range(len(path)):
            below.setdefault(path[:end], set()).add(path[end])
    classes = set(path_of)
    shorter: dict[Path, Path] = {}
    for path in classes:
        parts, chain = [], []
        for end, part in enumerate(path, 1):
            chain.append(part)
            if path[:end] in classes or len(below[path[:end]]) > 1:
                parts.append(".".join(chain))
                chain = []
        shorter[path] = tuple(parts)
    return [shorter[path] for path in path_of]


def _emoji(features: Any, described: Any) -> tuple[npt.NDArray[Any], list[Path]]:
    rows = json.loads(described.read_text())
    return np.load(features), [(row["category"], row["subcategory"]) for row in rows]


def _images(features: Any, labels: Any, described: Any) -> tuple[npt.NDArray[Any], list[Path]]:
    classes = json.loads(described.read_text())
    path_of = [
        (*path, own) for path, own in zip(classes["wordnet_path"], classes["wnid"], strict=True)
    ]
    return _unit(np.load(features)), [path_of[label] for label in np.load(labels)]


def _nouns(features: Any, described: Any) -> tuple[npt.NDArray[Any], list[Path]]:
    return np.load(features), nouns_by_path(json.loads(described.read_text()))


def nouns_by_path(described: Any) -> list[Path]:
    """The path of each noun, no deeper than a concept of `FEWEST` nouns."""
    full_paths = [tuple(map(str, path)) for path in described["path_root_to_self"]]
    inside = Counter(path[:end] for path in full_paths for end in range(len(path) + 1))
    path_of = []
    for path in full_paths:
        end = len(path)
        while inside[path[:end]] < FEWEST:
            end -= 1
        path_of.append(path[:end])
    return path_of


def _medical(file: Any) -> tuple[npt.NDArray[Any], list[Path]]:
    """Points, and the last class path of each row, such as `6/2/0`; paths are separated by `@`."""
    lines = file.read_text().partition("@DATA")[2].split("\n")
    rows = [line.strip().split(",") for line in lines if "," in line]
    points = np.array([[float(value) for value in row[:-1]] for row in rows])
    return _unit(points), [tuple(row[-1].split("@")[-1].split("/")) for row in rows]


_SETS: Mapping[str, tuple[tuple[str, ...], Callable[..., tuple[npt.NDArray[Any], list[Path]]]]] = {
    "emoji": (("emoji_minilm.npy", "emoji_tree.json"), _emoji),
    "tinyimagenet": (
        (
            "tinyimagenet_efflite0_feat16.npy",
            "tinyimagenet_efflite0_labels.npy",
            "tinyimagenet_classes.json",
        ),
        _images,
    ),
    "wordnet12k": (("wordnet12k_minilm.npy", "wordnet12k_tree.json"), _nouns),
    "ImCLEF07A": (("ImCLEF07A_Train.arff",), _medical),
}
