"""The logits paper's tables: hierarchies from flat clusterings' logits beside other hierarchies.

A fifth of the rows, class by class, is for the test. As in the paper, flat methods learn from the
training rows with as many clusters as there are classes, `l2h` reads the training rows' logits, and
the measures are of the test rows, which are placed by their own logits; DeepECT and TreeVAE learn
trees with as many leaves as classes, at most `MOST_LEAVES`, from the training rows and place the
test rows; Ward's method (on 50 principal components) and HypHC (on the features) make a tree of the
test rows themselves. Flat measures are of the leaves, or of a cut into as many clusters as classes.
`l2h_s` is the time of `l2h` alone, `wall_s` that of everything from features to the tree, both by
the clock on one thread; `cpu_s` is the processor's time for the latter. Features are standardised,
embeddings left as they are; TURTLE and TEMI run shorter than by default, so that no GPU is needed.
Means and standard deviations are over seeds, each with its own cut into training and test rows.
'two spaces' is TURTLE on the embedding and the classifier's logits at once. 'tinyimagenet-40' are
the first 40 classes, 'languages' only the logits of a language identifier.

Result on optdigits (NMI, dendrogram purity, accuracy; five seeds): Ward .673, .718, .618; HypHC
.467, .424, .442; `l2h` after k-means .642, .503, .643, after TURTLE .702, .606, .746, after TEMI
.785, .712, .822. As in the paper a good flat clustering is worth more than a method for
hierarchies; only Ward's tree, whose leaves are single rows, is as pure. `l2h` takes 5 to 16 ms. On
other sets, likewise: Ward / `l2h` after k-means digits .710, .708, .640 / .634, .473, .602; usps
.634, .615, .608 / .587, .492, .597; 20ng3000 .595, .388, .518 / .638, .412, .588; emoji .542, .506,
.559 / .609, .529, .642; tinyimagenet-40 .640, .294, .444 / .659, .284, .483, and `l2h` after the
classifier .736, .414, .664; languages, after the identifier, .979, .929, .948. Embeddings suit
k-means, pixels Ward's method. `l2h` after TEMI, five seeds: digits .799, .720, .826; 20ng3000 .642,
.421, .568; emoji .531, .473, .576; usps .628, .552, .632; tinyimagenet-40 (one seed) .620, .219,
.405. After TURTLE, five seeds: digits .737, .633, .777; usps .568, .500, .606; 20ng3000 .544, .294,
.441; emoji .516, .456, .575; with both spaces of tinyimagenet-40 (one seed) .730, .385, .620, near
the classifier's own .736, without its labels. HypHC, five seeds: digits .518, .448, .475; usps
.369, .412, .419; 20ng3000 .428, .197, .235; emoji .351, .446, .400; tinyimagenet-40 (one seed)
.354, .078, .135. DeepECT, five seeds: digits .719, .567, .692; optdigits .734, .606, .729; usps
.594, .449, .574; 20ng3000 .514, .267, .436; emoji .480, .439, .551. TreeVAE, five seeds: digits
.699, .531, .671 (deviations .047, .084, .081); optdigits .714, .591, .749; usps .659, .549, .627.
Others deviate by .017 to .068. CPU seconds of a fit: k-means .1 to 3, TEMI 1 to 11, DeepECT 4 to
21, TURTLE 9 to 106, HypHC 15 to 141, TreeVAE 40 to 85; then `l2h` .003 to .6.

Source: Palumbo et al., "From Logits to Hierarchies" (2025), tables 1 and 2, appendix B.2 and B.3;
there on CIFAR and Food-101, with networks of convolutions for the deep baselines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench import Chosen, Size, real_data
from bench.labelled import EMBEDDINGS, spread, standardised
from bench.quality import METRICS, loaded
from bench.report import Report
from models.arrays import Array, Int
from models.inputs.data import Data
from models.metrics.catalogue import evaluate
from models.registry import method
from models.tree.tree import Tree, sizes

TEST_SHARE = 0.2
N_COMPONENTS = 50
"""Principal components for Ward's method."""

MOST_LEAVES = 20
"""For DeepECT and TreeVAE, as in the paper: each leaf of TreeVAE has its own decoder."""
N_SAMPLED = 40
"""Classes of the sample of TinyImageNet, the first ones."""
SAMPLE = "tinyimagenet-40"

_SETS: dict[Size, tuple[str, ...]] = {
    "quick": ("optdigits",),
    "default": ("optdigits", "usps", "20ng3000"),
    "full": ("digits", "optdigits", "usps", "20ng3000", "emoji", SAMPLE, "languages"),
}
_N_SEEDS: dict[Size, int] = {"quick": 2, "default": 5, "full": 5}

TURTLE: Mapping[str, Any] = {"max_iter": 1500, "batch_size": 2000, "learning_rate": 5e-3}
TEMI: Mapping[str, Any] = {"k_neighbors": 25, "n_heads": 8, "learning_rate": 1e-3}


@dataclass(frozen=True, slots=True)
class Split:
    """Numbers of rows."""

    train: Int
    test: Int


@dataclass(frozen=True, slots=True)
class Placed:
    """tree : over the test rows. l2h_s : seconds of `l2h`, None where it is not used."""

    tree: Tree
    l2h_s: float | None = None


Maker = Callable[[Split, int], Placed]
"""From a split and a seed to a tree."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A data set.

    features, logits : (n_points, ...) of each row; None where there are none. code : (n_points,)
        the number of each row's class.
    """

    features: Array | None
    logits: Array | None
    code: Int


def table(report: Report, size: Size, chosen: Chosen) -> None:
    # `l2h` is compiled when it first runs.
    from_logits(np.eye(4), np.eye(4))
    for name in chosen.sets_of(_SETS[size]):
        data = labelled(name)
        if data is None:
            report.left_out("l2h_tables", name)
            continue
        systems = makers(data)
        for system in chosen.systems_of(systems):
            n_seeds = chosen.seeds_of(_N_SEEDS[size])
            measure(report, f"{name}: {system}", data.code, systems[system], n_seeds)


def labelled(name: str) -> Labelled | None:
    """A data set; None where its files are absent."""
    if name == "digits":
        from sklearn.datasets import load_digits

        digits = load_digits()
        return Labelled(standardised(digits.data).astype(np.float32), None, digits.target)
    if name == "languages":
        paths = [real_data(f"lang_py3langid_udhr_{what}.npy") for what in ("logits", "labels")]
        if paths[0] is None or paths[1] is None:
            return None
        return Labelled(None, np.load(paths[0]), numbered(np.load(paths[1])))
    pair = loaded(name.removesuffix(f"-{N_SAMPLED}"))
    if pair is None:
        return None
    points, code = pair[0], numbered(pair[1])
    used = name if name in EMBEDDINGS else name.removesuffix(f"-{N_SAMPLED}")
    features = np.asarray(points if used in EMBEDDINGS else standardised(points), np.float32)
    path = real_data(f"{used}_efflite0_logits.npy")
    logits = None if path is None else np.load(path)
    if name != SAMPLE:
        return Labelled(features, logits, code)
    sampled = code < N_SAMPLED
    own = None if logits is None else logits[sampled][:, :N_SAMPLED]
    return Labelled(features[sampled], own, code[sampled])


def numbered(classes: Array) -> Int:
    """(n_points,) the number of each row's class, from 0."""
    return np.unique(classes, return_inverse=True)[1]


def makers(data: Labelled) -> dict[str, Maker]:
    """The systems by their names in the paper."""
    k = int(data.code.max()) + 1
    features, logits = data.features, data.logits
    if features is None:
        return {} if logits is None else {"L2H, classifier": of_classifier(logits)}

    systems = {
        "Ward": of_test_rows("hac", components, {"linkage": "ward"}, features),
        "HypHC": of_test_rows("hyphc", np.asarray, {}, features),
        "DeepECT": deep("deepect", k, features),
        "TreeVAE": deep("treevae", k, features),
        "L2H-k-means": flat("kmeans", k, {}, [features]),
        "L2H-TEMI": flat("temi", k, TEMI, [features]),
        "L2H-TURTLE": flat("turtle", k, TURTLE, [features]),
    }
    if logits is not None:
        systems["L2H-TURTLE, two spaces"] = flat("turtle", k, TURTLE, [features, logits])
        systems["L2H, classifier"] = of_classifier(logits)
    return systems


def flat(id: str, k: int, params: Mapping[str, Any], spaces: Sequence[Array]) -> Maker:
    """`l2h` after a flat method with `k` clusters, which learns from one or two spaces."""

    def make(split: Split, seed: int) -> Placed:
        used = method(id)
        fitted = used.fit(
            rows_of(spaces, split.train), used.Params(n_clusters=k, seed=seed, **params)
        )
        assert fitted.model is not None
        test = used.logits(fitted.model, rows_of(spaces, split.test))
        return from_logits(fitted.logits, test)

    return make


def of_test_rows(
    id: str, rows: Callable[[Array], Array], params: Mapping[str, Any], features: Array
) -> Maker:
    """A method that makes a tree of the test rows themselves, after `rows` has changed them."""

    def make(split: Split, seed: int) -> Placed:
        used = method(id)
        seeded = {"seed": seed} if "seed" in used.Params.model_fields else {}
        data = Data({"features": rows(features[split.test])})
        return Placed(used.fit(data, used.Params(**params, **seeded)).tree)

    return make


def deep(id: str, k: int, features: Array) -> Maker:
    """A tree with `k` leaves, at most `MOST_LEAVES`, learned with a representation."""

    def make(split: Split, seed: int) -> Placed:
        used = method(id)
        params = used.Params(n_clusters=min(k, MOST_LEAVES), seed=seed)
        fitted = used.fit(Data({"features": features[split.train]}), params)
        assert fitted.model is not None
        test = Data({"features": features[split.test]})
        return Placed(with_rows(fitted.tree, used.predict(fitted.model, fitted.tree, test).leaf))

    return make


def of_classifier(logits: Array) -> Maker:
    return lambda split, _: from_logits(logits[split.train], logits[split.test])


def rows_of(spaces: Sequence[Array], rows: Int) -> Data:
    features = tuple(space[rows] for space in spaces)
    return Data({"features": features[0] if len(features) == 1 else features})


def from_logits(train: Array | None, test: Array) -> Placed:
    """The hierarchy of the training rows' logits, with the test rows at its leaves."""
    l2h = method("l2h")
    began = time.perf_counter()
    fitted = l2h.fit(Data({"logits": train}), l2h.Params())
    seconds = time.perf_counter() - began
    assert fitted.model is not None
    leaf = l2h.predict(fitted.model, fitted.tree, Data({"logits": test})).leaf
    return Placed(with_rows(fitted.tree, leaf), seconds)


def with_rows(tree: Tree, leaf: Int) -> Tree:
    """The tree with other rows at its leaves. leaf : (n_rows,) their nodes."""
    leaf = leaf.astype(np.int32)
    return replace(tree, leaf_of_point=leaf, size=sizes(tree.parent, leaf))


def components(features: Array) -> Array:
    from sklearn.decomposition import PCA

    n_components = min(N_COMPONENTS, *features.shape)
    return np.asarray(PCA(n_components, random_state=0).fit_transform(features))


def divided(code: Int, seed: int) -> Split:
    """The share `TEST_SHARE` of each class, at least one row, is for the test."""
    rng = np.random.default_rng(seed)
    out = np.zeros(code.size, dtype=bool)
    for number in range(int(code.max()) + 1):
        own = rng.permutation(np.flatnonzero(code == number))
        out[own[: max(1, round(TEST_SHARE * own.size))]] = True
    return Split(np.flatnonzero(~out), np.flatnonzero(out))


def measure(report: Report, what: str, code: Int, make: Maker, n_seeds: int) -> None:
    """One row: mean and standard deviation over seeds."""
    scores: dict[str, list[float]] = {name: [] for name in METRICS}
    cpu_s, wall_s, l2h_s, n_leaves = [], [], [], 0
    for seed in range(n_seeds):
        split = divided(code, seed)
        with threadpool_limits(1):
            began, began_cpu = time.perf_counter(), time.process_time()
            placed = make(split, seed)
            wall_s.append(time.perf_counter() - began)
            cpu_s.append(time.process_time() - began_cpu)
        measured = evaluate(placed.tree, labels=code[split.test], metrics=METRICS).metrics
        for name in METRICS:
            scores[name].append(measured[name] or 0.0)
        l2h_s += [] if placed.l2h_s is None else [placed.l2h_s]
        n_leaves = placed.tree.n_leaves
    report.row(
        "l2h_tables",
        what=what,
        **{name: spread(values) for name, values in scores.items()},
        seeds=n_seeds,
        leaves=n_leaves,
        l2h_s=float(np.mean(l2h_s)) if l2h_s else None,
        cpu_s=float(np.mean(cpu_s)),
        wall_s=float(np.mean(wall_s)),
    )
