"""Logits to hierarchy (L2H): a binary tree over the classes of a classifier or flat clusterer.

Each class starts as a group. K - 1 times, the points of the group G* with the lowest score are
reassigned to their best class outside G*, and G* is merged with the group that they choose most
confidently.

Which `aggregation`: 'sum' and 'size' merge the groups of few points first; 'mean-sum', the paper's
algorithm, counts classes alike however many points they have; 'mean' looks at confidence alone. The
share of 20,000 triplets of classes that agree with the known hierarchy, of TinyImageNet (200
classes) and of languages (117): 'mean-sum' .576 and .830, 'sum' .588 and .901, 'size' .597 and
.841, 'mean' .583 and .649. Differences from 'mean-sum' have the intervals of 95%, over classes,
[-.024, .053] and [.010, .145], [-.010, .058] and [.003, .031], [-.080, .086] and [-.292, -.030].

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

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from models.arrays import Arrays, Int
from models.inputs.data import Data
from models.levels.suggested_cuts import MOST_CLUSTERS, P_VALUE
from models.method import Fitted, Paper, Run, Shapes
from models.methods.logits.classes.given import class_names, logit_matrix, n_classes
from models.methods.logits.classes.of_logits import OfLogits, model_of
from models.methods.logits.classes.parameters import LogitsParams
from models.methods.logits.classes.shown import empty_warnings, masked_warnings, node_confidence
from models.methods.logits.merging.input_kind import note_kind
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.parameters import Params
from models.running.budget import Cost
from models.running.progress import Piece, Progress, subprogress
from models.tree.build import from_merges

if TYPE_CHECKING:
    from models.methods.logits.merging.engine import LogitsRead


TABLE_BYTES = 256 << 20
"""`empty_classes.TABLE_BYTES`, which cannot be imported here without loading compiled code."""


class _Aggregation(Params):
    aggregation: Literal["mean-sum", "sum", "mean", "size"] = Field(
        "mean-sum",
        description=(
            "Score of a group; the lowest is merged next. 'mean-sum': sum over its classes of the "
            "mean confidence of the points assigned to the class; 'sum': sum of the confidences "
            "of all its points; 'mean': mean of these confidences; 'size': number of its points."
        ),
    )


class L2HParams(LogitsParams, _Aggregation):
    """The aggregation first."""


class L2H(OfLogits[L2HParams]):
    """See the module's docstring."""

    title = "Logits to hierarchy"
    paper = Paper(
        "From Logits to Hierarchies: Hierarchical Clustering made Simple",
        2025,
        "section 3, algorithm 1, appendices A and B.2",
    )
    Params = L2HParams
    cost = Cost(1e-7, columns=1.5)
    as_before = ("aggregation", "input", "temperature")

    def _memory(self, shapes: Shapes, params: L2HParams) -> int:
        """Besides, the table of classes without points against the others.

        Only the data decide how many classes have no point: at least those that are more than the
        rows. Up to `TABLE_BYTES` of the table the worst case is taken, beyond it only the certain.
        """
        sizes = self._sizes(shapes, params)
        return 0 if sizes is None else super()._memory(shapes, params) + _table_bytes(*sizes)

    def _fit(self, data: Data, params: L2HParams, run: Run) -> Fitted:
        # Compiled code, which the catalogue must not load.
        from models.methods.logits.merging import modularity, resume, ties
        from models.methods.logits.merging.merging import Merger

        names = class_names(data, params)
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
        tree = from_merges(
            merges.left,
            merges.right,
            np.arange(1, len(size)),
            names=names,
            leaf_of_point=seen.digest.label,
            extra={"confidence": node_confidence(size, confidence, merges.left, merges.right)},
        )
        evidence = modularity.curve(merges, seen.digest, MOST_CLUSTERS)
        by_chance = modularity.p_values(
            evidence, seen.matrix, seen.digest, seen.hosts, params.aggregation
        )
        effort = merger.effort
        n_guessed = effort.guessed + seen.n_open
        return Fitted(
            tree=tree,
            model=model_of(tree, seen.digest, params, best_only="top_classes" in data),
            metrics={
                "n_empty_classes": float(merges.without_points),
                "mean_confidence": float(confidence.sum() / size.sum()),
                "n_rows_read_again": float(effort.n_read),
                "n_undecided_merges": float(n_guessed),
            },
            curves={"modularity": evidence, f"modularity{P_VALUE}": by_chance} if evidence else {},
            state=resume.packed(seen, merger.learned) if params.growable else None,
            warnings=(
                *masked_warnings(seen.digest.masked, names, params),
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
        return engine.piece(logit_matrix(data, params), piece, threads, within, params.device)


def _table_bytes(n_rows: int, n_classes: int) -> int:
    """Memory for a table of classes with points and those without, twice: summed, and of a part."""
    worst = min(n_rows, n_classes // 2)
    certain = min(n_rows, n_classes)
    return 16 * max(
        min(worst * (n_classes - worst), TABLE_BYTES // 8), certain * (n_classes - certain)
    )


def _seen(data: Data, params: L2HParams, run: Run) -> LogitsRead:
    from models.methods.logits.merging import engine, resume, topk

    matrix, earlier = logit_matrix(data, params), data.earlier()
    if "top_classes" in data:
        return topk.read(matrix, data.dense("top_classes"), n_classes(data, params))
    if earlier is not None:
        return resume.read(earlier, matrix, run.crew)
    return engine.read(matrix, run.crew)


def _empty_warnings(names: list[str], size: Int, without_points: int) -> tuple[str, ...]:
    empty = np.flatnonzero(size == 0)
    if not empty.size:
        return ()
    return (
        *empty_warnings(names, empty),
        f"The first {without_points} merge(s) join these classes, for which no reassigned "
        "probability exists, to the group whose points give them the highest mean probability.",
    )


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
