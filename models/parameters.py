"""The base of every method's parameters, and the fields that methods of several families share.

A value must have the type of its JSON Schema: pydantic alone would turn `true` into 1, "3" into 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError


class Exact(BaseModel):
    """A base: no number comes from `true` or text, and no truth value from anything else."""

    @field_validator("*", mode="before")
    @classmethod
    def _as_it_is(cls, value: object, info: ValidationInfo) -> object:
        kinds = _kinds(cls.model_fields[info.field_name or ""].annotation)
        if kinds & {int, float} and type(value) not in kinds:
            return _number(value)
        if kinds == {bool} and type(value) is not bool:
            raise PydanticCustomError("bool_type", "Input should be true or false")
        return value


def _number(value: object) -> object:
    if isinstance(value, (bool, str)):
        raise PydanticCustomError("number_type", "Input should be a number")
    return value


NUMBER = BeforeValidator(_number)
"""The same rule for one field, or the items of a list."""

Whole: TypeAlias = Annotated[int, NUMBER]
"""An integer with the same rule, for the members of discriminated unions."""


Count: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000), NUMBER]
"""From 1 to a million, for a field that may be null: bounds beside `| None` are no JSON Schema."""


def _kinds(annotation: object) -> set[object]:
    """The types that values of an annotation may have, without None."""
    if get_origin(annotation) is Literal:
        return {type(choice) for choice in get_args(annotation)}
    parts = get_args(annotation)
    kinds = set().union(*map(_kinds, parts)) if parts else {annotation}
    return kinds - {type(None)}


class Params(Exact):
    """Base of every method's parameters: bounded fields with descriptions, unknown ones refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class WithPresets(Params):
    """Parameters of which some have named settings, chosen by a field `preset`. What is given
    beside it counts unless it is the default: clients and forms send all defaults.

    PRESETS : by name, the values of fields.
    """

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    @model_validator(mode="before")
    @classmethod
    def _with_preset(cls, given: Any) -> Any:
        name = given.get("preset") if isinstance(given, Mapping) else None
        settings = cls.PRESETS.get(name) if isinstance(name, str) else None
        if settings is None:
            return given
        own = {
            field: value
            for field, value in given.items()
            if field not in settings or value != cls.model_fields[field].default
        }
        return {**settings, **own}


@dataclass(frozen=True, slots=True)
class Choice:
    """What a parameter's 'auto' was taken to be, and why, one sentence."""

    value: str | float
    reason: str


Seed = Annotated[int, Field(ge=0, le=2**32 - 1, description="Seed of the random generator.")]
NInit = Annotated[
    int,
    Field(
        ge=1,
        le=1000,
        description="Number of runs from different seeds; the best run is kept.",
    ),
]
MaxIter = Annotated[
    int, Field(ge=1, le=100_000, description="Largest number of iterations of a run.")
]
KeepSteps = Annotated[
    int,
    Field(
        ge=0,
        le=8,
        description="Number of earlier trees that are kept beside the result, each of lower cost "
        "than the one before, to look at how the tree was learned; the result is the same.",
    ),
]
Device = Annotated[
    Literal["cpu", "cuda"],
    Field(description="Where the computation runs: on the processor, or on a GPU."),
]
ImageShape = Annotated[
    list[Annotated[int, Field(ge=1, le=4096)]] | None,
    Field(
        min_length=2,
        max_length=3,
        description=(
            "Shape of the images that are rows of a matrix, [height, width] or [height, width, "
            "channels]; none: rows are plain vectors, unless the array is one of images."
        ),
    ),
]
HiddenSizes = Annotated[
    list[Annotated[int, Field(ge=1, le=65_536)]],
    Field(min_length=1, max_length=8, description="Widths of the hidden layers, the first first."),
]
HeldOut = Annotated[
    float,
    Field(
        ge=0,
        le=0.9,
        description="Share of the rows kept out of the fit, to measure likelihood on.",
    ),
]
Weights = Annotated[
    dict[str, Annotated[float, Field(ge=0, le=1e6)]] | None,
    Field(
        max_length=256,
        description=(
            "With the input 'items': the weights of columns in the distance, by name; 1 for the "
            "others, 0 leaves a column out."
        ),
    ),
]
