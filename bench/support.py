"""Support of nodes: of clusters that were planted beside others, and when replicates are enough.

`planted`: average linkage of points in 4 far groups of 5 near ones, of 8 points each; the mean
support of the nodes that hold exactly such a group (`n_planted` of 24), and of the others. For
languages, `l2h` of 3,000 rows, only all nodes are known (`others`). `stopped`: the replicates made
with `stop`; `apart`, `farthest`: the mean and the largest difference of the support from that of
all `N_REPLICATES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench import Size, real_data
from bench.report import Report
from models.arrays import Float, Mask
from models.consensus.rules import random_keys, set_hashes
from models.inputs.data import Value
from models.method import Alone, Crew
from models.running.progress import Progress, silent
from models.tree.tree import Tree
from workers.work.plan import Plan, run_plan
from workers.work.support import Replicates, Support

_REPLICATES: dict[Size, int] = {"quick": 100, "default": 1000, "full": 1000}
KINDS: tuple[dict[str, Any], ...] = (
    {"resample": "rows"},
    {"resample": "rows", "measure": "transfer"},
    {"resample": "columns"},
    {"resample": "subsamples"},
    {"resample": "noise"},
)


def table(report: Report, size: Size) -> None:
    points, groups = planted()
    average = Plan("hac", {"linkage": "average"})
    _measure(report, "planted", average, {"features": points}, groups, _REPLICATES[size])
    logits = real_data("lang_py3langid_udhr_logits.npy")
    if logits is None:
        report.left_out("support", "languages")
        return
    rows = np.random.default_rng(0).permutation(13_000)[:3000]
    values = {"logits": np.load(logits)[np.sort(rows)].astype(np.float32)}
    _measure(report, "languages", Plan("l2h", {}), values, None, _REPLICATES[size] // 2)


def planted() -> tuple[Float, list[Mask]]:
    """160 points in 16 dimensions, and the groups as masks of rows."""
    rng = np.random.default_rng(0)
    far, near = np.repeat(np.arange(4), 40), np.repeat(np.arange(20), 8)
    points = 6.0 * rng.normal(size=(4, 16))[far] + 1.6 * rng.normal(size=(20, 16))[near]
    points += rng.normal(size=points.shape)
    groups = [far == each for each in range(4)] + [near == each for each in range(20)]
    return points, groups


def _measure(
    report: Report,
    data: str,
    plan: Plan,
    values: Mapping[str, Value],
    groups: list[Mask] | None,
    n_replicates: int,
) -> None:
    tree = run_plan(plan, dict(values), silent, 1).fitted.tree
    for kind in KINDS:
        if kind["resample"] == "columns" and "features" not in values:
            continue
        whole, _ = support_of(tree, plan, values, replicates=n_replicates, **kind)
        early, stopped = support_of(tree, plan, values, replicates=n_replicates, stop=True, **kind)
        known = np.isfinite(whole)
        is_planted = known & holding(tree, groups or [])
        difference = np.abs(early - whole)[known]
        report.row(
            "support",
            data=data,
            what=kind["resample"],
            measure=kind.get("measure", "share"),
            planted=float(whole[is_planted].mean()) if is_planted.any() else None,
            n_planted=int(is_planted.sum()),
            others=float(whole[known & ~is_planted].mean()),
            stopped=stopped,
            apart=float(difference.mean()),
            farthest=float(difference.max()),
        )


def holding(tree: Tree, groups: list[Mask]) -> Mask:
    """(n_nodes,) whether a node holds exactly the rows of a group."""
    keys, present = random_keys(tree.n_points), np.ones(tree.n_points, dtype=np.bool_)
    own, _ = set_hashes(tree, keys, present)
    wanted = [set_hashes(tree, np.where(group, keys, 0), group)[0][0] for group in groups]
    return np.isin(own, np.array(wanted, dtype=own.dtype))


def support_of(
    tree: Tree, plan: Plan, values: Mapping[str, Value], **options: Any
) -> tuple[Float, int]:
    """The support of each node, and how many replicates it is from."""
    replicates = Replicates(Support(**options), plan, values, 1)

    def crew_of(progress: Progress) -> Crew:
        return Alone(replicates.compute, progress=progress)

    supported, facts, _ = replicates.supported(tree, crew_of, silent)
    return np.asarray(supported.extra["support"], dtype=np.float64), int(facts["replicates"])
