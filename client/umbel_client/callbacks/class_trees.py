"""What Umbel makes of the validation logits of an epoch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from umbel_client.client import Umbel
from umbel_client.dataset import Dataset
from umbel_client.drift import Drift
from umbel_client.errors import InputError, ProblemError, UmbelError, UmbelWarning
from umbel_client.inputs import Input
from umbel_client.problems import NotFound
from umbel_client.tree import Tree

N_CONFUSIONS = 10
"""Confusions of an epoch that are kept."""

PX = 900
"""Width of the picture, in pixels."""


@dataclass(frozen=True)
class Epoch:
    """What is known of the classes at one step of training.

    step : the number that was given, an epoch or a step of the optimiser.
    tree : of the classes; its `name` has the step. png : its picture.
    confusions : the pairs that cost most, as `Tree.confusions` has them.
    drift : what moved in the tree of the step before, from its rows to these; None at the first
    step, and where the method places no rows.
    metrics : figures by name, for a tracker: `right`, the share of rows whose class is named (by
    the labels; without them, and of a tree that has grown, what the method expects), `moves`, the
    changes since the step before, and what the method itself found.
    """

    step: int
    tree: Tree
    png: bytes = field(repr=False)
    confusions: list[dict[str, Any]] = field(default_factory=list)
    drift: Drift | None = None
    metrics: dict[str, float] = field(default_factory=dict)


Tracker: TypeAlias = Callable[[Epoch], None]
"""Receives every epoch, such as `umbel_client.callbacks.MLflow()`."""


class ClassTrees:
    """Send validation logits at each epoch; get the tree of classes, confusions and drift.

    names : of the classes, in the order of the logits' columns; None: their numbers.
    umbel : the service; None: that of UMBEL_URL and UMBEL_KEY, else `umbel serve` on this machine.
    method : of the family of logits. params : its parameters.
    every : of so many calls one is sent, beginning with the first.
    grow : whether the tree grows from that of the step before, so that it is of the rows of all
    steps so far, not of the last one. It fits a model that changes little from step to step.
    drift : whether the rows of two steps are compared in the tree of the first of them.
    to : what receives each epoch. name : what the trees are called, with the step behind it.
    tags : of all that the service keeps of them.
    wait_s : the most seconds that training waits for one step.

    Training goes on whatever happens to the service: a step that fails is left out, with an
    UmbelWarning for the first one; the next is tried again. What a tracker raises is treated so,
    too. `epochs` has what was sent, the newest last.
    """

    def __init__(
        self,
        names: Sequence[str] | None = None,
        *,
        umbel: Umbel | None = None,
        method: str = "l2h",
        params: dict[str, Any] | None = None,
        every: int = 1,
        grow: bool = False,
        drift: bool = True,
        to: Sequence[Tracker] = (),
        name: str = "validation",
        tags: Sequence[str] = (),
        wait_s: float = 120.0,
    ) -> None:
        if every < 1:
            raise InputError("every", f"{every} is less than 1.")
        self.epochs: list[Epoch] = []
        self._names = None if names is None else [str(each) for each in names]
        self._umbel = umbel
        self._method = method
        self._params = dict(params or {})
        self._every = every
        self._grow = grow
        self._drift = drift
        self._trackers = list(to)
        self._name = name
        self._tags = list(tags)
        self._wait_s = wait_s
        self._calls = 0
        self._rows: Dataset | None = None
        self._warned = False

    def __call__(self, logits: Input, labels: Input | None = None, *, step: int) -> Epoch | None:
        """Send the logits of one step, (n_rows, n_classes), and the true classes, numbers or names.

        Gives None where this call is left out by `every`, or where the service gave no answer.
        """
        self._calls += 1
        if (self._calls - 1) % self._every:
            return None
        try:
            epoch = self._sent(logits, labels, step)
        except (UmbelError, OSError) as error:
            self._warn(f"Step {step} has no tree of classes, training goes on: {error}")
            return None
        self.epochs.append(epoch)
        for tracker in self._trackers:
            try:
                tracker(epoch)
            except Exception as error:
                # A tracker is other people's code and service: no failure of it ends training.
                self._warn(f"Step {step} is not logged by {type(tracker).__name__}: {error}")
        return epoch

    def _sent(self, logits: Input, labels: Input | None, step: int) -> Epoch:
        # A service that does not answer is tried again at the next step, not while training waits.
        if self._umbel is None:
            self._umbel = Umbel(retries=0)
        title = f"{self._name}, step {step}"
        rows = self._umbel.upload(logits, "logits", name=title, tags=self._tags, progress=False)
        inputs: dict[str, Any] = {"logits": rows}
        if self._names is not None:
            inputs["names"] = self._names
        params = dict(self._params)
        before = self.epochs[-1] if self.epochs else None
        if self._grow:
            params["growable"] = True
            if before is not None:
                inputs["base"] = before.tree.job
        with warnings.catch_warnings():
            # They stay with the tree; here they would come again at every step.
            warnings.simplefilter("ignore", UmbelWarning)
            tree = self._umbel.run(
                self._method,
                params=params,
                name=title,
                tags=self._tags,
                wait_s=self._wait_s,
                progress=False,
                **inputs,
            )
            confusions, right = self._confusions(tree, labels)
            moved = self._moved(before, rows)
        metrics = {name: float(own) for name, own in tree.metrics.items()}
        if right is not None:
            metrics["right"] = right
        if moved is not None:
            metrics["moves"] = float(moved.n_moves)
        self._rows = rows
        png = tree.content(".png", px=PX)
        return Epoch(step, tree, png, confusions, moved, metrics)

    def _confusions(
        self, tree: Tree, labels: Input | None
    ) -> tuple[list[dict[str, Any]], float | None]:
        """The pairs that cost most, and the share of rows whose class is named; of a tree that has
        grown by what the method found, since the labels are of the last rows alone."""
        assert self._umbel is not None
        known = None
        if labels is not None and not self._grow:
            # The same labels at every step are kept once.
            known = self._umbel.upload(
                labels, "labels", tags=self._tags, progress=False, dedupe=True
            )
        try:
            found = tree.confusions(known, limit=N_CONFUSIONS)
        except NotFound:
            return [], None
        return list(found), float(found.body["right"])

    def _moved(self, before: Epoch | None, rows: Dataset) -> Drift | None:
        """The drift from the rows of the step before; None where there is none to be had."""
        if not self._drift or before is None or self._rows is None:
            return None
        try:
            return before.tree.drift(self._rows, rows, tags=self._tags, wait_s=self._wait_s)
        except ProblemError:
            return None

    def _warn(self, sentence: str) -> None:
        if not self._warned:
            warnings.warn(sentence, UmbelWarning, stacklevel=3)
        self._warned = True
