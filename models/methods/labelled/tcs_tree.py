"""A partly labelled tree is completed: rows join known leaves, or form new ones and whole subtrees.

Each node with two or more known children has a metric A_v that tells them apart: a row below child
k, whose rows have the mean m_k, has the probability softmax_k(-(x - m_k)' A_v (x - m_k) / 2). All
metrics are learned at once; they minimise minus the log likelihood of the labelled rows, summed
over nodes, plus `gamma` times the squared distance of the topmost metric from the identity (or from
0) and `gamma` times `tie` times the sum of |A_v - A_parent|^2. This is convex: the minimum is found
whatever the start, up to a stated bound. A node with fewer than two known children has its parent's
metric, and so has a new node: what is learned anywhere serves where nothing is labelled.

In the root's space, a row that has few labelled ones among those nearest to it, compared with
labelled rows (`novelty`), is of no known leaf: a fair share of the known leaves' rows must be
labelled. Such rows are clustered by Ward's criterion. Nested clusters as large and as wide as known
nodes of some level become subtrees, from the top down, and others leaves, at the known leaves' mean
size. Then all rows without a label go to the nearest mean of a known or a new leaf, and means
follow (k-means with labelled rows fixed); a new leaf whose rows are not new on average is dropped.
New nodes are kept if they hold more rows than in five draws by chance, among labelled rows alone.
With `new_classes`, each label that is no node of the hierarchy is a new leaf as well.

A new node hangs under the inner node to which a multinomial logit gives the highest probability:
it is learned from known nodes hidden at random, by the nearness of means (with `documents`, also of
words and of names) and by levels. A known leaf stays a leaf. New nodes are called 'new 1', 'new 2',
..., those below them 'new 1.1', .... All other rows join known leaves from the root down, each
node's in its own space. Columns of the nodes: `place_probability`; `places`, the likeliest ones;
`row`, a row that stands for the node; and at up to five nodes `question`, with what its answers add
to `answers` of the next fit, best first by the expected number of nodes more in the right place.

By default ('auto') the metrics are chosen by validation: some known leaves are held out, the tree
is completed without them, and the candidate under which most of them are found below the right
parent is taken if it beats doing nothing by more than the standard error of the difference.

Labels are names of nodes of `hierarchy`, or class paths such as 'animal/dog'; the tree is that of
the paths where no hierarchy is given. Rows with an inner node's label stop there, in a leaf of its
name. There is no single transformation, and so none to download.

Source: Gopal, "Large-scale Structured Learning" (2014), §7.3.1, where this is future work: the ties
are of the kind proposed there, the discovery is this project's, but for the k-means, of Vaze et
al., "Generalized Category Discovery" (2022); places from hidden nodes: Shen et al., "TaxoExpan"
(2020). Cost: a step of learning takes the labelled rows of all nodes times their children, and
O(D^3) for each node, tens to hundreds of times; then the distances of all rows from each other,
O(N^2 D), five times of labelled ones, and Ward's tree of new ones; passes of k-means over the rows
and leaves; places take new nodes times all nodes times columns; 'auto' does all this for five
candidates on three splits of at most 2,000 rows. Memory: the labelled rows once for each level, 16
bytes for each row and leaf.

Measured: CPU time as N^1.4 D^0.2 K^2.1, from 1,000 x 8 and 8 classes to four times each, iterations
bounded (`python -m bench costs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from models.arrays import Array, Float, Int
from models.errors import UsageError
from models.inputs.checks import require_columns, require_rows, require_squares, require_width
from models.inputs.data import Data, require_finite
from models.method import (
    Checkpoint,
    Fitted,
    Input,
    Method,
    Model,
    Paper,
    Predictions,
    Run,
    Shapes,
)
from models.methods.labelled.hierarchy.answers import FORMS
from models.methods.labelled.hierarchy.completion import (
    NOTHING,
    CompletedTree,
    Given,
    complete,
    place_rows,
    stored,
)
from models.methods.labelled.hierarchy.hanging import texts_of
from models.methods.labelled.hierarchy.known_tree import KnownTree, read_known_tree
from models.methods.labelled.hierarchy.questions import beside_nodes
from models.methods.labelled.hierarchy.tied_metrics import Anchor, TiedMetrics, fit_metrics
from models.methods.labelled.hierarchy.validation import (
    FEWEST_LEAVES,
    Completer,
    candidates_for_hold_out,
    scores,
)
from models.methods.labelled.supervision.inputs import CUT_TO, INPUTS, WIDE
from models.methods.labelled.supervision.transformation import (
    Transformation,
    factor,
    n_kept,
    prepare,
)
from models.methods.labelled.supervision.validation import chosen
from models.parameters import MaxIter, Params, Seed
from models.running.progress import Progress, subprogress
from models.tree.build import from_parents, levels_below
from models.tree.tree import Tree

GAMMAS: Mapping[Anchor, tuple[float, ...]] = {"identity": (1e-1, 1e-2), "l2": (1e-1, 1e-3)}
"""What 'auto' tries, in shares of the number of labelled rows."""

CAUTIOUS = ("identity", 1e-1)
ROUGHLY = (1e-3, 300)
"""Tolerance and most steps in validation."""

LEVELS = 8
"""Levels of the tree that memory is estimated for."""

LEAVES = 80
"""Leaves, likewise."""


class TCSTreeParams(Params):
    regularizer: Literal["auto", "identity", "l2"] = Field(
        "auto",
        description="Whether the topmost metric is held near the identity or near 0 ('l2'), which "
        "ends directions that tell no children apart. 'auto': by validation.",
    )
    gamma: Annotated[float, Field(gt=0, le=1e12)] | Literal["auto"] = Field(
        "auto",
        description="Weight of what holds the metrics against the rows' log-likelihood. "
        "'auto': by validation.",
    )
    tie: float = Field(
        10.0,
        gt=0,
        le=1e9,
        description="How much more than 'gamma' holds a metric near its parent's.",
    )
    novelty: float = Field(
        0.6,
        ge=0,
        le=1,
        description="A row may be new where the share of labelled rows near it is below this part "
        "of that near labelled rows. Larger: more.",
    )
    min_size: int = Field(5, ge=1, le=1_000_000, description="Fewest rows of a new node.")
    max_depth: int | None = Field(
        None,
        ge=1,
        le=100_000,
        description="Most edges from the root to a new node; null: no bound.",
    )
    n_components: Annotated[int, Field(ge=1, le=10_000)] | Literal["auto"] | None = Field(
        "auto",
        description="Number of columns that rows are cut to by SVD before all else. "
        f"'auto': {CUT_TO} where there are more than {WIDE}; null: never.",
    )
    new_classes: bool = Field(
        False,
        description="Place labels outside 'hierarchy' as new classes.",
    )
    answers: list[Annotated[str, Field(max_length=10_000)]] = Field(
        [],
        max_length=1000,
        description=f"Answers to an earlier fit's questions: {FORMS}.",
    )
    tol: float = Field(
        1e-4,
        gt=0,
        le=1,
        description="Learning ends when the objective can fall by this share at most.",
    )
    max_iter: MaxIter = 2000
    seed: Seed = 0


@dataclass(frozen=True, slots=True)
class Setting:
    """anchor : None where nothing is learned. gamma : in shares of the number of labelled rows."""

    anchor: Anchor | None
    gamma: float

    @property
    def name(self) -> str:
        return f"{self.anchor}, gamma {self.gamma:g} per row" if self.anchor else "nothing"


@dataclass(frozen=True, slots=True)
class Spaces:
    """factors : (r, p) L of each metric. of_node : (n_nodes,) the place of each node's.

    fit : None where nothing is learned.
    """

    factors: list[Float]
    of_node: Int
    fit: TiedMetrics | None = None

    @property
    def has_no_metric(self) -> bool:
        """Some metric is 0: all rows fall together."""
        return not all(some.shape[0] for some in self.factors)


class TCSTree(Method[TCSTreeParams]):
    """See the module's docstring."""

    title = "A partly labelled tree, completed"
    paper = Paper("Large-scale Structured Learning", 2014, "section 7.3.1")
    Params = TCSTreeParams
    inputs = {
        "features": INPUTS["features"],
        "labels": Input(
            fit_only=True,
            one_per="row",
            description="The node of each row, by name or as a path of names; null or -1 where it "
            "is not known. Rows with the label of an inner node stop there.",
        ),
        "hierarchy": Input(
            required=False,
            fit_only=True,
            description="The known tree, or class paths. Without it the labels' paths make the "
            "tree, or one root over labels without a path.",
        ),
        "names": INPUTS["names"],
        "documents": Input(
            required=False,
            fit_only=True,
            one_per="row",
            description="A text for each row: clusters are also compared by words.",
        ),
    }
    outputs = ("tree", "model")
    placing = "the leaf reached by following, at each node, the child of the likeliest component"
    advice = "Use a sample of the rows, or cut them to fewer columns ('n_components')."
    resumes = True
    example = {"regularizer": "identity", "gamma": 1.0}

    def _memory(self, shapes: Shapes, params: TCSTreeParams) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
        n_rows, n_columns = shapes["features"]
        kept = n_kept(shapes["features"], params.n_components)
        per_row = 8 * (3 + LEVELS) * kept + 16 * LEAVES + 1000 * ("documents" in shapes)
        return n_rows * per_row + 48 * n_columns * kept + 800 * kept**2

    def _check(self, data: Data, params: TCSTreeParams) -> None:
        features = data.matrix("features")
        require_columns(features)
        require_rows(features, 2)
        require_finite(features, "features")
        require_squares(features)
        if params.new_classes and "hierarchy" not in data:
            raise UsageError(
                "'new_classes' needs the input 'hierarchy': without it all labels are known.",
                code="wrong-parameter",
                parameter="new_classes",
            )
        read_known_tree(data, features.shape[0], place_new=params.new_classes)

    def _fit(self, data: Data, params: TCSTreeParams, run: Run) -> Fitted:
        features = data.matrix("features")
        tree, classes, warnings = read_known_tree(
            data, features.shape[0], place_new=params.new_classes
        )
        run.progress(0.02, "preparing")
        preparation, points, notes = prepare(features, params.n_components, params.seed)
        settings = _settings(tree, params)
        setting = settings[0]
        chosen_notes: tuple[str, ...] = ()
        metrics: dict[str, float] = {}
        if len(settings) > 1:
            within = subprogress(run.progress, 0.03, 0.6)
            setting, chosen_notes, metrics = _chosen(tree, points, settings, params, run, within)
        within = subprogress(run.progress, 0.6, 0.75)
        effort = (params.tol, params.max_iter)
        spaces = _spaces(tree, points, setting, params.tie, effort, within, run.checkpoint)
        if spaces.has_no_metric:
            raise UsageError(
                "A learned metric is 0, so that all rows fall together; use a smaller 'gamma'.",
                code="wrong-parameter",
                parameter="gamma",
            )
        within = subprogress(run.progress, 0.75, 0.98)
        texts = texts_of(data.names("documents") or []) if "documents" in data else None
        given = Given(classes, texts, params.answers, with_chance=True)
        done = _completed(tree, points, spaces, params, within, given)
        columns, open_places = beside_nodes(done)
        parent = np.array(done.parent, dtype=np.int64)
        fit = spaces.fit
        whole = Transformation.of(preparation, np.eye(points.shape[1]))
        learned: dict[str, float] = {}
        if fit is not None:
            learned = {
                "objective": fit.objectives[-1],
                "bound": fit.bound,
                "n_iter": float(len(fit.objectives) - 1),
                "gamma": setting.gamma * _n_labelled(tree),
            }
        return Fitted(
            tree=from_parents(
                parent, levels_below(parent.astype(np.int32)), done.name, done.leaf, extra=columns
            ),
            model=Model({**whole.arrays, **stored(done, spaces.factors)}),
            metrics={
                "n_metrics": float(len(spaces.factors)),
                "n_new_nodes": float(sum(known < 0 for known in done.known)),
                "n_new_by_chance": done.by_chance,
                **metrics,
                **learned,
            },
            curves={"objective": list(enumerate(fit.objectives))} if fit is not None else {},
            warnings=(
                *notes,
                *warnings,
                *chosen_notes,
                *(fit.warnings if fit is not None else ()),
                *_of_completion(done),
                *open_places,
            ),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        features = data.matrix("features")
        arrays: Mapping[str, Any] = model.arrays
        require_width(features, arrays["projection"].shape[0])
        require_finite(features, "features")
        return place_rows(arrays, tree, Transformation.of_arrays(arrays).apply(features))


def _n_labelled(tree: KnownTree) -> int:
    return int((tree.row_node > 0).sum())


def _settings(tree: KnownTree, params: TCSTreeParams) -> list[Setting]:
    """What is compared; one setting where nothing is to be chosen."""
    anchors: list[Anchor] = (
        ["identity", "l2"] if params.regularizer == "auto" else [params.regularizer]
    )
    some = [
        Setting(anchor, gamma)
        for anchor in anchors
        for gamma in (
            GAMMAS[anchor] if params.gamma == "auto" else (params.gamma / _n_labelled(tree),)
        )
    ]
    return some if len(some) == 1 else [Setting(None, 0.0), *some]


def _chosen(
    tree: KnownTree,
    points: Array,
    settings: list[Setting],
    params: TCSTreeParams,
    run: Run,
    progress: Progress,
) -> tuple[Setting, tuple[str, ...], dict[str, float]]:
    """The setting to learn by, what to say of it, and its score."""
    if candidates_for_hold_out(tree).size < FEWEST_LEAVES:
        names = [(some.anchor, some.gamma) for some in settings]
        cautious = settings[names.index(CAUTIOUS) if CAUTIOUS in names else 1]
        message = (
            f"Fewer than {FEWEST_LEAVES} known leaves can be held out to validate on, so the "
            f"metrics were learned with {cautious.name}."
        )
        return cautious, (message,), {}

    def completer(setting: Setting) -> Completer:
        def completed(known: KnownTree, rows: Array, within: Progress) -> CompletedTree | None:
            spaces = _spaces(known, rows, setting, params.tie, ROUGHLY, within, Checkpoint())
            if spaces.has_no_metric:
                return None
            return _completed(known, rows, spaces, params, within)

        return completed

    table = scores(tree, points, [completer(some) for some in settings], run.rng, progress)
    best, means = chosen(table), table.mean(axis=1)
    message = (
        f"Chosen by validation on known leaves: {settings[best].name} (mean F1 of leaves held out "
        f"{means[best]:.3f}, {means[0]:.3f} without metrics)."
    )
    return settings[best], (message,), {"validation_f1": float(means[best])}


def _spaces(
    tree: KnownTree,
    points: Array,
    setting: Setting,
    tie: float,
    effort: tuple[float, int],
    progress: Progress,
    checkpoint: Checkpoint,
) -> Spaces:
    if setting.anchor is None:
        return Spaces([np.eye(points.shape[1])], np.zeros(tree.n_nodes, dtype=np.int64))
    tol, max_iter = effort
    fit = fit_metrics(
        tree,
        points,
        setting.anchor,
        setting.gamma * _n_labelled(tree),
        tie,
        tol=tol,
        max_iter=max_iter,
        progress=progress,
        checkpoint=checkpoint,
    )
    return Spaces([factor(metric) for metric in fit.metrics], fit.of_node, fit)


def _completed(
    tree: KnownTree,
    points: Array,
    spaces: Spaces,
    params: TCSTreeParams,
    progress: Progress,
    given: Given = NOTHING,
) -> CompletedTree:
    return complete(
        tree,
        points,
        spaces.factors,
        spaces.of_node,
        params.novelty,
        params.min_size,
        params.max_depth,
        progress,
        np.random.default_rng(params.seed),
        given,
    )


def _of_completion(done: CompletedTree) -> tuple[str, ...]:
    """Where nothing was found, or no more than by chance."""
    n_new = sum(known < 0 for known in done.known)
    if done.n_as_chance:
        return (
            f"{done.n_as_chance} new node(s) were dropped: where there are none, among labelled "
            f"rows, about {done.by_chance:.0f} new leaves are found by chance.",
        )
    if not n_new:
        return ("No new node was found; a higher 'novelty' gives more.",)
    if done.by_chance >= 1.0:
        return (
            f"About {done.by_chance:.0f} of the {n_new} new nodes may be none: as many are found "
            "by chance where there are none, among labelled rows.",
        )
    return ()
