"""`place`: classes of a tree that hang out of place in a hierarchy of the same classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ConfigDict

from models.errors import UsageError, listed
from models.inputs.data import Data, Value
from models.placements.options import PlacementTerms
from models.registry import known
from models.running.progress import subprogress
from models.tree.cluster_names import cluster_names
from models.tree.tree import Tree
from workers.artifacts import results
from workers.formats.table_writers import save_arrow
from workers.kinds.kind import Find, Lane, NamedKind, Size
from workers.kinds.of_fit import OfFit
from workers.model import Request
from workers.work.fit_rows import prepared
from workers.work.job import Job, Outcome
from workers.work.sources import Source, of_role, reading_warnings, tree_of, values_of

if TYPE_CHECKING:
    import pyarrow as pa

    from models.answers.beside_tree import ClassScores
    from models.answers.confusions import Confusions
    from models.arrays import Float
    from models.placements.evidence import Evidence
    from models.placements.placements import Groups, Placements, Shared

MOST_CLASSES, MOST_SUBTREES = 60, 20
"""Classes and subtrees that the facts have; the file has all."""
MOST_BESIDE = 3
"""Classes of a place that are named."""


class PlacementOptions(OfFit, PlacementTerms):
    """Which rows show how classes are confused, and how many false discoveries are accepted."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Place(NamedKind[PlacementOptions]):
    name = "place"
    noun = "placement"
    prefix = "pl"
    Options = PlacementOptions

    def lane(self, request: Request) -> Lane:
        """Thousands of classes take seconds, all pairs being compared: quick work does not wait
        for that."""
        return "fit"

    def sources(self, find: Find, options: PlacementOptions) -> list[Source]:
        return options.sources(find)

    def seconds(
        self, options: PlacementOptions, params: Mapping[str, Any], size: Size
    ) -> float | None:
        """All pairs of classes are compared."""
        return size.linear_s + 1e-7 * max(size.n_rows, size.n_nodes // 3) ** 2

    def run(self, job: Job, options: PlacementOptions) -> Outcome:
        job.reading()
        facts, warnings = _placed(options, job)
        return Outcome(result={"tree": options.tree, "placement": facts}, warnings=warnings)


KIND = _Place()


def _placed(options: PlacementOptions, job: Job) -> tuple[dict[str, Any], tuple[str, ...]]:
    """(facts of the answer, warnings); the table of all classes and subtrees is written.

    Raises UsageError as `shared`, and `wrong-input` without a hierarchy.
    """
    from models.placements.chance import chance_warning, share_by_chance
    from models.placements.evidence import (
        Evidence,
        class_means,
        confused,
        leaning_rows,
        likeness,
        most_alike,
    )
    from models.placements.placements import groups, placements, shared

    source = of_role(job.sources, "tree")
    tree = tree_of(source)
    values = values_of([each for each in job.sources if each.role == "hierarchy"])
    hierarchy = _hierarchy(values)
    found = shared(tree, hierarchy)
    hung = groups(hierarchy, found.hung)
    scores, confusions, notes = _seen(options, source, job.sources, tree)
    job.at(0.1, "reading scores")
    means = (
        None
        if scores is None
        else class_means(scores, found.leaf, subprogress(job.progress, 0.1, 0.5))
    )
    alike = likeness(tree, found.leaf, means)
    placed = placements(hung, alike, subprogress(job.progress, 0.5, 0.8))
    by_chance = chance_warning(share_by_chance(hung, alike, options.level), options.level)
    job.at(0.8, "finding evidence")
    examples: list[list[int]] = [[] for _ in found.name]
    if scores is not None and means is not None:
        examples = leaning_rows(scores, means.column, hung, placed.classes)
    evidence = Evidence(most_alike(alike), confused(found, confusions), examples)
    table = _table(hierarchy, found, hung, placed, evidence, options.level)
    job.at(0.95, "writing")
    save_arrow(table, job.folder / results.PLACEMENTS)
    bare = [] if means is None else [found.name[at] for at in np.flatnonzero(means.n_rows == 0)]
    warnings = (
        *reading_warnings(values),
        *found.warnings,
        *notes,
        *_unjudged(placed, bare),
        *([] if by_chance is None else [by_chance]),
    )
    odd, n_classes = table.column("odd").to_pylist(), len(found.name)
    facts = {
        "level": options.level,
        "by": "tree" if scores is None else "scores",
        "n_shared": len(found.name),
        "n_judged": placed.classes.n_judged,
        "n_subtrees": placed.subtrees.n_judged,
        "n_odd": sum(map(bool, odd)),
        "classes": table.slice(0, min(MOST_CLASSES, n_classes)).to_pylist(),
        "subtrees": table.slice(n_classes, MOST_SUBTREES).to_pylist(),
    }
    return facts, warnings


def _hierarchy(values: Mapping[str, Value]) -> Tree:
    """Raises UsageError `wrong-input` for another kind of value, and for none."""
    value = values.get("hierarchy")
    if not isinstance(value, Tree):
        raise UsageError(
            "Input 'hierarchy' must be a tree of the classes: a tree's id, class paths such as "
            "'animal/cat/lion', or a tree as Newick, Nexus or JSON.",
            code="wrong-input",
            role="hierarchy",
        )
    return value


def _seen(
    options: PlacementOptions, source: Source, sources: Sequence[Source], tree: Tree
) -> tuple[ClassScores | None, Confusions | None, list[str]]:
    """(the scores of the fit's rows, what its model knows of confusions, warnings); None where the
    tree's method or what is left of the fit does not have them."""
    from models.calibration.class_rows import class_scores

    given = [each for each in sources if each.role == options.of_fit]
    if results.MODEL not in source.files:
        note = (
            "The tree has no model: classes are compared by the tree alone, without scores of rows."
        )
        return None, None, [note]
    stage = results.load_model(source.files[results.MODEL]).stages[-1]
    method = known(stage.method)
    if method is None:
        return None, None, [f"Method {stage.method!r} is not installed: only the tree is compared."]
    confusions = method.confusions(stage.model, tree) if method.confuses else None
    if not given:
        note = (
            "The logits of the fit are not there: classes are compared by the tree alone, which "
            "finds fewer of those out of place."
        )
        return None, confusions, [note]
    values = prepared(options, source, given, seed=0)
    scores = class_scores(method, stage.model, tree, Data(values))
    return scores, confusions, []


def _unjudged(placed: Placements, bare: Sequence[str]) -> list[str]:
    """Warnings of classes that cannot be judged."""
    notes = []
    n_classes, n_judged = len(placed.classes.own), placed.classes.n_judged
    if n_judged < n_classes:
        notes.append(
            f"Not judged, for want of a place apart from their own, as right under the top of the "
            f"hierarchy: {n_classes - n_judged:,} of {n_classes:,} classes."
        )
    if n_judged and not np.isfinite(placed.classes.p_value).any():
        notes.append(
            "Too few classes can be judged, or most fit equally, to say what is odd: there are no "
            "p-values, only the order."
        )
    if bare:
        notes.append(
            f"Compared by the tree alone, since no row has its highest score there: {listed(bare)}."
        )
    return notes


def _table(
    hierarchy: Tree,
    shared: Shared,
    groups: Groups,
    placed: Placements,
    evidence: Evidence,
    level: float,
) -> pa.Table:
    """A row for each class, then one for each subtree, those most out of place first."""
    import pyarrow as pa

    node_name = cluster_names(hierarchy, groups.node)
    rows: list[dict[str, Any]] = []
    for what, fits in (("class", placed.classes), ("subtree", placed.subtrees)):
        for at in fits.order.tolist():
            of_class = what == "class"
            group = -1 if of_class else int(placed.group[at])
            own, best = int(fits.own[at]), int(fits.best[at])
            members = [at] if of_class else np.flatnonzero(groups.member[group]).tolist()
            alike = evidence.alike[at] if of_class else []
            beside = np.flatnonzero(groups.member[best]).tolist() if best >= 0 else []
            rows.append(
                {
                    "what": what,
                    "name": shared.name[at] if of_class else node_name[group],
                    "node": int(shared.hung[at] if of_class else groups.node[group]),
                    "n_classes": len(members),
                    "under": int(groups.node[own]),
                    "under_name": node_name[own],
                    "place": int(groups.node[best]) if best >= 0 else None,
                    "place_name": node_name[best] if best >= 0 else None,
                    "beside": [shared.name[each] for each in beside[:MOST_BESIDE]],
                    "fit": _number(fits.fit[at]),
                    "best_fit": _number(fits.best_fit[at]),
                    "margin": _number(fits.margin[at]),
                    "p_value": _number(fits.p_value[at]),
                    "adjusted": _number(fits.adjusted[at]),
                    "odd": bool(fits.adjusted[at] <= level),
                    "alike": [shared.name[each] for each in alike],
                    "taken_for": [
                        {"name": shared.name[other], "share": share}
                        for other, share in (evidence.taken_for[at] if of_class else [])
                    ],
                    "examples": evidence.examples[at] if of_class else [],
                }
            )
    texts, numbers = pa.list_(pa.string()), pa.list_(pa.int64())
    taken_for = pa.list_(pa.struct([("name", pa.string()), ("share", pa.float64())]))
    schema = pa.schema(
        [
            *((name, pa.string()) for name in ("what", "name")),
            *((name, pa.int64()) for name in ("node", "n_classes", "under")),
            ("under_name", pa.string()),
            ("place", pa.int64()),
            ("place_name", pa.string()),
            ("beside", texts),
            *((name, pa.float64()) for name in ("fit", "best_fit", "margin", "p_value")),
            ("adjusted", pa.float64()),
            ("odd", pa.bool_()),
            ("alike", texts),
            ("taken_for", taken_for),
            ("examples", numbers),
        ]
    )
    return pa.Table.from_pylist(rows, schema)


def _number(value: Float) -> float | None:
    """None for NaN."""
    return float(value) if np.isfinite(value) else None
