"""Which of the words that a request may use was meant by one that it may not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from inspect import isclass
from typing import get_args

from pydantic import BaseModel

MEANT = "Did you mean"

_LONGEST = 40
"""Letters of a word for which a near one is sought."""

MOST = 5
"""Words of a request for which a near one is sought: a refusal must not cost more than what it
refuses."""


def meant(written: object, accepted: Collection[str]) -> str:
    """A sentence, or nothing, to append to a message."""
    if not isinstance(written, str) or len(written) > _LONGEST:
        return ""
    near = get_close_matches(written, accepted, 1)
    return f" {MEANT} {near[0]!r}?" if near else ""


def fields_at(kind: object, place: Sequence[object]) -> list[str]:
    """The fields that the models at a place of a body have.

    kind : the type of the body: a model, or any type of models. place : names, indices and tags of
    alternatives, as the `loc` of pydantic's errors.
    """
    models = list(_models(kind))
    for part in place:
        below = [
            field.annotation
            for model in models
            for name, field in model.model_fields.items()
            if part == (field.alias or name)
        ]
        tagged = [model for model in models if part in _tags(model)]
        models = list(_models(*below)) or tagged or models
    return sorted(
        {field.alias or name for model in models for name, field in model.model_fields.items()}
    )


def _models(*kinds: object) -> Iterator[type[BaseModel]]:
    """All models in types such as `Sequence[A | B] | None`."""
    left = list(kinds)
    while left:
        kind = left.pop()
        if isclass(kind) and issubclass(kind, BaseModel):
            yield kind
        else:
            left.extend(get_args(kind))


def _tags(model: type[BaseModel]) -> list[object]:
    return [tag for field in model.model_fields.values() for tag in get_args(field.annotation)]
