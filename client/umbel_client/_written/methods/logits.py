"""The methods of the family logits. Written by `make client` from the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from umbel_client.core.fields import Expiry, Retrying
from umbel_client.inputs import Input
from umbel_client.progress import Progress

R = TypeVar("R")


class LogitsMethods(Generic[R]):
    """The methods of the family logits; each gives what `run` gives, a tree."""

    def __init__(self, run: Callable[..., R]) -> None:
        self._run = run

    def l2h(
        self,
        *,
        logits: Input,
        top_classes: Input | None = None,
        names: Input | None = None,
        base: Input | None = None,
        aggregation: Literal["mean-sum", "sum", "mean", "size"] = "mean-sum",
        input: Literal["logits", "log_probs", "probs"] = "logits",
        temperature: float = 1.0,
        device: Literal["cpu", "cuda"] = "cpu",
        growable: bool = False,
        n_classes: int | None = None,
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
        """Logits to hierarchy (L2H): a binary tree over the classes of a classifier or flat
        clusterer.

        Leaves: tree, model, confusions.

        Source: From Logits to Hierarchies: Hierarchical Clustering made Simple (2025, section
        3, algorithm 1, appendices A and B.2).

        logits : One row per point, one column per class; with 'top_classes', only the values of
            each row's best classes.
        top_classes : optional. For rows of which only the best classes are known: the class
            (from 0) of each value of 'logits'. Missing values are bounded, and the job reports
            whether the bounds decide the hierarchy.
        names : optional. One name per class, in column order.
        base : optional. An earlier job, run with `growable`, whose rows come before these. The
            hierarchy is that of all rows; old rows are only read again where the kept state
            does not decide it.
        aggregation : Score of a group; the lowest is merged next. 'mean-sum': sum over its
            classes of the mean confidence of the points assigned to the class; 'sum': sum of
            the confidences of all its points; 'mean': mean of these confidences; 'size': number
            of its points.
        input : What the input 'logits' holds: real numbers before softmax, logarithms of
            probabilities, or probabilities (each row sums to 1). A logit of -inf is a class
            that its row cannot have. Logits that look like another kind get a warning.
        temperature : Divisor of the logits before softmax.
        device : Where logits are read: on the processor, or on a GPU by workers that have one.
            The resulting hierarchy is the same.
        growable : Keep what a later job needs to continue this one with more rows (`base`):
            about 100 bytes a row.
        n_classes : Number of classes where 'top_classes' is given. Default: the number of
            names, or, without names, one more than the highest class given.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "l2h",
            logits=logits,
            top_classes=top_classes,
            names=names,
            base=base,
            params={
                "aggregation": aggregation,
                "input": input,
                "temperature": temperature,
                "device": device,
                "growable": growable,
                "n_classes": n_classes,
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
