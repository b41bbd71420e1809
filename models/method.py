"""The contract of a method: one class that the catalogue, the API, the worker and the docs all
read.

A method is one file under `models/methods/<family>/`: a docstring, a `Params` class and one
subclass of `Method`. Public methods here are final and validate; the hooks start with `_`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, final, get_args

import numpy as np

from models.answers.beside_tree import ClassScores, ClusterPaths, FeatureStretches, NodePictures
from models.answers.confusions import Confusions
from models.answers.learned_steps import LearnedStep
from models.arrays import Array, Arrays, Float, Int, Mask
from models.errors import UsageError
from models.inputs.data import Data, doubled, require_two_axes
from models.inputs.frames import with_room
from models.inputs.oddities import most_of, note_new_rows
from models.parameters import Choice, Params
from models.running import budget, packages
from models.running.budget import Cost
from models.running.progress import Alone, Crew, Piece, Progress, never_back, silent
from models.tree.noise import crumbs_of
from models.tree.tree import Tree

P = TypeVar("P", bound=Params)


Shapes: TypeAlias = Mapping[str, tuple[int, ...]]


class Checkpoint:
    """Where a long fit saves its state, from which the next attempt goes on; here nowhere."""

    def load(self) -> Arrays | None:
        """The state that an earlier attempt saved last; None where there is none."""
        return None

    def save(self, state: Arrays) -> None:
        """Save `state` in place of the previous one, at intervals; calling it often is cheap."""


@dataclass(frozen=True, slots=True)
class Run:
    """The resources of a fit.

    rng : the only source of randomness, seeded by the parameter `seed`.
    progress : to be called regularly.
    threads : number of threads that it may use.
    crew : computes pieces by `Method.piece`.
    checkpoint : saves the state of a long fit.
    """

    rng: np.random.Generator
    progress: Progress
    threads: int
    crew: Crew
    checkpoint: Checkpoint = field(default_factory=Checkpoint)


@dataclass(frozen=True, slots=True)
class Paper:
    """Where a method comes from."""

    title: str
    year: int
    where: str = ""


@dataclass(frozen=True, slots=True)
class Input:
    """One input role of a method.

    sparse : whether a `scipy.sparse.csr_array` is accepted as well.
    by_rows : whether it is read through `Data.rows`, so that a file may be larger than memory or
        stay in the object store.
    many : whether there may be several; the method reads them through `Data.spaces`.
    fit_only : whether predictions need none, though a fit may.
    images : whether an array of images, (n, height, width) or (n, height, width, channels), is
        accepted as well; the method reads it by `models.inputs.data`.
    one_per : what has one value each, "value" each value of the main matrix; another number or
        shape is refused as soon as the shapes are known.
    """

    required: bool = True
    sparse: bool = False
    by_rows: bool = False
    many: bool = False
    fit_only: bool = False
    images: bool = False
    one_per: Literal["row", "column", "value"] | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """Something fitted that predicts: named arrays (saved as safetensors) and plain JSON facts."""

    arrays: Mapping[str, Array] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fitted:
    """The result of `fit`.

    tree : valid by `Tree.validate`.
    model : present where the method predicts.
    logits : (n_points, n_clusters) soft assignment in log space, where there is one, for `then`.
    features : (n_points, n_components) the rows transformed, where that is learned, for `then`.
    metrics : what the method measured itself (inertia, number of iterations, ...).
    curves : by criterion (number of clusters, value) as a choice compared; or objectives by step.
    point_columns : columns of points, (n_points,) float64 each, such as outlier scores.
    state : what a later job needs to grow from this one, where that was requested.
    warnings : what was changed, approximated or unusual, one sentence each.
    chosen : by parameter that was 'auto' what was taken.
    steps : earlier trees of the same points, the first one first, where these were requested.
    """

    tree: Tree
    model: Model | None = None
    logits: Array | None = None
    features: Array | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    point_columns: Arrays = field(default_factory=dict)
    state: Arrays | None = None
    warnings: tuple[str, ...] = ()
    chosen: Mapping[str, Choice] = field(default_factory=dict)
    steps: tuple[LearnedStep, ...] = ()


@dataclass(frozen=True, slots=True)
class PredictionOptions:
    """What predictions of a classifier tell of each row.

    top_k : number of best classes, with scores and probabilities.
    threshold : a row's labels are the classes of at least this probability; None: the best class,
        or the rule that the model learned where rows have several labels.
    confidence : a row's path ends at the deepest node as probable; None: at the best class's leaf.
    every : whether the probability of every class is given, which takes n_rows x n_classes values.
    """

    top_k: int = 0
    threshold: float | None = None
    confidence: float | None = None
    every: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ClassAnswers:
    """The classes that a classifier gives to rows.

    name : (n_classes,) label of each class. node : (n_classes,) its leaf in the tree.
    start, code : the labels of row i are the classes `code[start[i]:start[i + 1]]`, the most
        probable first.
    top, score, probability : (n_rows, top_k) the best classes, the best first.
    one_each : whether a row has exactly one class, so that its probabilities sum to 1.
    every : (n_rows, n_classes) the probability of each class, if requested.
    """

    name: list[str]
    node: Int
    start: Int
    code: Int
    top: Int
    score: Float
    probability: Float
    one_each: bool = True
    every: Float | None = None


@dataclass(frozen=True, slots=True)
class Predictions:
    """New rows placed in a tree.

    leaf : (n_rows,) node id of each row's leaf.
    start : (n_rows + 1,) row i's path is `node[start[i]:start[i + 1]]`, root first, leaf last; a
        classifier's path may end above, where a confidence is requested.
    node, probability : (start[-1],) the path's nodes and their probabilities; the root's is 1.
    columns : further columns of rows, (n_rows,) each. `value`, a number, integer or `str` object,
        is the predicted target of a row.
    classes : what a classifier adds.
    noise : (n_rows,) whether each row is in no cluster, of methods that know noise; its leaf, if
        the tree has none of noise, is only near to it.
    warnings : what was approximated or unusual, one sentence each.
    """

    leaf: Int
    start: Int
    node: Int
    probability: Float
    columns: Arrays = field(default_factory=dict)
    classes: ClassAnswers | None = None
    noise: Mask | None = None
    warnings: tuple[str, ...] = ()


class Method(ABC, Generic[P]):
    """One method of the service.

    Class attributes
    ----------------
    id, family : the names in the API. The module `models.methods.<family>.<method>` gives them,
        with dashes in the id for underscores; a class in any other module sets them itself.
    title, paper : for the catalogue.
    Params : the parameters, a subclass of `Params`. A field named `seed` seeds the generator.
    inputs : the roles it takes.
    one_of : roles of which exactly one must be present; empty where there is no such choice.
    some_of : roles of which a fit needs at least one; all of them are `fit_only`.
    outputs : what its job produces: "tree", "model", "logits", "transformation", "pictures" of
        nodes of images, "confusions" of classes, "ball" where points lie in the Poincaré ball.
    queue : "cpu" or "gpu"; `queue_for` gives that of a job's parameters.
    needs : optional packages (`models.running.packages`) of a fit. needs_of_values : those that
        single values of parameters need besides, by parameter and value; `device` "cuda" has its
        own.
    advice : what to use instead, for the message that refuses data that are too large.
    cost : how long a fit is expected to take; None: that is not known, so it may be long.
    resumes : whether it uses `Run.checkpoint`.
    takes_gaps : whether its distances leave out empty 'features' (`Data.pairwise`).
    distances : whether distances between rows of 'features' count.
    placing : where a new row goes, to be read after "a row goes to".
    classifies : whether its predictions give labels, and take `PredictionOptions`.
    example : params with which the contract tests' small data takes well under a second.
    """

    id: ClassVar[str]
    family: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[Paper]
    Params: ClassVar[type[Params]]
    inputs: ClassVar[Mapping[str, Input]]
    one_of: ClassVar[tuple[str, ...]] = ()
    some_of: ClassVar[tuple[str, ...]] = ()
    outputs: ClassVar[tuple[str, ...]] = ("tree",)
    queue: ClassVar[Literal["cpu", "gpu"]] = "cpu"
    needs: ClassVar[tuple[str, ...]] = ()
    needs_of_values: ClassVar[Mapping[str, Mapping[str, tuple[str, ...]]]] = {}
    advice: ClassVar[str] = ""
    cost: ClassVar[Cost | None] = None
    resumes: ClassVar[bool] = False
    takes_gaps: ClassVar[bool] = False
    distances: ClassVar[bool] = True
    placing: ClassVar[str] = ""
    classifies: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        match cls.__module__.split("."):
            case ["models", "methods", family, module]:
                names = {"id": module.replace("_", "-"), "family": family}
                for attribute in names.keys() - vars(cls).keys():
                    setattr(cls, attribute, names[attribute])

    @property
    def devices(self) -> tuple[str, ...]:
        """Where a fit may compute: "cpu", and "cuda" if its params have `device`."""
        field = self.Params.model_fields.get("device")
        return ("cpu",) if field is None else tuple(get_args(field.annotation))

    @property
    def predicts(self) -> bool:
        return "model" in self.outputs

    @property
    def transforms(self) -> bool:
        return "transformation" in self.outputs

    @property
    def draws_nodes(self) -> bool:
        return "pictures" in self.outputs

    @property
    def confuses(self) -> bool:
        return "confusions" in self.outputs

    @property
    def names_labels(self) -> bool:
        """Whether the input `names` says what labels are called, not clusters."""
        return {"names", "labels"} <= self.inputs.keys()

    def queue_for(self, params: Mapping[str, Any]) -> Literal["cpu", "gpu"]:
        """The queue of a job with these parameters."""
        return "gpu" if params.get("device") == "cuda" else self.queue

    def values_with_needs(self) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """The parameter, the value and the optional packages of each value that needs some."""
        on_gpu = {"device": {"cuda": ("torch",)}} if "cuda" in self.devices else {}
        for parameter, values in {**on_gpu, **self.needs_of_values}.items():
            for value, needed in values.items():
                yield parameter, value, needed

    def require_packages(self, params: Mapping[str, Any]) -> None:
        """Raises UsageError `method-unavailable` where a package that a fit with these parameters
        needs is not installed; `where` has the parameter, or "method"."""
        packages.require(f"Method {self.id!r}", self.needs, parameter="method")
        for parameter, value, needed in self.values_with_needs():
            if params.get(parameter) == value:
                packages.require(f"{value!r} for {parameter!r}", needed, parameter=parameter)

    def opens_sockets(self, params: Mapping[str, Any]) -> bool:
        """Whether a fit with these parameters has processes that meet on the loopback interface;
        to any other fit the worker's kernel refuses all sockets."""
        return False

    @final
    def fit(
        self,
        data: Data,
        params: P,
        progress: Progress = silent,
        *,
        threads: int = 1,
        crew: Crew | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Fitted:
        """Check the inputs, run the method, check the tree, warn of odd rows, names and clusters.

        threads : that it may use. crew : computes its pieces; None for this process alone.
        checkpoint : saves the state of a long fit; None: nothing is saved.

        Raises UsageError for what cannot be used, and Cancelled where `progress` does. The same
        data, params and seed give the same result, whatever the crew and the number of threads,
        except for the last digits of sums over points.
        """
        self._check_inputs(data)
        progress, within = never_back(progress)
        progress(0.0, "checking")
        data = self._with_room(data)
        self.check_size(data.shapes(), params, budget.available())
        with packages.refusing(f"Method {self.id!r}", parameter="method"):
            self._check(data, params)
        if crew is None:

            def compute(piece: Piece, within: Progress) -> Arrays:
                return self.piece(data, params, piece, within, threads=threads)

            crew = Alone(compute, progress=within)
        rng = np.random.default_rng(getattr(params, "seed", 0))
        run = Run(rng, progress, threads, crew, checkpoint or Checkpoint())
        with packages.refusing(f"Method {self.id!r}", parameter="method"):
            fitted = self._fit(data, params, run)
        tree = fitted.tree.validate()
        progress(1.0, "done")
        names = doubled(tree.name[tree.leaves].tolist())
        crumbs = () if self.classifies else crumbs_of(tree)
        kept, far = ({}, ()) if self.classifies else most_of(data)
        model = fitted.model and Model({**fitted.model.arrays, **kept}, fitted.model.facts)
        return replace(fitted, model=model, warnings=(*fitted.warnings, *far, *names, *crumbs))

    @final
    def piece(
        self,
        data: Data,
        params: P,
        piece: Piece,
        progress: Progress = silent,
        *,
        threads: int = 1,
    ) -> Arrays:
        """Compute one piece of a fit on the same data and params, possibly on another machine."""
        return self._piece(self._with_room(data), params, piece, progress, threads)

    @final
    def predict(
        self, model: Model, tree: Tree, data: Data, options: PredictionOptions | None = None
    ) -> Predictions:
        """Place new rows in the tree that `fit` gave with `model`.

        Raises UsageError for options where the method is no classifier, and for a missing package.
        """
        if not self.predicts:
            raise UsageError(f"Method {self.id!r} does not predict.", code="cannot-predict")
        self._check_inputs(data, predicting=True)
        if self.classifies:
            return self._classify(model, tree, data, options or PredictionOptions())
        if options is not None and options != PredictionOptions():
            raise UsageError(
                f"Method {self.id!r} gives no labels, so its predictions take none of 'top_k', "
                "'threshold' and 'confidence'.",
                code="cannot-predict",
            )
        with packages.refusing(f"Method {self.id!r}", parameter="method"):
            placed = self._predict(model, tree, self._with_room(data))
        note_new_rows(model.arrays, data)
        return placed

    @final
    def logits(self, model: Model, data: Data) -> Array:
        """(n_rows, n_clusters) soft assignment of new rows in log space, for `then`."""
        if "logits" not in self.outputs:
            raise UsageError(f"Method {self.id!r} gives no logits.", code="cannot-predict")
        self._check_inputs(data, predicting=True)
        logits = self._logits(model, self._with_room(data))
        note_new_rows(model.arrays, data)
        return logits

    @final
    def transform(self, model: Model, data: Data) -> Array:
        """(n_rows, n_components) new rows transformed; float32 where they are, else float64.

        Raises UsageError where the method learns no transformation, and for a row that overflows.
        """
        if not self.transforms:
            raise UsageError(
                f"Method {self.id!r} learns no transformation of rows.", code="cannot-transform"
            )
        self._check_inputs(data, predicting=True)
        transformed = self._transform(model, data)
        far = np.flatnonzero(~np.isfinite(transformed).all(axis=1))
        if far.size:
            raise UsageError(
                f"Row {far[0]} (counted from 0) has values so large that the transformation "
                f"exceeds the range of {transformed.dtype}.",
                code="unusable-input",
                row=int(far[0]),
            )
        note_new_rows(model.arrays, data)
        return transformed

    @final
    def check_size(self, shapes: Shapes, params: P, room: int) -> None:
        """Refuse jobs that would not fit in memory, before any data are read.

        shapes : of the inputs that are known so far, by role. room : bytes that may still be used.

        Raises UsageError with the estimate and what to use instead.
        """
        budget.require(self.id, self._memory(shapes, params), self.advice, room)

    def seconds(self, shapes: Shapes, params: Mapping[str, Any]) -> float | None:
        """The seconds of a processor that a fit is expected to take; None: it may be long."""
        main = next((shapes[role] for role in self.inputs if len(shapes.get(role, ())) >= 2), None)
        if self.cost is None or main is None:
            return None
        return self.cost.seconds(main[0], prod(main[1:]), params, self.Params)

    @final
    def check_choice(self, given: Collection[str], *, predicting: bool = False) -> None:
        """Raises UsageError unless exactly one role of `one_of` is among `given` and, for a fit, at
        least one of `some_of`."""
        if self.some_of and not predicting and not any(role in given for role in self.some_of):
            choice = ", ".join(repr(role) for role in self.some_of)
            raise UsageError(
                f"Method {self.id!r} needs at least one of the inputs {choice}.",
                code="wrong-input",
                role=self.some_of[0],
            )
        if self.one_of and sum(role in given for role in self.one_of) != 1:
            choice = ", ".join(repr(role) for role in self.one_of)
            raise UsageError(
                f"Method {self.id!r} needs exactly one of the inputs {choice}, not both or none.",
                code="wrong-input",
                role=self.one_of[0],
            )

    @property
    def image_roles(self) -> frozenset[str]:
        """The roles that may be images."""
        return frozenset(role for role, wanted in self.inputs.items() if wanted.images)

    @final
    def needed(self, *, predicting: bool) -> list[str]:
        """The roles that must be present."""
        return [
            role
            for role, wanted in self.inputs.items()
            if wanted.required and not (predicting and wanted.fit_only)
        ]

    def _with_room(self, data: Data) -> Data:
        """The data, with features in double precision where single has no room for squares."""
        return data if self.classifies else with_room(data)

    def _check_inputs(self, data: Data, *, predicting: bool = False) -> None:
        unknown = sorted(set(data.values) - set(self.inputs))
        if unknown:
            raise UsageError(
                f"Method {self.id!r} takes no input {unknown[0]!r}; it takes "
                f"{', '.join(sorted(self.inputs))}.",
                code="wrong-input",
                role=unknown[0],
            )
        if not predicting or not all(self.inputs[role].fit_only for role in self.one_of):
            self.check_choice(data.values, predicting=predicting)
        needed = self.needed(predicting=predicting)
        for role, wanted in self.inputs.items():
            if role in needed and role not in data:
                raise UsageError(
                    f"Method {self.id!r} needs the input {role!r}.", code="wrong-input", role=role
                )
            if role in data and not wanted.images:
                require_two_axes(data.values[role], role)
            if role in data and not wanted.sparse and data.is_sparse(role):
                raise UsageError(
                    f"Method {self.id!r} takes input {role!r} as a dense array, not a sparse one.",
                    code="wrong-input",
                    role=role,
                )

    def paths(self, model: Model) -> ClusterPaths | None:
        """Hook: the paths of clusters over time; None where they do not move."""
        return None

    def stretches(self, model: Model) -> FeatureStretches | None:
        """Hook: how the model's transformation stretches features; None where it has none."""
        return None

    def pictures(self, model: Model) -> NodePictures | None:
        """Hook: images of the nodes of the model's tree, where `outputs` has "pictures"."""
        return None

    def ball(self, model: Model, data: Data) -> Array:
        """Hook: (n_points, d) the points of the fit in the Poincaré ball, d >= 2.

        data : the inputs of the fit that predictions need, prepared as there. Not called unless
        `outputs` has "ball". Raises UsageError for rows other than the fit's.
        """
        raise NotImplementedError(f"method {self.id!r} places no points in a ball")

    def confusions(self, model: Model, tree: Tree) -> Confusions | None:
        """Hook: which classes are taken for which, where `outputs` has "confusions"; or None."""
        return None

    def class_scores(self, model: Model, data: Data) -> ClassScores | None:
        """Hook: scores of classes in new rows, where rows x classes need not be in memory."""
        return None

    def ungrown(self, data: Data) -> Data | None:
        """Hook: the inputs without `base` whose fit gives the same tree; None: it gives another.
        Raises UsageError where rows of `base` are gone."""
        return None

    def _memory(self, shapes: Shapes, params: P) -> int:
        """Hook: about how many bytes a fit takes besides its inputs as they are stored.

        Not every input need be in `shapes`. Raises UsageError for sizes that take too long.
        """
        return 0

    def _check(self, data: Data, params: P) -> None:
        """Hook: refuse data or parameters before any work. Raises UsageError."""

    @abstractmethod
    def _fit(self, data: Data, params: P, run: Run) -> Fitted:
        """Hook: the method itself, on inputs that have been checked."""

    def _piece(
        self, data: Data, params: P, piece: Piece, progress: Progress, threads: int
    ) -> Arrays:
        raise NotImplementedError(f"{self.id} cuts itself into no pieces")

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        raise NotImplementedError(f"{self.id} lists a model but has no _predict")

    def _classify(
        self, model: Model, tree: Tree, data: Data, options: PredictionOptions
    ) -> Predictions:
        raise NotImplementedError(f"{self.id} classifies but has no _classify")

    def _logits(self, model: Model, data: Data) -> Array:
        raise NotImplementedError(f"{self.id} lists logits but has no _logits")

    def _transform(self, model: Model, data: Data) -> Array:
        raise NotImplementedError(f"{self.id} lists a transformation but has no _transform")


def handed_on(first: Method[Any], second: Method[Any]) -> Literal["logits", "features"]:
    """The role under which a second method takes what the first gives: its logits, else the
    transformed rows.

    Raises UsageError where neither fits.
    """
    gives_logits = "logits" in first.outputs
    needed = (*second.needed(predicting=False), *second.some_of[:1])
    others = [role for role in needed if role != "features"]
    if gives_logits and "logits" in second.inputs:
        return "logits"
    if first.transforms and "features" in second.inputs and not others:
        return "features"
    if not gives_logits and not first.transforms:
        reason = f"method {first.id!r} gives neither"
    elif first.transforms and "features" in second.inputs:
        reason = f"method {second.id!r} also needs the input {others[0]!r}"
    else:
        given = "logits or transformed rows" if first.transforms else "logits alone"
        reason = f"method {first.id!r} gives {given}, which method {second.id!r} does not take"
    raise UsageError(
        f"`then` runs on the logits, or on the transformed rows, of the first method; {reason}.",
        code="wrong-input",
        parameter="then",
    )
