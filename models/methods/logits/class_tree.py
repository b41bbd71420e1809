"""A tree of classes from a classifier's logits, by how classes are confused and where they lie.

Where the true hierarchy of the classes is known, its trees agree with it in more triplets of
classes than the trees of `l2h` do ([how much](../class-trees.md)).

Three similarities of the classes that have rows, U:

- Walks. A_ij is the mean, over the rows of class i, of 1 / rank of class j among U without i: a
  confusion without a temperature. B = (A + A') / 2 is scaled by d, d_i B_ij d_j, until all rows
  have the sum 1, so that popular classes count no more than others. W = (1 - a)(1 - a B)^-1 says
  where walks along B end that go on with the probability a; S_a is the correlation of the rows of
  log W. Twice: a = 0.5 and 0.9.
- Whitened means: the cosines of the mean logits of classes, where variances within classes are 1
  in all directions, of a covariance with a tenth of its mean variance added.

'walk' is average linkage of 1 - S_0.9. 'consensus' makes two trees of each similarity, by average
linkage and by joining, like `l2h`, the group with the least confidence to that of the highest
average similarity, and joins classes by the mean, over the six trees, of the logarithm of the size
of the smallest cluster that has both. A class without rows first joins the class in whose rows its
logit is highest on average.

Source: this project; the walks are regularised commute kernels, the whitened means are from linear
discriminant analysis.

Cost: two reads of the (N, K) logits, and for u classes with rows O(u^3). Where classes have many
rows, the first are ranked alone, 65,536 rows or 2^26 values in all, and a quarter of these rows or
2^34 products give the covariance; means are of all rows. Memory: 60 bytes a row and about 160 for
each pair of classes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from models.arrays import Arrays
from models.inputs.data import Data
from models.method import Fitted, Paper, Run, Shapes
from models.methods.logits.classes.given import class_names, logit_matrix, n_classes
from models.methods.logits.classes.of_logits import OfLogits, model_of
from models.methods.logits.classes.parameters import LogitsParams
from models.methods.logits.classes.shown import empty_warnings, masked_warnings, node_confidence
from models.methods.logits.merging.input_kind import note_kind
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.parameters import Params, Seed
from models.running.budget import Cost
from models.running.progress import Piece, Progress, subprogress
from models.tree.build import from_merges

if TYPE_CHECKING:
    from models.methods.logits.class_trees.reading import ClassesRead
    from models.methods.logits.class_trees.trees import ClassTree as Found

FOLDS = 16
"""Parts of the rows that bootstraps draw."""

_ALIKE = 0.75
"""Trees of a consensus whose parts at the top share less of their classes, on average, disagree."""


class _Rule(Params):
    rule: Literal["consensus", "walk"] = Field(
        "consensus",
        description=(
            "'consensus': of six trees, by walks along confusions and by whitened class means. "
            "'walk': one tree, average linkage of walks."
        ),
    )
    bootstraps: int = Field(
        0,
        ge=0,
        le=1000,
        description=(
            "Trees of rows drawn anew, which give each node its `support`: the share of them that "
            "have it. Rows are drawn in 16 parts; each tree costs as much as the tree itself, "
            "without reading."
        ),
    )
    seed: Seed = 0


class ClassTreeParams(LogitsParams, _Rule):
    """The rule first."""


class ClassTree(OfLogits[ClassTreeParams]):
    """See the module's docstring."""

    title = "Tree of classes by confusions and means"
    paper = Paper("Umbel: docs/class-trees.md", 2026)
    Params = ClassTreeParams
    cost = Cost(3e-7, columns=1.2)
    inputs = {
        **OfLogits.inputs,
        "top_classes": replace(
            OfLogits.inputs["top_classes"],
            description=(
                "For rows of which only the best classes are known: the class (from 0) of each "
                "value of 'logits'. The other classes count as equal, and as low as the lowest "
                "given."
            ),
        ),
        "base": replace(
            OfLogits.inputs["base"],
            description=(
                "An earlier job, run with `growable`, whose rows come before these. The tree is "
                "that of all rows; old rows are only read again where new ones are of classes "
                "that had no rows, or have a wider range of values."
            ),
        ),
    }
    as_before = ("rule", "input", "temperature")

    def _memory(self, shapes: Shapes, params: ClassTreeParams) -> int:
        """Besides, the sums over rows, of a part and of all, and what similarities take."""
        sizes = self._sizes(shapes, params)
        if sizes is None:
            return 0
        n_rows, n_classes = sizes
        n_used = min(n_rows, n_classes)
        folds = FOLDS if params.bootstraps else 1
        tables = 16 * n_used * (folds * (n_used + n_classes) + 2 * n_used)
        return super()._memory(shapes, params) + tables + 100 * n_used**2

    def _fit(self, data: Data, params: ClassTreeParams, run: Run) -> Fitted:
        # Compiled code, which the catalogue must not load.
        from models.methods.logits.class_trees.trees import class_tree

        names = class_names(data, params)
        run.progress(0.0, "reading logits")
        new = LogitMatrix(data.rows("logits"), params.input, params.temperature)
        note_kind(new, best_only="top_classes" in data)
        read = _read(data, params, run)
        digest = read.rows.digest
        progress = subprogress(run.progress, 0.7, 1.0)
        found = class_tree(read.rows, read.sums, params.rule, params.bootstraps, run.rng, progress)
        left, right = found.merges[:, :2].T.astype(np.int64)
        size, confidence = digest.size, digest.confidence
        extra = {"confidence": node_confidence(size, confidence, left, right)}
        leaves = np.full(len(size), np.nan)
        for name in ("agreement", "support"):
            column = getattr(found, name)
            if not np.isnan(column).all():
                extra[name] = np.concatenate([leaves, column])
        tree = from_merges(
            left,
            right,
            found.merges[:, 2],
            names=names,
            leaf_of_point=digest.label,
            extra=extra,
        )
        metrics = {
            "n_empty_classes": float((size == 0).sum()),
            "mean_confidence": float(confidence.sum() / size.sum()),
            "n_tied_merges": float(found.n_tied),
        }
        if not np.isnan(found.top):
            metrics["top_agreement"] = found.top
        return Fitted(
            tree=tree,
            model=model_of(tree, digest, params, best_only="top_classes" in data),
            metrics=metrics,
            state=read.state() if params.growable else None,
            warnings=(
                *masked_warnings(digest.masked, names, params),
                *_empty_warnings(names, found),
                *_row_warnings(read),
                *_listed_warnings(data, len(names)),
                *_tie_warnings(found),
                *_top_warnings(found),
            ),
        )

    def _piece(
        self, data: Data, params: ClassTreeParams, piece: Piece, progress: Progress, threads: int
    ) -> Arrays:
        from models.methods.logits.class_trees import reading, sums

        matrix = logit_matrix(data, params)
        if "top_classes" in data:
            classes = data.dense("top_classes")
            matrix = reading.listed(matrix, classes, n_classes(data, params))
        within = subprogress(progress, 0.0, 0.6)
        return sums.piece(matrix, piece, threads, within, params.device)


def _read(data: Data, params: ClassTreeParams, run: Run) -> ClassesRead:
    from models.methods.logits.class_trees import reading

    matrix, earlier = logit_matrix(data, params), data.earlier()
    how = FOLDS if params.bootstraps else 1, params.rule == "consensus"
    if "top_classes" in data:
        classes = data.dense("top_classes")
        return reading.read_listed(matrix, classes, n_classes(data, params), run.crew, *how)
    if earlier is not None:
        return reading.continued(earlier, matrix, run.crew, *how)
    return reading.read(matrix, run.crew, *how)


def _empty_warnings(names: list[str], found: Found) -> tuple[str, ...]:
    empty = np.setdiff1d(np.arange(len(names)), found.used)
    if not empty.size:
        return ()
    warnings = [
        *empty_warnings(names, empty),
        f"The first {empty.size} merge(s) join each of these classes to the class in whose rows "
        "its logit is highest on average.",
    ]
    if found.n_tied_hosts:
        warnings.append(
            f"{found.n_tied_hosts} of these classes are as near to every other class, and joined "
            "that of the first column."
        )
    return tuple(warnings)


def _row_warnings(read: ClassesRead) -> tuple[str, ...]:
    warnings = []
    rows = read.rows
    n_flat = int(rows.flat.sum())
    if rows.flat.all():
        warnings.append("The values of each row are all equal: the rows say nothing of classes.")
    elif n_flat:
        warnings.append(f"{n_flat} row(s) whose values are all equal were left out.")
    size = rows.digest.size[read.sums.used]
    parts = [
        f"{what} of the first {most:,} rows of each class, {np.minimum(size, most).sum():,} in all"
        for what, most in (("ranks are", read.sums.ranked), ("covariances are", read.sums.squared))
        if 0 < most < size.max()
    ]
    if parts:
        warnings.append(f"Class means are of all {size.sum():,} rows; {'; '.join(parts)}.")
    if read.n_again:
        warnings.append(f"The {read.n_again:,} rows of the job in 'base' had to be read again.")
    return tuple(warnings)


def _listed_warnings(data: Data, n_classes: int) -> tuple[str, ...]:
    if "top_classes" not in data:
        return ()
    n_given = data.rows("logits").shape[1]
    if n_given == n_classes:
        return ()
    return (
        f"Only {n_given} of {n_classes} classes are given of each row: the others count as equal "
        "and as low as the lowest given, so that distances of far classes are less sure.",
    )


def _tie_warnings(found: Found) -> tuple[str, ...]:
    n_tied, n_merges = found.n_tied, len(found.merges)
    if not n_tied:
        return ()
    return (
        f"{n_tied} of {n_merges} merges are ties: the order of the columns alone "
        "decided. One-hot or saturated predictions hold no hierarchy; send logits as they "
        "are before softmax.",
    )


def _top_warnings(found: Found) -> tuple[str, ...]:
    if not found.top < _ALIKE:
        return ()
    return (
        "The trees of the consensus disagree at the top: the smaller part of the first split "
        f"shares {found.top:.0%} of its classes with theirs on average. Trust lower merges more; "
        "`agreement` has each node's.",
    )
