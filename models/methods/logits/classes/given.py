"""The names and the number of classes, and the earlier job that a fit goes on from."""

from __future__ import annotations

from collections.abc import Iterable

from models.errors import UsageError
from models.inputs.data import Data, Earlier
from models.methods.logits.classes.parameters import MOST_CLASSES, LogitsParams
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.masks import unmasked


def logit_matrix(data: Data, params: LogitsParams) -> LogitMatrix:
    """The logits of all rows, an earlier job's first."""
    rows, earlier = data.rows("logits"), data.earlier()
    if params.input == "logits":
        rows = unmasked(rows)
    if earlier is not None:
        from models.methods.logits.merging import resume

        rows = resume.stacked(earlier, rows, masked=params.input == "logits")
    return LogitMatrix(rows, params.input, params.temperature)


def class_names(data: Data, params: LogitsParams) -> list[str]:
    earlier = data.earlier()
    if earlier is not None and "names" not in data:
        return [str(name) for name in earlier.tree.name[earlier.tree.leaves]]
    return data.leaf_names(n_classes(data, params), "class")


def n_classes(data: Data, params: LogitsParams) -> int:
    if "top_classes" not in data:
        return data.rows("logits").shape[1]
    if params.n_classes is not None:
        return params.n_classes
    names = data.names()
    return _highest(data) + 1 if names is None else len(names)


def _highest(data: Data) -> int:
    """The highest class in 'top_classes', at least 1.

    Raises UsageError for classes that are no integers or too large."""
    classes = data.dense("top_classes")
    if classes.dtype.kind not in "iu":
        raise UsageError(
            "Input 'top_classes' must hold integers, the class of each value of 'logits'.",
            code="wrong-input",
            role="top_classes",
        )
    highest = max(1, int(classes.max(initial=1)))
    if highest >= MOST_CLASSES:
        raise UsageError(
            f"Input 'top_classes' names the class {highest}; at most {MOST_CLASSES:,} classes are "
            "accepted.",
            code="wrong-input",
            role="top_classes",
        )
    return highest


def check_base(
    earlier: Earlier, data: Data, params: LogitsParams, method: str, as_before: Iterable[str]
) -> None:
    if earlier.method != method or not earlier.state:
        raise UsageError(
            f"Input 'base' must be a job of method {method!r} that was run with `growable`.",
            code="wrong-input",
            role="base",
        )
    if "top_classes" in data:
        raise UsageError(
            "Input 'base' requires the logits of all classes, not 'top_classes'.",
            code="wrong-input",
            role="base",
        )
    n_classes = earlier.tree.n_leaves
    if data.rows("logits").shape[1] != n_classes:
        raise UsageError(
            f"Input 'logits' has {data.rows('logits').shape[1]} columns; the job in 'base' had "
            f"{n_classes} classes.",
            code="wrong-shape",
            role="logits",
        )
    earlier_params = type(params).model_validate(earlier.params)
    for name in as_before:
        if getattr(earlier_params, name) != getattr(params, name):
            raise UsageError(
                f"Parameter {name!r} is {getattr(params, name)!r}; the job in 'base' had "
                f"{getattr(earlier_params, name)!r}, and it must be the same.",
                code="wrong-parameter",
                parameter=name,
            )
