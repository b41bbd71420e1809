"""Logits to hierarchy (L2H): a binary tree over the classes of a classifier or flat clusterer.

Each class starts as a group. K - 1 times, the points of the group G* with the lowest score are
reassigned to their best class outside G*, and G* is merged with the group that they choose most
confidently.

Source: Palumbo et al., "From Logits to Hierarchies: Hierarchical Clustering made Simple" (2025),
section 3, algorithm 1, the code of appendix A, the score of appendix B.2. `merging.reference` is
the definition in float64, with rules for what the paper leaves open; `merging.engine` computes the
same merges faster.

Cost: one pass over the (N, K) logits, O(N K), and a second one where some class has no point; then
rows are read again, O(K) each. By fits over K = 10 to 4,000 on one core with AVX2, least of several
runs on a loaded machine: for the pass 40 ns and 2.5 ns K a row up to 128 classes (5 ns K in
float64), above 0.5 us and 1.5 ns K (2.8 in float64); 2.8 ns K a row for the second; 0.6 ns K for a
row read again (2 in float64), of which there were none at K = 10, 0.3 N at 100, 1.5 N at 1,000,
2.4 N at 3,000. Merging adds at most O(K^2). With few classes the memory of the lists costs more
than the arithmetic: at K = 10 their 60 bytes a row are filled in 25 ns and put in order in 47,
where the row is read in 3 (float16) to 8. Memory: about 130 bytes a row and blocks of 4 MB, and a
float64 for each pair of a class without points and another; the logits are never copied whole.

Measured: CPU time as N^0.9 K^0.8, from 40,000 x 100 to four times each, iterations bounded (`python
-m bench costs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from models.answers.beside_tree import ClassScores, finite
from models.answers.confusions import Confusions, ordered
from models.arrays import Arrays, Float, Int, row_blocks
from models.errors import UsageError
from models.inputs.data import Data, Earlier, listed
from models.levels.suggested_cuts import MOST_CLUSTERS, P_VALUE
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.logits.merging.input_kind import note_kind
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.reference import Merges, exponentials
from models.parameters import Params
from models.running.cost import Cost
from models.running.crew import Piece
from models.running.progress import Progress, subprogress
from models.tree.build import from_merges
from models.tree.tree import Tree
from models.tree.walk import paths

if TYPE_CHECKING:
    from models.methods.logits.merging.engine import LogitsRead


MOST_CLASSES = 1_000_000
"""Limit where only the best classes of each row are known: memory and names cover all classes."""

MOST_LISTED = 8
"""`row_digest.LISTED`, which cannot be imported here without loading compiled code."""

TABLE_BYTES = 256 << 20
"""`empty_classes.TABLE_BYTES`, likewise."""

LISTED_ERROR, REST_ERROR = 1e-6, 4e-5
"""Bounds on the relative errors of what is listed and of the rest: above `loops.rows.WEIGHT_ERROR`,
of both factors, and `loops.rows.TAIL_ERROR`, likewise."""

CLASS_BYTES = 1000
"""Memory for a class: its name, its two nodes of the tree, and the state of merging."""


class L2HParams(Params):
    aggregation: Literal["mean-sum", "sum", "mean", "size"] = Field(
        "mean-sum",
        description=(
            "Score of a group; the lowest is merged next. 'mean-sum': sum over its classes of the "
            "mean confidence of the points assigned to the class; 'sum': sum of the confidences "
            "of all its points; 'mean': mean of these confidences; 'size': number of its points."
        ),
    )
    input: Literal["logits", "log_probs", "probs"] = Field(
        "logits",
        description=(
            "What the input 'logits' holds: real numbers before softmax, logarithms of "
            "probabilities, or probabilities (each row sums to 1). A logit of -inf is a class that "
            "its row cannot have. Logits that look like another kind get a warning."
        ),
    )
    temperature: float = Field(
        1.0, ge=1e-3, le=1e3, description="Divisor of the logits before softmax."
    )
    device: Literal["cpu", "cuda"] = Field(
        "cpu",
        description=(
            "Where logits are read: on the processor, or on a GPU by workers that have one. The "
            "resulting hierarchy is the same."
        ),
    )
    growable: bool = Field(
        False,
        description=(
            "Keep what a later job needs to continue this one with more rows (`base`): about 100 "
            "bytes a row."
        ),
    )
    n_classes: int | None = Field(
        None,
        ge=2,
        le=MOST_CLASSES,
        description=(
            "Number of classes where 'top_classes' is given. Default: the number of names, or, "
            "without names, one more than the highest class given."
        ),
    )


class L2H(Method[L2HParams]):
    """See the module's docstring."""

    title = "Logits to hierarchy"
    paper = Paper(
        "From Logits to Hierarchies: Hierarchical Clustering made Simple",
        2025,
        "section 3, algorithm 1, appendices A and B.2",
    )
    Params = L2HParams
    cost = Cost(1e-7, columns=1.5)
    inputs = {
        "logits": Input(
            by_rows=True,
            description=(
                "One row per point, one column per class; with 'top_classes', only the values of "
                "each row's best classes."
            ),
        ),
        "top_classes": Input(
            required=False,
            one_per="value",
            description=(
                "For rows of which only the best classes are known: the class (from 0) of each "
                "value of 'logits'. Missing values are bounded, and the job reports whether the "
                "bounds decide the hierarchy."
            ),
        ),
        "names": Input(
            required=False, one_per="column", description="One name per class, in column order."
        ),
        "base": Input(
            required=False,
            description=(
                "An earlier job, run with `growable`, whose rows come before these. The hierarchy "
                "is that of all rows; old rows are only read again where the kept state does "
                "not decide it."
            ),
        ),
    }
    outputs = ("tree", "model", "confusions")
    placing = "the leaf of the class with its largest logit"
    advice = "Fit a sample of the rows; the others can be placed by prediction."

    def _memory(self, shapes: Shapes, params: L2HParams) -> int:
        """The digest, twice: as read, and in order of classes for merging; and the table of classes
        without points against the others.

        Only the data decide how many classes have no point: at least those that are more than the
        rows. Up to `TABLE_BYTES` of the table the worst case is taken, beyond it only the certain.
        """
        if len(shapes.get("logits", ())) != 2:
            return 0
        n_rows, n_columns = shapes["logits"]
        if "top_classes" in shapes:
            n_classes = params.n_classes or n_columns
            n_listed = max(1, n_columns - 1)
            # The values and classes in order, their exponentials, and bounds on them.
            reading = 64 * n_columns
        else:
            n_classes = n_columns
            n_listed, reading = min(MOST_LISTED, n_classes - 1), 0
        wide = "top_classes" in shapes or n_classes >= 1 << 16
        digest = 12 + n_listed * (8 if wide else 6)
        state = 100 if params.growable else 0
        per_row = digest + max(digest + 8, reading) + state
        return n_rows * per_row + CLASS_BYTES * n_classes + _table_bytes(n_rows, n_classes)

    def _check(self, data: Data, params: L2HParams) -> None:
        n_points, n_columns = data.rows("logits").shape
        if n_points == 0:
            raise UsageError(
                "Input 'logits' has no rows; at least one point is needed.",
                code="wrong-shape",
                role="logits",
            )
        if n_columns == 0 or (n_columns < 2 and "top_classes" not in data):
            raise UsageError(
                f"Input 'logits' has {n_columns} column(s), one per class; a hierarchy needs at "
                "least 2 classes.",
                code="wrong-shape",
                role="logits",
            )
        if params.n_classes is not None and "top_classes" not in data:
            raise UsageError(
                "Parameter 'n_classes' requires the input 'top_classes'; without it, every column "
                "of 'logits' is a class.",
                code="wrong-parameter",
                parameter="n_classes",
            )
        earlier = data.earlier()
        if earlier is not None:
            _check_base(earlier, data, params)
        if params.growable and "top_classes" in data:
            raise UsageError(
                "Parameter 'growable' requires the logits of all classes, not 'top_classes'.",
                code="wrong-parameter",
                parameter="growable",
            )
        _names(data, params)

    def _fit(self, data: Data, params: L2HParams, run: Run) -> Fitted:
        # Compiled code, which the catalogue must not load.
        from models.methods.logits.merging import class_pairs, modularity, resume, ties
        from models.methods.logits.merging.merging import Merger

        names = _names(data, params)
        run.progress(0.0, "reading logits")
        new = LogitMatrix(data.rows("logits"), params.input, params.temperature)
        note_kind(new, best_only="top_classes" in data)
        seen = _seen(data, params, run)
        merger = Merger(
            seen.matrix,
            seen.digest,
            params.aggregation,
            subprogress(run.progress, 0.7, 1.0),
            threads=run.threads,
            readable_from=seen.readable_from,
            n_old=seen.n_old,
            known=seen.known,
        )
        merges = merger.run(seen.hosts)
        size, confidence = seen.digest.size, seen.digest.confidence
        pairs = class_pairs.class_pairs(seen.digest)
        tree = from_merges(
            merges.left,
            merges.right,
            np.arange(1, len(size)),
            names=names,
            leaf_of_point=seen.digest.label,
            extra={"confidence": _confidence(size, confidence, merges)},
        )
        evidence = modularity.curve(merges, seen.digest, MOST_CLUSTERS)
        by_chance = modularity.p_values(
            evidence, seen.matrix, seen.digest, seen.hosts, params.aggregation
        )
        effort = merger.effort
        n_guessed = effort.guessed + seen.n_open
        return Fitted(
            tree=tree,
            model=Model(
                arrays={"leaf_of_class": tree.leaves.astype(np.int32), **pairs.arrays()},
                facts={
                    "n_classes": len(size),
                    "input": params.input,
                    "temperature": params.temperature,
                    "confusions": {
                        "n_listed": seen.digest.listed.shape[1],
                        "best_only": "top_classes" in data,
                        "n_unknown": int(np.isnan(seen.digest.second).sum()),
                        "n_dropped": pairs.n_dropped,
                        "dropped": pairs.dropped,
                    },
                },
            ),
            metrics={
                "n_empty_classes": float(merges.without_points),
                "mean_confidence": float(confidence.sum() / size.sum()),
                "n_rows_read_again": float(effort.n_read),
                "n_undecided_merges": float(n_guessed),
            },
            curves={"modularity": evidence, f"modularity{P_VALUE}": by_chance} if evidence else {},
            state=resume.packed(seen, merger.learned) if params.growable else None,
            warnings=(
                *_masked_warnings(seen.digest.masked, names, params),
                *_empty_warnings(names, size, merges.without_points),
                *ties.warnings(merges, seen.digest, seen.hosts, merger.voteless),
                *_guess_warnings(n_guessed, seen, data),
                *_old_warnings(effort.n_read_old),
            ),
        )

    def _piece(
        self, data: Data, params: L2HParams, piece: Piece, progress: Progress, threads: int
    ) -> Arrays:
        from models.methods.logits.merging import engine

        within = subprogress(progress, 0.0, 0.6)
        return engine.piece(_matrix(data, params), piece, threads, within, params.device)

    def confusions(self, model: Model, tree: Tree) -> Confusions | None:
        """The expected confusions, by the logits alone: rows whose largest logit is that of class
        a are a's, and the mass of (a, b) is the sum of their softmax probabilities of b.

        In each row the 8 most probable other classes count one by one, so a mass is a lower bound;
        `rest` has the others' sum. None for fits that kept no probabilities: fits of earlier
        versions, and fits with one class a row.
        """
        if "confused.of" not in model.arrays or not model.arrays["confused.total"].any():
            return None
        array = {
            name: np.asarray(model.arrays[f"confused.{name}"])
            for name in ("of", "taken_for", "mass", "right", "rest", "total")
        }
        leaf = model.arrays["leaf_of_class"].astype(np.int64)
        right, total = np.zeros((2, tree.n_nodes))
        right[leaf], total[leaf] = array["right"], array["total"]
        facts = model.facts["confusions"]
        rest, listed = float(array["rest"].sum()) + facts["dropped"], float(array["mass"].sum())
        most = None
        if "confused.most" in model.arrays and not facts["best_only"]:
            most = np.zeros(tree.n_nodes)
            most[leaf] = model.arrays["confused.most"]
        return ordered(
            leaf[array["of"]],
            leaf[array["taken_for"]],
            array["mass"],
            right,
            total,
            rest,
            most,
            LISTED_ERROR * listed + REST_ERROR * rest,
            _confusion_warnings(facts, rest, listed),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the largest logit; a node's probability is the softmax mass of its classes."""
        matrix, leaf_of_class = _new_rows(model, data)
        n_rows = matrix.shape[0]
        leaf = np.empty(n_rows, dtype=np.int64)
        blocks = list(row_blocks(n_rows, tree.n_nodes, 1 << 20))
        for block in blocks:
            matrix.require_values(block.start, block.stop)
            leaf[block] = leaf_of_class[matrix.block(block.start, block.stop).argmax(axis=1)]
        start, node = paths(tree, leaf)
        probability = np.empty(len(node))
        for block in blocks:
            values = matrix.block(block.start, block.stop).astype(np.float64)
            exponentials(values, matrix.scale)
            mass = _masses(values, leaf_of_class, tree)
            part = slice(start[block.start], start[block.stop])
            row = np.repeat(np.arange(mass.shape[1]), np.diff(start[block.start : block.stop + 1]))
            probability[part] = mass[node[part], row]
        return Predictions(leaf, start, node, probability)

    def ungrown(self, data: Data) -> Data:
        """The logits of all rows: growing is exact."""
        from models.methods.logits.merging import resume

        earlier = data.earlier()
        assert earlier is not None
        if not earlier.state:
            return data
        rows = resume.stacked(earlier, data.rows("logits"))
        if rows.readable_from:
            raise UsageError(
                "Rows of the earlier job in 'base' are gone, and the fit on all rows needs them.",
                code="wrong-input",
                role="base",
            )
        values = {role: value for role, value in data.values.items() if role != "base"}
        return Data({**values, "logits": rows})

    def class_scores(self, model: Model, data: Data) -> ClassScores:
        """The logits as they are, at the temperature of the fit."""
        self._check_inputs(data, predicting=True)
        matrix, leaf_of_class = _new_rows(model, data)

        def read(start: int, stop: int) -> Float:
            matrix.require_values(start, stop)
            return finite(matrix.block(start, stop).astype(np.float64) * matrix.scale)

        return ClassScores(leaf_of_class, matrix.shape[0], read)


def _new_rows(model: Model, data: Data) -> tuple[LogitMatrix, Int]:
    """The logits of rows to be placed, and the leaf of each class."""
    if "top_classes" in data:
        raise UsageError(
            "Prediction needs the logits of all classes; it takes no input 'top_classes'.",
            code="cannot-predict",
            role="top_classes",
        )
    rows = data.rows("logits")
    leaf_of_class = model.arrays["leaf_of_class"].astype(np.int64)
    if rows.shape[1] != len(leaf_of_class):
        raise UsageError(
            f"Input 'logits' has {rows.shape[1]} columns; the model was fitted on "
            f"{len(leaf_of_class)} classes.",
            code="wrong-shape",
            role="logits",
        )
    matrix = LogitMatrix(rows, model.facts["input"], model.facts["temperature"])
    note_kind(matrix, log_probs_too=False)
    return matrix, leaf_of_class


def _table_bytes(n_rows: int, n_classes: int) -> int:
    """Memory for a table of classes with points and those without, twice: summed, and of a part."""
    worst = min(n_rows, n_classes // 2)
    certain = min(n_rows, n_classes)
    return 16 * max(
        min(worst * (n_classes - worst), TABLE_BYTES // 8), certain * (n_classes - certain)
    )


def _masses(weights: Float, leaf_of_class: Int, tree: Tree) -> Float:
    """(n_nodes, n_rows) softmax mass of the classes under each node; the root's is exactly 1.

    Masses are sums over children, never differences, so that none is lost to rounding and none
    exceeds its parent's.
    """
    mass = np.zeros((tree.n_nodes, weights.shape[0]))
    mass[leaf_of_class] = weights.T
    for node in range(tree.n_nodes - 1, 0, -1):
        mass[tree.parent[node]] += mass[node]
    mass /= mass[0]
    return mass


def _matrix(data: Data, params: L2HParams) -> LogitMatrix:
    rows, earlier = data.rows("logits"), data.earlier()
    if earlier is not None:
        from models.methods.logits.merging import resume

        rows = resume.stacked(earlier, rows)
    return LogitMatrix(rows, params.input, params.temperature)


def _seen(data: Data, params: L2HParams, run: Run) -> LogitsRead:
    from models.methods.logits.merging import engine, resume, topk

    matrix, earlier = _matrix(data, params), data.earlier()
    if "top_classes" in data:
        return topk.read(matrix, data.dense("top_classes"), _n_classes(data, params))
    if earlier is not None:
        return resume.read(earlier, matrix, run.crew)
    return engine.read(matrix, run.crew)


def _names(data: Data, params: L2HParams) -> list[str]:
    earlier = data.earlier()
    if earlier is not None and "names" not in data:
        return [str(name) for name in earlier.tree.name[earlier.tree.leaves]]
    return data.leaf_names(_n_classes(data, params), "class")


def _n_classes(data: Data, params: L2HParams) -> int:
    if "top_classes" not in data:
        return data.rows("logits").shape[1]
    if params.n_classes is not None:
        return params.n_classes
    names = data.names()
    return _highest(data) + 1 if names is None else len(names)


def _highest(data: Data) -> int:
    """The highest class in 'top_classes', at least 1.

    Raises UsageError for classes that are no integers or too large."""
    classes = data.dense("top_classes")
    if classes.dtype.kind not in "iu":
        raise UsageError(
            "Input 'top_classes' must hold integers, the class of each value of 'logits'.",
            code="wrong-input",
            role="top_classes",
        )
    highest = max(1, int(classes.max(initial=1)))
    if highest >= MOST_CLASSES:
        raise UsageError(
            f"Input 'top_classes' names the class {highest}; at most {MOST_CLASSES:,} classes are "
            "accepted.",
            code="wrong-input",
            role="top_classes",
        )
    return highest


_AS_BEFORE = ("aggregation", "input", "temperature")


def _check_base(earlier: Earlier, data: Data, params: L2HParams) -> None:
    if earlier.method != L2H.id or not earlier.state:
        raise UsageError(
            "Input 'base' must be a job of method 'l2h' that was run with `growable`.",
            code="wrong-input",
            role="base",
        )
    if "top_classes" in data:
        raise UsageError(
            "Input 'base' requires the logits of all classes, not 'top_classes'.",
            code="wrong-input",
            role="base",
        )
    n_classes = earlier.tree.n_leaves
    if data.rows("logits").shape[1] != n_classes:
        raise UsageError(
            f"Input 'logits' has {data.rows('logits').shape[1]} columns; the job in 'base' had "
            f"{n_classes} classes.",
            code="wrong-shape",
            role="logits",
        )
    earlier_params = L2HParams.model_validate(earlier.params)
    for name in _AS_BEFORE:
        if getattr(earlier_params, name) != getattr(params, name):
            raise UsageError(
                f"Parameter {name!r} is {getattr(params, name)!r}; the job in 'base' had "
                f"{getattr(earlier_params, name)!r}, and it must be the same.",
                code="wrong-parameter",
                parameter=name,
            )


def _confidence(size: Int, confidence: Float, merges: Merges) -> Float:
    """(2 K - 1,) mean winning probability of the points under each SciPy id; NaN without points."""
    n_merges = len(merges.left)
    size = np.concatenate([size, np.zeros(n_merges, dtype=np.int64)])
    total = np.concatenate([confidence, np.zeros(n_merges)])
    for step, (a, b) in enumerate(zip(merges.left, merges.right, strict=True), n_merges + 1):
        size[step], total[step] = size[a] + size[b], total[a] + total[b]
    return np.where(size > 0, total / np.maximum(size, 1), np.nan)


def _masked_warnings(masked: Int, names: list[str], params: L2HParams) -> tuple[str, ...]:
    of = np.flatnonzero(masked)
    if params.input != "logits" or not of.size:
        return ()
    return (
        f"{int(masked.sum()):,} logit(s) are -inf, of {of.size} of {len(names)} classes "
        f"({listed([names[c] for c in of])}): a row that has one cannot be of this class, whose "
        "probability in it is 0.",
    )


def _empty_warnings(names: list[str], size: Int, without_points: int) -> tuple[str, ...]:
    empty = [names[c] for c in np.flatnonzero(size == 0)]
    if not empty:
        return ()
    return (
        f"{len(empty)} of {len(names)} classes have no point: {listed(empty)}.",
        f"The first {without_points} merge(s) join these classes, for which no reassigned "
        "probability exists, to the group whose points give them the highest mean probability.",
    )


def _confusion_warnings(facts: Mapping[str, Any], rest: float, listed: float) -> tuple[str, ...]:
    warnings = []
    if rest > 0:
        which = "given" if facts["best_only"] else "most probable"
        warnings.append(
            f"In each row only the {facts['n_listed']} {which} other classes are known one by one, "
            f"so masses are lower bounds; the others have {'at most ' * facts['best_only']}"
            f"{rest / (rest + listed):.2g} of the mass on other classes (`rest`)."
        )
    if facts["n_dropped"]:
        warnings.append(
            f"The {facts['n_dropped']} pairs with the smallest masses, {facts['dropped']:.3g} in "
            "all, are not kept; `rest` has their mass."
        )
    if facts["n_unknown"]:
        warnings.append(
            f"{facts['n_unknown']} row(s) of the job in 'base' are left out: it kept no "
            "probabilities."
        )
    return tuple(warnings)


def _guess_warnings(n_guessed: int, seen: LogitsRead, data: Data) -> tuple[str, ...]:
    if not n_guessed:
        return ()
    if "top_classes" in data:
        reason = (
            f"only {seen.matrix.shape[1]} of {len(seen.digest.size)} classes are given of each row"
        )
    else:
        reason = "rows of the job in 'base' would have to be read again and are gone"
    return (
        f"{n_guessed} decision(s) of the hierarchy are open, since {reason}: the bounds do not "
        "decide them, so the midpoints of the bounds were used.",
    )


def _old_warnings(n_read: int) -> tuple[str, ...]:
    if not n_read:
        return ()
    return (f"Rows of the job in 'base' had to be read again, {n_read} in all.",)
