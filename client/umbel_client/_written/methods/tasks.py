"""The methods of the family tasks. Written by `make client` from the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from umbel_client.core.fields import Expiry, Retrying
from umbel_client.inputs import Input
from umbel_client.progress import Progress

R = TypeVar("R")


class TasksMethods(Generic[R]):
    """The methods of the family tasks; each gives what `run` gives, a tree."""

    def __init__(self, run: Callable[..., R]) -> None:
        self._run = run

    def ghhc_mtl(
        self,
        *,
        features: Input,
        targets: Input,
        tasks: Input,
        names: Input | None = None,
        held_out: float = 0.0,
        seed: int = 0,
        problem: Literal["regression", "classification"] = "regression",
        sharing: float | None = None,
        n_folds: int = 3,
        n_internal: int | None = None,
        n_init: int = 8,
        max_iter: int = 200,
        batch_size: int = 100,
        learning_rate: float = 0.01,
        n_neighbors: int = 3,
        point_norm: float = 0.7,
        max_norm: float = 0.95,
        preprocess: Sequence[Mapping[str, Any]] | None = None,
        then: str | Mapping[str, Any] | None = None,
        support: Mapping[str, Any] | None = None,
        name_by: str | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        progress: Progress = None,
        extra_inputs: Mapping[str, Input] | None = None,
    ) -> R:
        """Multi-task gHHC: regressors or classifiers of tasks, learned together with a tree over
        the tasks.

        Leaves: tree, model.

        Source: Gradient-based Hierarchical Clustering using Continuous Representations of Trees
        in Hyperbolic Space (2019, KDD, section 5).

        features : One row per example, all tasks in one matrix.
        targets : For each row the number to predict, or its class (an integer or text).
        tasks : For each row the task it belongs to, an integer or text.
        names : optional. One name per task, in the order of the tasks: by number, or by text.
        held_out : Share of each task's rows that is kept out of the fit, to measure the
            regressors on.
        seed : Seed of the random generator.
        problem : Whether targets are numbers or classes.
        sharing : Weight of the tree's losses against the rows' negative log-likelihood per
            task: the larger, the more alike are tasks under one node. None: 10, 30 or 100,
            chosen with the number of steps up to 'max_iter' by the loss on folds of rows.
        n_folds : Number of folds of rows to choose by.
        n_internal : Number of nodes that are moved. The tree leaves out those that no task
            needs. None: one more than half the number of tasks, at most 500.
        n_init : Number of new draws of nodes for the tree, after the tasks have stopped.
        max_iter : Largest number of steps.
        batch_size : Number of triples in a step.
        learning_rate : Step length.
        n_neighbors : Nearest tasks that a task forms triples with.
        point_norm : Norm at the start of the point of the farthest task.
        max_norm : Largest norm of a point; a point beyond it is brought back to it.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "ghhc-mtl",
            features=features,
            targets=targets,
            tasks=tasks,
            names=names,
            params={
                "held_out": held_out,
                "seed": seed,
                "problem": problem,
                "sharing": sharing,
                "n_folds": n_folds,
                "n_internal": n_internal,
                "n_init": n_init,
                "max_iter": max_iter,
                "batch_size": batch_size,
                "learning_rate": learning_rate,
                "n_neighbors": n_neighbors,
                "point_norm": point_norm,
                "max_norm": max_norm,
            },
            preprocess=preprocess,
            then=then,
            support=support,
            name_by=name_by,
            name=name,
            description=description,
            tags=tags,
            webhook=webhook,
            expires_at=expires_at,
            retrying=retrying,
            wait_s=wait_s,
            progress=progress,
            **(extra_inputs or {}),
        )

    def mtrl(
        self,
        *,
        features: Input,
        targets: Input,
        tasks: Input,
        names: Input | None = None,
        held_out: float = 0.0,
        seed: int = 0,
        penalty: float | None = None,
        sharing: float | None = None,
        n_folds: int = 5,
        max_iter: int = 100,
        tol: float = 1e-05,
        preprocess: Sequence[Mapping[str, Any]] | None = None,
        then: str | Mapping[str, Any] | None = None,
        support: Mapping[str, Any] | None = None,
        name_by: str | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        progress: Progress = None,
        extra_inputs: Mapping[str, Input] | None = None,
    ) -> R:
        """Multi-task relationship learning: regressors of tasks with the covariance of tasks.

        Leaves: tree, model.

        Source: A Convex Formulation for Learning Task Relationships in Multi-Task Learning
        (2010, UAI).

        features : One row per example, all tasks in one matrix.
        targets : For each row the number to predict, or its class (an integer or text).
        tasks : For each row the task it belongs to, an integer or text.
        names : optional. One name per task, in the order of the tasks: by number, or by text.
        held_out : Share of each task's rows that is kept out of the fit, to measure the
            regressors on.
        seed : Seed of the random generator.
        penalty : Factor of half the squared weights of scaled features. None: the one of least
            error on folds, of 0.001, 0.01 and 0.1.
        sharing : Cost of weights that depart from the tasks' covariance. None: the one of least
            error on folds, of six from 0.001 to 1.
        n_folds : Number of folds of rows to choose by.
        max_iter : Largest number of iterations, each of weights and covariance.
        tol : Iterations end when one lowers the objective by this share or less.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "mtrl",
            features=features,
            targets=targets,
            tasks=tasks,
            names=names,
            params={
                "held_out": held_out,
                "seed": seed,
                "penalty": penalty,
                "sharing": sharing,
                "n_folds": n_folds,
                "max_iter": max_iter,
                "tol": tol,
            },
            preprocess=preprocess,
            then=then,
            support=support,
            name_by=name_by,
            name=name,
            description=description,
            tags=tags,
            webhook=webhook,
            expires_at=expires_at,
            retrying=retrying,
            wait_s=wait_s,
            progress=progress,
            **(extra_inputs or {}),
        )

    def stl(
        self,
        *,
        features: Input,
        targets: Input,
        tasks: Input,
        names: Input | None = None,
        held_out: float = 0.0,
        seed: int = 0,
        problem: Literal["regression", "classification"] = "regression",
        penalty: float | None = None,
        tuning: Literal["each", "together"] = "each",
        n_folds: int = 5,
        preprocess: Sequence[Mapping[str, Any]] | None = None,
        then: str | Mapping[str, Any] | None = None,
        support: Mapping[str, Any] | None = None,
        name_by: str | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        progress: Progress = None,
        extra_inputs: Mapping[str, Input] | None = None,
    ) -> R:
        """Single-task learning: a regressor or classifier for each task, from its own rows alone.

        Leaves: tree, model.

        Source: A Convex Formulation for Learning Task Relationships in Multi-Task Learning
        (2010, UAI, section 4, the baseline).

        features : One row per example, all tasks in one matrix.
        targets : For each row the number to predict, or its class (an integer or text).
        tasks : For each row the task it belongs to, an integer or text.
        names : optional. One name per task, in the order of the tasks: by number, or by text.
        held_out : Share of each task's rows that is kept out of the fit, to measure the
            regressors on.
        seed : Seed of the random generator.
        problem : Whether targets are numbers or classes.
        penalty : Factor of the squared weights of scaled features. None: the one of least error
            on rows left out, of 13 from 0.01 to 10,000.
        tuning : Whether the penalty is chosen for 'each' task or for all 'together'.
        n_folds : Number of folds to choose a penalty on, for classes; for numbers rows are left
            out one by one.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "stl",
            features=features,
            targets=targets,
            tasks=tasks,
            names=names,
            params={
                "held_out": held_out,
                "seed": seed,
                "problem": problem,
                "penalty": penalty,
                "tuning": tuning,
                "n_folds": n_folds,
            },
            preprocess=preprocess,
            then=then,
            support=support,
            name_by=name_by,
            name=name,
            description=description,
            tags=tags,
            webhook=webhook,
            expires_at=expires_at,
            retrying=retrying,
            wait_s=wait_s,
            progress=progress,
            **(extra_inputs or {}),
        )
