"""Rows of classes in two groups and one alone, for methods that go down a tree."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.method import Fitted
from models.registry import method
from models.tree import class_paths

# the root
# ├── animal
# │   ├── cat
# │   └── dog
# ├── plant
# │   ├── oak
# │   └── rose
# └── stone
HIERARCHY = class_paths.read("animal/cat\nanimal/dog\nplant/oak\nplant/rose\nstone")
NAMES = ["cat", "dog", "oak", "rose", "stone"]
UNDER = {"animal": [0, 1], "plant": [2, 3], "stone": [4]}
"""The classes under the children of the root."""


def rows(several: bool = False, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(100, 4) features, and whether each row has each class."""
    rng = np.random.default_rng(seed)
    has = np.eye(5, dtype=bool)[rng.permutation(np.arange(100) % 5)]
    if several:
        has ^= rng.random(has.shape) < 0.1
    return 2.0 * has @ rng.normal(size=(5, 4)) + rng.normal(size=(100, 4)), has


def fit(
    name: str, features: np.ndarray, has: np.ndarray, sparse: bool = False, **params: object
) -> Fitted:
    """The method's fit on these rows over the hierarchy."""
    start = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    labels = LabelSets(start, np.nonzero(has)[1], NAMES, np.zeros(len(has), dtype=bool))
    given = sp.csr_array(features) if sparse else features
    classifier = method(name)
    return classifier.fit(
        Data({"features": given, "labels": labels, "hierarchy": HIERARCHY}),
        classifier.Params(**params),
    )
