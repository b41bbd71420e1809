"""The methods of the family classifiers. Written by `make client` from the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from umbel_client.core.fields import Expiry, Retrying
from umbel_client.inputs import Input
from umbel_client.progress import Progress

R = TypeVar("R")


class ClassifiersMethods(Generic[R]):
    """The methods of the family classifiers; each gives what `run` gives, a tree."""

    def __init__(self, run: Callable[..., R]) -> None:
        self._run = run

    def blr(
        self,
        *,
        features: Input,
        labels: Input,
        hierarchy: Input | None = None,
        names: Input | None = None,
        intercept: bool = True,
        empty_classes: Literal["refuse", "leave-out"] = "refuse",
        calibrate: bool = False,
        cut_off: Literal["auto", "half", "instance", "rank", "class"] = "auto",
        n_folds: int = 5,
        criterion: Literal["micro_f1", "macro_f1"] = "micro_f1",
        C: float | Literal["auto"] = 1.0,
        tol: float = 1e-06,
        max_iter: int = 100,
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
        """One-versus-rest logistic regression: the probability of each class against all others.

        Leaves: tree, model.

        Source: Trust Region Newton Method for Logistic Regression (2008).

        features : One row per point. Sparse matrices are accepted.
        labels : The class of each row, or its classes: names of nodes of the hierarchy, or
            paths of names. Rows that are not labelled (null, or -1) are left out of the
            training.
        hierarchy : optional. A tree whose leaves are the classes, or class paths. Rows with the
            label of an inner node get a leaf of that name below it.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        intercept : Whether a constant feature is added; its weight is penalised like the
            others.
        empty_classes : What to do with leaves of the hierarchy that have no example: refuse the
            job, or never predict them.
        calibrate : Whether probabilities, and where rows may have several labels their cut-
            offs, are fitted to the scores of rows held out in folds. With 'C' auto they always
            are.
        cut_off : Where rows may have several labels, which ones a row gets: classes of at least
            one half ('half'), classes above a cut-off fitted to the best scores of each row
            ('instance'), the same number of best ones for each row ('rank', RCut), or classes
            above a threshold for each class ('class', SCut); the last three by rows held out in
            folds. 'auto': 'instance' where folds are there, else 'half'. Where every row of the
            training has a label, a row gets its best one at least.
        n_folds : Number of folds of rows to choose by.
        criterion : What 'C' auto maximises on the rows held out.
        C : Weight of the loss against the penalty of weights; 'auto' chooses the best of 0.001,
            0.01, ..., 1000 on folds of rows.
        tol : Steps end when the objective can fall by this share at most.
        max_iter : Largest number of iterations of a run.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "blr",
            features=features,
            labels=labels,
            hierarchy=hierarchy,
            names=names,
            params={
                "intercept": intercept,
                "empty_classes": empty_classes,
                "calibrate": calibrate,
                "cut_off": cut_off,
                "n_folds": n_folds,
                "criterion": criterion,
                "C": C,
                "tol": tol,
                "max_iter": max_iter,
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

    def bsvm(
        self,
        *,
        features: Input,
        labels: Input,
        hierarchy: Input | None = None,
        names: Input | None = None,
        intercept: bool = True,
        empty_classes: Literal["refuse", "leave-out"] = "refuse",
        calibrate: bool = False,
        cut_off: Literal["auto", "half", "instance", "rank", "class"] = "auto",
        n_folds: int = 5,
        criterion: Literal["micro_f1", "macro_f1"] = "micro_f1",
        C: float | Literal["auto"] = 1.0,
        tol: float = 0.001,
        max_iter: int = 1000,
        seed: int = 0,
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
        """One-versus-rest linear SVM: a maximum-margin separator of each class from all others.

        Leaves: tree, model.

        Source: A Dual Coordinate Descent Method for Large-scale Linear SVM (2008, algorithm 3).

        features : One row per point. Sparse matrices are accepted.
        labels : The class of each row, or its classes: names of nodes of the hierarchy, or
            paths of names. Rows that are not labelled (null, or -1) are left out of the
            training.
        hierarchy : optional. A tree whose leaves are the classes, or class paths. Rows with the
            label of an inner node get a leaf of that name below it.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        intercept : Whether a constant feature is added; its weight is penalised like the
            others.
        empty_classes : What to do with leaves of the hierarchy that have no example: refuse the
            job, or never predict them.
        calibrate : Whether probabilities, and where rows may have several labels their cut-
            offs, are fitted to the scores of rows held out in folds. With 'C' auto they always
            are.
        cut_off : Where rows may have several labels, which ones a row gets: classes of at least
            one half ('half'), classes above a cut-off fitted to the best scores of each row
            ('instance'), the same number of best ones for each row ('rank', RCut), or classes
            above a threshold for each class ('class', SCut); the last three by rows held out in
            folds. 'auto': 'instance' where folds are there, else 'half'. Where every row of the
            training has a label, a row gets its best one at least.
        n_folds : Number of folds of rows to choose by.
        criterion : What 'C' auto maximises on the rows held out.
        C : Weight of the loss against the penalty of weights; 'auto' chooses the best of 0.001,
            0.01, ..., 1000 on folds of rows.
        tol : Sweeps end when the duality gap is this share of the objective.
        max_iter : Largest number of iterations of a run.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "bsvm",
            features=features,
            labels=labels,
            hierarchy=hierarchy,
            names=names,
            params={
                "intercept": intercept,
                "empty_classes": empty_classes,
                "calibrate": calibrate,
                "cut_off": cut_off,
                "n_folds": n_folds,
                "criterion": criterion,
                "C": C,
                "tol": tol,
                "max_iter": max_iter,
                "seed": seed,
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

    def corrmnl(
        self,
        *,
        features: Input,
        labels: Input,
        hierarchy: Input | None = None,
        names: Input | None = None,
        intercept: bool = True,
        empty_classes: Literal["refuse", "leave-out"] = "refuse",
        calibrate: bool = False,
        cut_off: Literal["auto", "half", "instance", "rank", "class"] = "auto",
        n_folds: int = 5,
        criterion: Literal["micro_f1", "macro_f1"] = "micro_f1",
        n_samples: int = 500,
        burn_in: int = 500,
        n_chains: int = 2,
        n_kept: int = 100,
        shape: float = 1.0,
        rate: float = 1.0,
        contract: bool = True,
        seed: int = 0,
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
        """Correlated multinomial logit: a Bayesian softmax whose classes share the branches on
        their paths.

        Leaves: tree, model.

        Source: Improving Classification When a Class Hierarchy is Available Using a Hierarchy-
        based Prior (2007).

        features : One row per point. Sparse matrices are accepted.
        labels : The class of each row, or its classes: names of nodes of the hierarchy, or
            paths of names. Rows that are not labelled (null, or -1) are left out of the
            training.
        hierarchy : optional. A tree whose leaves are the classes, or class paths. Rows with the
            label of an inner node get a leaf of that name below it.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        intercept : Whether a constant feature is added; its weight is penalised like the
            others.
        empty_classes : What to do with leaves of the hierarchy that have no example: refuse the
            job, or never predict them.
        calibrate : Whether probabilities, and where rows may have several labels their cut-
            offs, are fitted to the scores of rows held out in folds. With 'C' auto they always
            are.
        cut_off : Where rows may have several labels, which ones a row gets: classes of at least
            one half ('half'), classes above a cut-off fitted to the best scores of each row
            ('instance'), the same number of best ones for each row ('rank', RCut), or classes
            above a threshold for each class ('class', SCut); the last three by rows held out in
            folds. 'auto': 'instance' where folds are there, else 'half'. Where every row of the
            training has a label, a row gets its best one at least.
        n_folds : Number of folds of rows to choose by.
        criterion : What 'C' auto maximises on the rows held out.
        n_samples : Number of draws of each chain after its burn-in.
        burn_in : Number of iterations of each chain before its draws.
        n_chains : Number of chains, from different starts.
        n_kept : Most draws that stay in the model, evenly from all, for predictions.
        shape : Shape of the gamma prior of precisions.
        rate : Rate of the gamma prior of precisions.
        contract : Whether inner nodes of the hierarchy that have one child are left out.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "corrmnl",
            features=features,
            labels=labels,
            hierarchy=hierarchy,
            names=names,
            params={
                "intercept": intercept,
                "empty_classes": empty_classes,
                "calibrate": calibrate,
                "cut_off": cut_off,
                "n_folds": n_folds,
                "criterion": criterion,
                "n_samples": n_samples,
                "burn_in": burn_in,
                "n_chains": n_chains,
                "n_kept": n_kept,
                "shape": shape,
                "rate": rate,
                "contract": contract,
                "seed": seed,
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

    def hblr(
        self,
        *,
        features: Input,
        labels: Input,
        hierarchy: Input | None = None,
        names: Input | None = None,
        intercept: bool = True,
        empty_classes: Literal["refuse", "leave-out"] = "refuse",
        calibrate: bool = False,
        cut_off: Literal["auto", "half", "instance", "rank", "class"] = "auto",
        n_folds: int = 5,
        criterion: Literal["micro_f1", "macro_f1"] = "micro_f1",
        covariance: Literal["M1", "M2", "M3"] = "M3",
        inference: Literal["map", "variational"] = "map",
        likelihood: Literal["softmax", "logistic"] = "softmax",
        contract: bool = True,
        max_iter: int = 300,
        tol: float = 0.001,
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
        """Hierarchical Bayesian logistic regression: a prior down the hierarchy, learned from the
        data.

        Leaves: tree, model.

        Source: Large-scale Structured Learning (2014, chapter 2).

        features : One row per point. Sparse matrices are accepted.
        labels : The class of each row, or its classes: names of nodes of the hierarchy, or
            paths of names. Rows that are not labelled (null, or -1) are left out of the
            training.
        hierarchy : optional. A tree whose leaves are the classes, or class paths. Rows with the
            label of an inner node get a leaf of that name below it.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        intercept : Whether a constant feature is added; its weight is penalised like the
            others.
        empty_classes : What to do with leaves of the hierarchy that have no example: refuse the
            job, or never predict them.
        calibrate : Whether probabilities, and where rows may have several labels their cut-
            offs, are fitted to the scores of rows held out in folds. With 'C' auto they always
            are.
        cut_off : Where rows may have several labels, which ones a row gets: classes of at least
            one half ('half'), classes above a cut-off fitted to the best scores of each row
            ('instance'), the same number of best ones for each row ('rank', RCut), or classes
            above a threshold for each class ('class', SCut); the last three by rows held out in
            folds. 'auto': 'instance' where folds are there, else 'half'. Where every row of the
            training has a label, a row gets its best one at least.
        n_folds : Number of folds of rows to choose by.
        criterion : What 'C' auto maximises on the rows held out.
        covariance : Which weights share a precision around their parent: 'M1' all weights of
            siblings, 'M2' the weights of siblings for one feature, 'M3' all weights of one
            node.
        inference : How the posterior is computed: 'map' by the most probable weights, or
            'variational' by a lower bound of the evidence, for up to some hundreds of features.
        likelihood : How scores give classes: 'softmax', one class for each row, or 'logistic',
            each class for itself; rows with several labels need the latter.
        contract : Whether inner nodes with one child are removed from the hierarchy.
        max_iter : Largest number of iterations of a run.
        tol : Sweeps end when one changes the precisions by less than this share, and the
            weights by less than this times their posterior standard deviation.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "hblr",
            features=features,
            labels=labels,
            hierarchy=hierarchy,
            names=names,
            params={
                "intercept": intercept,
                "empty_classes": empty_classes,
                "calibrate": calibrate,
                "cut_off": cut_off,
                "n_folds": n_folds,
                "criterion": criterion,
                "covariance": covariance,
                "inference": inference,
                "likelihood": likelihood,
                "contract": contract,
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

    def hsvm(
        self,
        *,
        features: Input,
        labels: Input,
        hierarchy: Input | None = None,
        names: Input | None = None,
        intercept: bool = True,
        empty_classes: Literal["refuse", "leave-out"] = "refuse",
        calibrate: bool = False,
        cut_off: Literal["auto", "half", "instance", "rank", "class"] = "auto",
        n_folds: int = 5,
        criterion: Literal["micro_f1", "macro_f1"] = "micro_f1",
        C: float | Literal["auto"] = 1.0,
        tol: float = 0.01,
        max_iter: int = 1000,
        seed: int = 0,
        contract: bool = True,
        rescaling: Literal["margin", "slack"] = "margin",
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
        """Hierarchical SVM: the path of a row's class must lead the paths of all other classes by
        a margin that grows with their distance in the hierarchy.

        Leaves: tree, model.

        Source: Large Margin Methods for Structured and Interdependent Output Variables (2005,
        §5.2).

        features : One row per point. Sparse matrices are accepted.
        labels : The class of each row, or its classes: names of nodes of the hierarchy, or
            paths of names. Rows that are not labelled (null, or -1) are left out of the
            training.
        hierarchy : optional. A tree whose leaves are the classes, or class paths. Rows with the
            label of an inner node get a leaf of that name below it.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        intercept : Whether a constant feature is added; its weight is penalised like the
            others.
        empty_classes : What to do with leaves of the hierarchy that have no example: refuse the
            job, or never predict them.
        calibrate : Whether probabilities, and where rows may have several labels their cut-
            offs, are fitted to the scores of rows held out in folds. With 'C' auto they always
            are.
        cut_off : Where rows may have several labels, which ones a row gets: classes of at least
            one half ('half'), classes above a cut-off fitted to the best scores of each row
            ('instance'), the same number of best ones for each row ('rank', RCut), or classes
            above a threshold for each class ('class', SCut); the last three by rows held out in
            folds. 'auto': 'instance' where folds are there, else 'half'. Where every row of the
            training has a label, a row gets its best one at least.
        n_folds : Number of folds of rows to choose by.
        criterion : What 'C' auto maximises on the rows held out.
        C : Weight of the loss against the penalty of weights; 'auto' chooses the best of 0.001,
            0.01, ..., 1000 on folds of rows.
        tol : Sweeps end when the duality gap is this share of the objective.
        max_iter : Largest number of iterations of a run.
        seed : Seed of the random generator.
        contract : Whether inner nodes of the hierarchy that have one child are left out.
        rescaling : What grows with the distance of a wrong class: the margin by which it must
            be led, or the penalty where it is not led by 1.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "hsvm",
            features=features,
            labels=labels,
            hierarchy=hierarchy,
            names=names,
            params={
                "intercept": intercept,
                "empty_classes": empty_classes,
                "calibrate": calibrate,
                "cut_off": cut_off,
                "n_folds": n_folds,
                "criterion": criterion,
                "C": C,
                "tol": tol,
                "max_iter": max_iter,
                "seed": seed,
                "contract": contract,
                "rescaling": rescaling,
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

    def mlr(
        self,
        *,
        features: Input,
        labels: Input,
        hierarchy: Input | None = None,
        names: Input | None = None,
        intercept: bool = True,
        empty_classes: Literal["refuse", "leave-out"] = "refuse",
        calibrate: bool = False,
        cut_off: Literal["auto", "half", "instance", "rank", "class"] = "auto",
        n_folds: int = 5,
        criterion: Literal["micro_f1", "macro_f1"] = "micro_f1",
        C: float | Literal["auto"] = 1.0,
        max_iter: int = 1000,
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
        """Multiclass logistic regression: a softmax over all classes with an L2 penalty.

        Leaves: tree, model.

        Source: Large-scale Structured Learning (2014, chapter 4).

        features : One row per point. Sparse matrices are accepted.
        labels : The class of each row, or its classes: names of nodes of the hierarchy, or
            paths of names. Rows that are not labelled (null, or -1) are left out of the
            training.
        hierarchy : optional. A tree whose leaves are the classes, or class paths. Rows with the
            label of an inner node get a leaf of that name below it.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        intercept : Whether a constant feature is added; its weight is penalised like the
            others.
        empty_classes : What to do with leaves of the hierarchy that have no example: refuse the
            job, or never predict them.
        calibrate : Whether probabilities, and where rows may have several labels their cut-
            offs, are fitted to the scores of rows held out in folds. With 'C' auto they always
            are.
        cut_off : Where rows may have several labels, which ones a row gets: classes of at least
            one half ('half'), classes above a cut-off fitted to the best scores of each row
            ('instance'), the same number of best ones for each row ('rank', RCut), or classes
            above a threshold for each class ('class', SCut); the last three by rows held out in
            folds. 'auto': 'instance' where folds are there, else 'half'. Where every row of the
            training has a label, a row gets its best one at least.
        n_folds : Number of folds of rows to choose by.
        criterion : What 'C' auto maximises on the rows held out.
        C : Weight of the loss against the penalty of weights; 'auto' chooses the best of 0.001,
            0.01, ..., 1000 on folds of rows.
        max_iter : Largest number of iterations of a run.
        tol : Steps end when no entry of the objective's gradient exceeds this times C times the
            number of rows, columns being turned and scaled to a moderate offset and size.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "mlr",
            features=features,
            labels=labels,
            hierarchy=hierarchy,
            names=names,
            params={
                "intercept": intercept,
                "empty_classes": empty_classes,
                "calibrate": calibrate,
                "cut_off": cut_off,
                "n_folds": n_folds,
                "criterion": criterion,
                "C": C,
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

    def msvm(
        self,
        *,
        features: Input,
        labels: Input,
        hierarchy: Input | None = None,
        names: Input | None = None,
        intercept: bool = True,
        empty_classes: Literal["refuse", "leave-out"] = "refuse",
        calibrate: bool = False,
        cut_off: Literal["auto", "half", "instance", "rank", "class"] = "auto",
        n_folds: int = 5,
        criterion: Literal["micro_f1", "macro_f1"] = "micro_f1",
        C: float | Literal["auto"] = 1.0,
        tol: float = 0.01,
        max_iter: int = 20000,
        seed: int = 0,
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
        """Multiclass SVM of Crammer and Singer: each row's class must lead all others by a margin.

        Leaves: tree, model.

        Source: On the Algorithmic Implementation of Multiclass Kernel-based Vector Machines
        (2001).

        features : One row per point. Sparse matrices are accepted.
        labels : The class of each row, or its classes: names of nodes of the hierarchy, or
            paths of names. Rows that are not labelled (null, or -1) are left out of the
            training.
        hierarchy : optional. A tree whose leaves are the classes, or class paths. Rows with the
            label of an inner node get a leaf of that name below it.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        intercept : Whether a constant feature is added; its weight is penalised like the
            others.
        empty_classes : What to do with leaves of the hierarchy that have no example: refuse the
            job, or never predict them.
        calibrate : Whether probabilities, and where rows may have several labels their cut-
            offs, are fitted to the scores of rows held out in folds. With 'C' auto they always
            are.
        cut_off : Where rows may have several labels, which ones a row gets: classes of at least
            one half ('half'), classes above a cut-off fitted to the best scores of each row
            ('instance'), the same number of best ones for each row ('rank', RCut), or classes
            above a threshold for each class ('class', SCut); the last three by rows held out in
            folds. 'auto': 'instance' where folds are there, else 'half'. Where every row of the
            training has a label, a row gets its best one at least.
        n_folds : Number of folds of rows to choose by.
        criterion : What 'C' auto maximises on the rows held out.
        C : Weight of the loss against the penalty of weights; 'auto' chooses the best of 0.001,
            0.01, ..., 1000 on folds of rows.
        tol : Passes end when the gradients of the dual violate its optimum by less; for columns
            that are far from 0 or large, when the duality gap is this share of the objective.
        max_iter : Largest number of iterations of a run.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "msvm",
            features=features,
            labels=labels,
            hierarchy=hierarchy,
            names=names,
            params={
                "intercept": intercept,
                "empty_classes": empty_classes,
                "calibrate": calibrate,
                "cut_off": cut_off,
                "n_folds": n_folds,
                "criterion": criterion,
                "C": C,
                "tol": tol,
                "max_iter": max_iter,
                "seed": seed,
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

    def ot(
        self,
        *,
        features: Input,
        labels: Input,
        hierarchy: Input | None = None,
        names: Input | None = None,
        intercept: bool = True,
        empty_classes: Literal["refuse", "leave-out"] = "refuse",
        calibrate: bool = False,
        cut_off: Literal["auto", "half", "instance", "rank", "class"] = "auto",
        n_folds: int = 5,
        criterion: Literal["micro_f1", "macro_f1"] = "micro_f1",
        C: float | Literal["auto"] = 1.0,
        tol: float = 0.01,
        max_iter: int = 1000,
        seed: int = 0,
        orthogonality: float = 0.5,
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
        """Orthogonal transfer: SVMs from the root down whose weights differ from their ancestors'
        weights.

        Leaves: tree, model.

        Source: Hierarchical Classification via Orthogonal Transfer (2011).

        features : One row per point. Sparse matrices are accepted.
        labels : The class of each row, or its classes: names of nodes of the hierarchy, or
            paths of names. Rows that are not labelled (null, or -1) are left out of the
            training.
        hierarchy : optional. A tree whose leaves are the classes, or class paths. Rows with the
            label of an inner node get a leaf of that name below it.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        intercept : Whether a constant feature is added; its weight is penalised like the
            others.
        empty_classes : What to do with leaves of the hierarchy that have no example: refuse the
            job, or never predict them.
        calibrate : Whether probabilities, and where rows may have several labels their cut-
            offs, are fitted to the scores of rows held out in folds. With 'C' auto they always
            are.
        cut_off : Where rows may have several labels, which ones a row gets: classes of at least
            one half ('half'), classes above a cut-off fitted to the best scores of each row
            ('instance'), the same number of best ones for each row ('rank', RCut), or classes
            above a threshold for each class ('class', SCut); the last three by rows held out in
            folds. 'auto': 'instance' where folds are there, else 'half'. Where every row of the
            training has a label, a row gets its best one at least.
        n_folds : Number of folds of rows to choose by.
        criterion : What 'C' auto maximises on the rows held out.
        C : Weight of the loss against the penalty of weights; 'auto' chooses the best of 0.001,
            0.01, ..., 1000 on folds of rows.
        tol : Sweeps end when the duality gap is this share of the objective.
        max_iter : Largest number of iterations of a run.
        seed : Seed of the random generator.
        orthogonality : Weight of the products of nodes with those above, as a share of the
            largest weight that keeps the problem convex.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "ot",
            features=features,
            labels=labels,
            hierarchy=hierarchy,
            names=names,
            params={
                "intercept": intercept,
                "empty_classes": empty_classes,
                "calibrate": calibrate,
                "cut_off": cut_off,
                "n_folds": n_folds,
                "criterion": criterion,
                "C": C,
                "tol": tol,
                "max_iter": max_iter,
                "seed": seed,
                "orthogonality": orthogonality,
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

    def rmlr(
        self,
        *,
        features: Input,
        labels: Input,
        hierarchy: Input | None = None,
        names: Input | None = None,
        intercept: bool = True,
        empty_classes: Literal["refuse", "leave-out"] = "refuse",
        calibrate: bool = False,
        cut_off: Literal["auto", "half", "instance", "rank", "class"] = "auto",
        n_folds: int = 5,
        criterion: Literal["micro_f1", "macro_f1"] = "micro_f1",
        C: float | Literal["auto"] = 1.0,
        bound: Literal["log-concavity", "double-majorization", "admm", "lbfgs"] = "log-concavity",
        acceleration: Literal["none", "centering", "anderson"] = "anderson",
        max_iter: int = 1000,
        tol: float = 1e-06,
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
        """Regularised multinomial logistic regression at scale: `mlr`'s objective, minimised by a
        bound of its log partition function that falls apart into classes.

        Leaves: tree, model.

        Source: Large-scale Structured Learning (2014, chapter 4).

        features : One row per point. Sparse matrices are accepted.
        labels : The class of each row, or its classes: names of nodes of the hierarchy, or
            paths of names. Rows that are not labelled (null, or -1) are left out of the
            training.
        hierarchy : optional. A tree whose leaves are the classes, or class paths. Rows with the
            label of an inner node get a leaf of that name below it.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        intercept : Whether a constant feature is added; its weight is penalised like the
            others.
        empty_classes : What to do with leaves of the hierarchy that have no example: refuse the
            job, or never predict them.
        calibrate : Whether probabilities, and where rows may have several labels their cut-
            offs, are fitted to the scores of rows held out in folds. With 'C' auto they always
            are.
        cut_off : Where rows may have several labels, which ones a row gets: classes of at least
            one half ('half'), classes above a cut-off fitted to the best scores of each row
            ('instance'), the same number of best ones for each row ('rank', RCut), or classes
            above a threshold for each class ('class', SCut); the last three by rows held out in
            folds. 'auto': 'instance' where folds are there, else 'half'. Where every row of the
            training has a label, a row gets its best one at least.
        n_folds : Number of folds of rows to choose by.
        criterion : What 'C' auto maximises on the rows held out.
        C : Weight of the loss against the penalty of weights; 'auto' chooses the best of 0.001,
            0.01, ..., 1000 on folds of rows.
        bound : How the objective is minimised: by one of two bounds that fall apart into
            classes, by ADMM, or by L-BFGS on all weights. All but 'double-majorization' end at
            the same weights.
        acceleration : For the two bounds: 'none' is the algorithm as published; 'centering'
            takes the mean from the weights after each sweep; 'anderson' also extrapolates the
            rows' shifts.
        max_iter : Largest number of iterations of a run.
        tol : Iterations end when what is minimised is shown to be within this share of its
            minimum.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "rmlr",
            features=features,
            labels=labels,
            hierarchy=hierarchy,
            names=names,
            params={
                "intercept": intercept,
                "empty_classes": empty_classes,
                "calibrate": calibrate,
                "cut_off": cut_off,
                "n_folds": n_folds,
                "criterion": criterion,
                "C": C,
                "bound": bound,
                "acceleration": acceleration,
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

    def rr_lr(
        self,
        *,
        features: Input,
        labels: Input,
        hierarchy: Input | None = None,
        graph: Input | None = None,
        names: Input | None = None,
        intercept: bool = True,
        empty_classes: Literal["refuse", "leave-out"] = "refuse",
        calibrate: bool = False,
        cut_off: Literal["auto", "half", "instance", "rank", "class"] = "auto",
        n_folds: int = 5,
        criterion: Literal["micro_f1", "macro_f1"] = "micro_f1",
        C: float | Literal["auto"] = 1.0,
        tol: float = 1e-06,
        max_iter: int = 100,
        contract: bool = True,
        block_size: int | None = None,
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
        """Recursively regularized logistic regression: classes share strength along a hierarchy or
        a graph.

        Leaves: tree, model. Exactly one of hierarchy, graph must be given.

        Source: Large-scale Structured Learning (2014, chapter 3).

        features : One row per point. Sparse matrices are accepted.
        labels : The class of each row, or its classes: names of nodes of the hierarchy, or
            paths of names. Rows that are not labelled (null, or -1) are left out of the
            training.
        hierarchy : optional. A tree whose leaves are the classes, or class paths. Rows with the
            label of an inner node get a leaf of that name below it.
        graph : optional. Pairs of labels: the edges of an undirected graph over the classes.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        intercept : Whether a constant feature is added; its weight is penalised like the
            others.
        empty_classes : What to do with leaves of the hierarchy that have no example: refuse the
            job, or never predict them.
        calibrate : Whether probabilities, and where rows may have several labels their cut-
            offs, are fitted to the scores of rows held out in folds. With 'C' auto they always
            are.
        cut_off : Where rows may have several labels, which ones a row gets: classes of at least
            one half ('half'), classes above a cut-off fitted to the best scores of each row
            ('instance'), the same number of best ones for each row ('rank', RCut), or classes
            above a threshold for each class ('class', SCut); the last three by rows held out in
            folds. 'auto': 'instance' where folds are there, else 'half'. Where every row of the
            training has a label, a row gets its best one at least.
        n_folds : Number of folds of rows to choose by.
        criterion : What 'C' auto maximises on the rows held out.
        C : Weight of the loss against the penalty of weights; 'auto' chooses the best of 0.001,
            0.01, ..., 1000 on folds of rows.
        tol : Steps end when the objective can fall by this share at most.
        max_iter : Largest number of iterations of a run.
        contract : Whether inner nodes of the hierarchy that have one child are left out.
        block_size : Number of classes that are trained at a time, as a piece that any worker
            may compute. Weights are then kept to three digits, without those below a thousandth
            of a class's largest. None: all classes at once, exactly.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "rr-lr",
            features=features,
            labels=labels,
            hierarchy=hierarchy,
            graph=graph,
            names=names,
            params={
                "intercept": intercept,
                "empty_classes": empty_classes,
                "calibrate": calibrate,
                "cut_off": cut_off,
                "n_folds": n_folds,
                "criterion": criterion,
                "C": C,
                "tol": tol,
                "max_iter": max_iter,
                "contract": contract,
                "block_size": block_size,
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

    def rr_svm(
        self,
        *,
        features: Input,
        labels: Input,
        hierarchy: Input | None = None,
        graph: Input | None = None,
        names: Input | None = None,
        intercept: bool = True,
        empty_classes: Literal["refuse", "leave-out"] = "refuse",
        calibrate: bool = False,
        cut_off: Literal["auto", "half", "instance", "rank", "class"] = "auto",
        n_folds: int = 5,
        criterion: Literal["micro_f1", "macro_f1"] = "micro_f1",
        C: float | Literal["auto"] = 1.0,
        tol: float = 0.001,
        max_iter: int = 1000,
        contract: bool = True,
        block_size: int | None = None,
        seed: int = 0,
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
        """Recursively regularized SVM: maximum-margin classes that share strength along a
        hierarchy or a graph.

        Leaves: tree, model. Exactly one of hierarchy, graph must be given.

        Source: Large-scale Structured Learning (2014, chapter 3).

        features : One row per point. Sparse matrices are accepted.
        labels : The class of each row, or its classes: names of nodes of the hierarchy, or
            paths of names. Rows that are not labelled (null, or -1) are left out of the
            training.
        hierarchy : optional. A tree whose leaves are the classes, or class paths. Rows with the
            label of an inner node get a leaf of that name below it.
        graph : optional. Pairs of labels: the edges of an undirected graph over the classes.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        intercept : Whether a constant feature is added; its weight is penalised like the
            others.
        empty_classes : What to do with leaves of the hierarchy that have no example: refuse the
            job, or never predict them.
        calibrate : Whether probabilities, and where rows may have several labels their cut-
            offs, are fitted to the scores of rows held out in folds. With 'C' auto they always
            are.
        cut_off : Where rows may have several labels, which ones a row gets: classes of at least
            one half ('half'), classes above a cut-off fitted to the best scores of each row
            ('instance'), the same number of best ones for each row ('rank', RCut), or classes
            above a threshold for each class ('class', SCut); the last three by rows held out in
            folds. 'auto': 'instance' where folds are there, else 'half'. Where every row of the
            training has a label, a row gets its best one at least.
        n_folds : Number of folds of rows to choose by.
        criterion : What 'C' auto maximises on the rows held out.
        C : Weight of the loss against the penalty of weights; 'auto' chooses the best of 0.001,
            0.01, ..., 1000 on folds of rows.
        tol : Sweeps end when the duality gap is this share of the objective.
        max_iter : Largest number of iterations of a run.
        contract : Whether inner nodes of the hierarchy that have one child are left out.
        block_size : Number of classes that are trained at a time, as a piece that any worker
            may compute. Weights are then kept to three digits, without those below a thousandth
            of a class's largest. None: all classes at once, exactly.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "rr-svm",
            features=features,
            labels=labels,
            hierarchy=hierarchy,
            graph=graph,
            names=names,
            params={
                "intercept": intercept,
                "empty_classes": empty_classes,
                "calibrate": calibrate,
                "cut_off": cut_off,
                "n_folds": n_folds,
                "criterion": criterion,
                "C": C,
                "tol": tol,
                "max_iter": max_iter,
                "contract": contract,
                "block_size": block_size,
                "seed": seed,
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

    def td_svm(
        self,
        *,
        features: Input,
        labels: Input,
        hierarchy: Input | None = None,
        names: Input | None = None,
        intercept: bool = True,
        empty_classes: Literal["refuse", "leave-out"] = "refuse",
        calibrate: bool = False,
        cut_off: Literal["auto", "half", "instance", "rank", "class"] = "auto",
        n_folds: int = 5,
        criterion: Literal["micro_f1", "macro_f1"] = "micro_f1",
        C: float | Literal["auto"] = 1.0,
        tol: float = 0.001,
        max_iter: int = 1000,
        seed: int = 0,
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
        """Top-down SVM: at each node of the hierarchy a linear SVM of each child against its
        siblings.

        Leaves: tree, model.

        Source: Hierarchical Classification of Web Content (2000).

        features : One row per point. Sparse matrices are accepted.
        labels : The class of each row, or its classes: names of nodes of the hierarchy, or
            paths of names. Rows that are not labelled (null, or -1) are left out of the
            training.
        hierarchy : optional. A tree whose leaves are the classes, or class paths. Rows with the
            label of an inner node get a leaf of that name below it.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        intercept : Whether a constant feature is added; its weight is penalised like the
            others.
        empty_classes : What to do with leaves of the hierarchy that have no example: refuse the
            job, or never predict them.
        calibrate : Whether probabilities, and where rows may have several labels their cut-
            offs, are fitted to the scores of rows held out in folds. With 'C' auto they always
            are.
        cut_off : Where rows may have several labels, which ones a row gets: classes of at least
            one half ('half'), classes above a cut-off fitted to the best scores of each row
            ('instance'), the same number of best ones for each row ('rank', RCut), or classes
            above a threshold for each class ('class', SCut); the last three by rows held out in
            folds. 'auto': 'instance' where folds are there, else 'half'. Where every row of the
            training has a label, a row gets its best one at least.
        n_folds : Number of folds of rows to choose by.
        criterion : What 'C' auto maximises on the rows held out.
        C : Weight of the loss against the penalty of weights; 'auto' chooses the best of 0.001,
            0.01, ..., 1000 on folds of rows.
        tol : Sweeps end when the duality gap is this share of the objective.
        max_iter : Largest number of iterations of a run.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "td-svm",
            features=features,
            labels=labels,
            hierarchy=hierarchy,
            names=names,
            params={
                "intercept": intercept,
                "empty_classes": empty_classes,
                "calibrate": calibrate,
                "cut_off": cut_off,
                "n_folds": n_folds,
                "criterion": criterion,
                "C": C,
                "tol": tol,
                "max_iter": max_iter,
                "seed": seed,
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
