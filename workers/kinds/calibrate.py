"""`calibrate`: learn from held-out rows how sure answers are; and the answers that this gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ConfigDict

from models.arrays import Array, Int
from models.calibration.calibration import CalibrationTerms, fewest_rows
from models.inputs.data import Data, Value
from models.inputs.label_sets import label_sets
from models.preprocess.inputs import Preparation
from models.registry import method
from models.running.progress import Progress
from models.tree.cluster_names import cluster_names
from models.tree.cut import clusters
from models.tree.tree import Tree
from workers.artifacts import results
from workers.formats.table_writers import save_arrow
from workers.kinds.kind import Find, NamedKind, OfTree, Size
from workers.work.job import Job, Outcome
from workers.work.named_columns import ids_of
from workers.work.placing import fitted_of, new_rows, placed, placing_data
from workers.work.sources import Source

if TYPE_CHECKING:
    import pyarrow as pa

    from models.calibration.calibration import NodeAnswers
    from models.calibration.class_rows import LabelErrors
    from models.calibration.fit import FittedCalibration
    from models.calibration.pair_needs import PairNeeds
    from models.calibration.shifts import Regions

_SEEN = (
    "The model learned its classes from these very rows, so that its answers to new rows are wrong "
    "more often than promised. Give rows that were not in the fit."
)
MOST_STEPS = 1000
"""Points of the selective curve that are kept."""


class CalibrationOptions(OfTree, CalibrationTerms):
    """How it is calibrated. cut : the subtrees of `per` "subtree". drift : the id of the one whose
    shares new rows have. after : of the calibration that answered the rows.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    cut: dict[str, Any] | None = None
    drift: str | None = None
    after: str | None = None


class _Calibrate(NamedKind[CalibrationOptions]):
    name = "calibrate"
    noun = "calibration"
    prefix = "cal"
    read_by = "tree"
    Options = CalibrationOptions

    def sources(self, find: Find, options: CalibrationOptions) -> list[Source]:
        tree = find.tree("tree", options.tree, model=True)
        if find.taught_by_rows():
            tree = tree.model_copy(update={"warnings": (_SEEN,)})
        sources = [tree]
        if options.drift is not None:
            sources.append(find.drift("drift", options.drift))
        if options.after is not None:
            sources.append(find.calibration("after", options.after))
        return sources

    def seconds(
        self, options: CalibrationOptions, params: Mapping[str, Any], size: Size
    ) -> float | None:
        """Rows are placed, and answers for each kept."""
        return size.placing_s

    def run(self, job: Job, options: CalibrationOptions) -> Outcome:
        job.reading()
        tree, model = fitted_of(job.sources)
        values = new_rows(job.sources, model, but=("tree", "drift", "after"))
        given = {role: values.pop(role, None) for role in ("labels", "costs")}
        data = placing_data(model, values)
        at = None
        if options.drift is not None:
            at = np.asarray(placed(tree, model, values).leaf, dtype=np.int64)
        facts, warnings = _calibrated(
            options,
            tree,
            model.stages[-1],
            data,
            given,
            {source.role: source.file for source in job.sources if source.role in _EARLIER},
            at,
            ids_of(job.sources),
            job.folder,
            job.progress,
        )
        filled = Preparation(model.prepared).filled(values)
        result = {"tree": options.tree, "calibration": facts}
        return Outcome(result=result, warnings=(*filled, *warnings))


KIND = _Calibrate()
_EARLIER = ("drift", "after")


def _calibrated(
    options: CalibrationOptions,
    tree: Tree,
    stage: results.Stage,
    data: Data,
    given: Mapping[str, Value | None],
    earlier: Mapping[str, Path],
    at: Int | None,
    ids: Sequence[str] | None,
    folder: Path,
    progress: Progress,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """(facts of the answer, warnings); a calibration, its groups, its curve and its lists are
    written.

    stage : the step that places rows, data : its inputs. given : `labels` of the rows, and `costs`
    or None. earlier : files of a drift, or of the calibration that answered the rows. at : with a
    drift, the node where each row is placed.

    Raises UsageError as `class_scores`, `label_classes` and `fitted_calibration`.
    """
    from models.calibration.class_rows import class_scores, label_classes, label_errors
    from models.calibration.fit import fitted_calibration, followed_calibration
    from models.calibration.pair_needs import pair_needs

    given_terms = options.model_dump(include=set(CalibrationTerms.model_fields), exclude_unset=True)
    terms = CalibrationTerms.model_validate(given_terms)
    progress(0.0, "scoring classes")
    before = results.load_calibration(earlier["after"]) if "after" in earlier else None
    by_edges = None if before is None else before.by_edges
    scores = class_scores(method(stage.method), stage.model, tree, data, by_edges=by_edges)
    labels = label_classes(label_sets(given["labels"], scores.n_rows, None), tree, scores.node)
    cut = clusters(tree, **(options.cut or {})) if terms.per == "subtree" else None
    if before is not None:
        fitted = followed_calibration(before, tree, scores, labels, progress)
    else:
        fitted = fitted_calibration(
            tree,
            scores,
            labels,
            terms,
            cut=None if cut is None else cut.nodes,
            costs=_costs(given["costs"]),
            regions=_regions(tree, earlier["drift"]) if "drift" in earlier else None,
            placed=at,
            progress=progress,
        )
    progress(0.95, "writing")
    results.save_calibration(fitted.calibration, folder)
    thresholds = _save_groups(fitted, tree, folder)
    _save_curve(fitted, folder)
    n_suspects = _save_suspects(
        label_errors(tree, scores, labels, fitted.calibration.temperature),
        tree,
        scores.node,
        ids,
        folder,
    )
    pairs = pair_needs(tree, scores, labels, fitted.calibration.temperature)
    _save_pairs(pairs, tree, folder)
    warnings = fitted.warnings
    if cut is not None and cut.warning is not None:
        warnings = (cut.warning, *warnings)
    facts = {**_facts(fitted, thresholds), "n_suspects": n_suspects, "n_pairs": len(pairs.node)}
    return facts, warnings


def answered(
    path: Path, stage: results.Stage, tree: Tree, data: Data, alpha: float | None
) -> NodeAnswers:
    """The nodes by which a calibration answers rows.

    path : of the calibration. alpha : None for its own. Raises UsageError as `class_scores` and
    `Calibration.thresholds`.
    """
    from models.calibration.class_rows import class_scores

    calibration = results.load_calibration(path)
    scores = class_scores(
        method(stage.method), stage.model, tree, data, by_edges=calibration.by_edges
    )
    return calibration.answers(tree, scores, calibration.terms.alpha if alpha is None else alpha)


def _regions(tree: Tree, path: Path) -> Regions:
    """What a drift found of mass. Raises UsageError for one of a tree with other nodes."""
    import pyarrow as pa

    from models.calibration.shifts import Regions

    with pa.memory_map(str(path)) as file:
        found = pa.ipc.open_file(file).read_all()
        moved = np.asarray(found["share_moved"].to_pylist(), dtype=np.bool_)
        n_after = np.asarray(found["n_after"].to_pylist(), dtype=np.int64)
    return Regions.of_moves(tree.parent.astype(np.int64), moved, n_after)


def _costs(value: Value | None) -> Array | None:
    """Raises UsageError for costs that are not a dense matrix."""
    return None if value is None else Data({"costs": value}).dense("costs").astype(np.float64)


def _save_groups(fitted: FittedCalibration, tree: Tree, folder: Path) -> Array:
    """Write the groups; returns their thresholds at the calibration's own alpha."""
    import pyarrow as pa

    calibration = fitted.calibration
    terms = calibration.terms
    thresholds = calibration.thresholds(terms.alpha)
    nodes = {"all": np.zeros(1, dtype=np.int64), "class": calibration.node}
    node = nodes.get(terms.per, calibration.cut) if terms.shift is None else calibration.cut
    thresholds = np.broadcast_to(thresholds, node.shape)
    risk = calibration.risk
    n_rows = calibration.n_rows_of_group if risk is None else np.array([risk.n_rows])
    columns = {
        "node": pa.array(node, pa.int64()),
        "name": pa.array(cluster_names(tree, node), pa.string()),
        "n_rows": pa.array(n_rows, pa.int64()),
        "threshold": pa.array(thresholds, pa.float64(), mask=~np.isfinite(thresholds)),
        "promised": pa.array(calibration.promised(terms.alpha)),
    }
    if calibration.has_ranks:
        held = dict(zip(("held", "low", "high"), calibration.held(terms.alpha), strict=True))
        columns |= {name: pa.array(x, pa.float64(), mask=np.isnan(x)) for name, x in held.items()}
    if terms.per == "class":
        shared, size = calibration.groups(terms.alpha).node, fitted.sizes.by_class
        fewest = fewest_rows(terms.alpha)
        columns["shared"] = pa.array(shared, pa.int64(), mask=(shared < 0) | (n_rows >= fewest))
        columns["n_classes"] = pa.array(size, pa.float64(), mask=np.isnan(size))
    save_arrow(pa.table(columns), folder / results.GROUPS)
    return thresholds


def _save_curve(fitted: FittedCalibration, folder: Path) -> None:
    import pyarrow as pa

    curve = fitted.curve.thinned(MOST_STEPS)
    names = ("threshold", "coverage", "error", "depth")
    columns = {name: pa.array(getattr(curve, name), pa.float64()) for name in names}
    save_arrow(pa.table(columns), folder / results.CURVE)


def _save_suspects(
    found: LabelErrors, tree: Tree, node: Int, ids: Sequence[str] | None, folder: Path
) -> int:
    """Write the rows whose labels look wrong; returns how many they are.

    node : of classes. ids : of all rows, where they have any.
    """
    import pyarrow as pa

    nodes = {"label": node[found.label], "likely": node[found.likely], "meet": found.meet}
    columns = {
        "row": pa.array(found.row, pa.int64()),
        **({} if ids is None else {"id": pa.array([ids[row] for row in found.row.tolist()])}),
        **_named(tree, nodes),
        "of_label": pa.array(found.of_label, pa.float64()),
        "of_likely": pa.array(found.of_likely, pa.float64()),
        "n_classes": pa.array(found.n_classes, pa.int64()),
    }
    save_arrow(pa.table(columns), folder / results.SUSPECTS)
    return int(found.row.shape[0])


def _save_pairs(found: PairNeeds, tree: Tree, folder: Path) -> None:
    """Write the pairs that more rows would tell apart better."""
    import pyarrow as pa

    kinds = np.where(found.classes, "classes", "subtrees")
    columns = {
        "of": pa.array(kinds.tolist(), pa.string()),
        **_named(tree, {"node": found.node, "other": found.other, "meet": found.meet}),
    }
    for name in ("n_rows", "n_confused"):
        columns[name] = pa.array(getattr(found, name), pa.int64())
    for name in ("rate", "low", "high", "expected", "learned", "gain", "sure"):
        value = getattr(found, name)
        columns[name] = pa.array(value, pa.float64(), mask=np.isnan(value))
    save_arrow(pa.table(columns), folder / results.PAIRS)


def _named(tree: Tree, nodes: Mapping[str, Int]) -> dict[str, pa.Array]:
    """Columns of nodes, each with one of their names."""
    import pyarrow as pa

    columns = {}
    for name, at in nodes.items():
        reached, code = np.unique(at, return_inverse=True)
        names = np.array([*cluster_names(tree, reached), None], dtype=object)[:-1]
        columns[name] = pa.array(at, pa.int64())
        columns[f"{name}_name"] = pa.array(names[code].tolist(), pa.string())
    return columns


def _facts(fitted: FittedCalibration, thresholds: Array) -> dict[str, Any]:
    calibration, curve, temperature = fitted.calibration, fitted.curve, fitted.temperature
    terms = calibration.terms
    only = thresholds[0] if terms.per == "all" else np.nan
    return {
        **terms.model_dump(include={"loss", "per", "answer", "alpha", "seed"}),
        "score": terms.score if terms.answer == "set" else None,
        "promise": calibration.promise(terms.alpha),
        "sizes": {
            name: getattr(fitted.sizes, name)
            for name in ("n_classes", "low", "high", "n_nodes", "abstained")
        },
        "n_rows": fitted.n_rows,
        "n_temperature": fitted.n_temperature,
        "n_unlabelled": fitted.n_unlabelled,
        "n_groups": calibration.n_groups,
        "n_promised": int(calibration.promised(terms.alpha).sum()),
        "threshold": float(only) if np.isfinite(only) else None,
        "temperature": calibration.temperature,
        "likelihood": None
        if temperature is None
        else {"before": -temperature.before, "after": -temperature.after},
        "area": curve.area,
        "error": float(curve.error[0]),
        "following": None
        if calibration.following is None
        else {
            "n_rows": calibration.following.n_rows,
            "n_missed": calibration.following.n_missed,
            "level": calibration.following.level,
            "surplus": calibration.following.surplus,
        },
    }
