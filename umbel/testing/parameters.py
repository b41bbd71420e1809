"""The parameters of every method: described, bounded, and held to their bounds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from models.errors import UsageError
from umbel.testing.examples import Example
from umbel.testing.suite import Suite, once, where


class Parameters(Suite):
    """Described, bounded, and held to their bounds."""

    @once
    def test_every_parameter_is_described_has_a_default_and_bounds(self, example: Example) -> None:
        schema = example.method.Params.model_json_schema()
        json.dumps(schema, allow_nan=False)
        assert schema["additionalProperties"] is False
        example.method.Params()
        example.params()
        for name, field in schema.get("properties", {}).items():
            assert field.get("description"), name
            assert "default" in field, name
            kinds = {field.get("type"), *(part.get("type") for part in field.get("anyOf", []))}
            if kinds & {"integer", "number"}:
                assert low_end(field) is not None, f"{name} has no lower bound"
                assert high_end(field) is not None, f"{name} has no upper bound"

    @once
    def test_unknown_and_out_of_range_parameters_are_refused(self, example: Example) -> None:
        def refused(**params: Any) -> None:
            with pytest.raises(ValidationError) as caught:
                example.method.Params(**params)
            assert caught.value.errors()[0]["loc"][0] == next(iter(params))

        refused(no_such_parameter=1)
        for name, field in example.method.Params.model_json_schema().get("properties", {}).items():
            refused(**{name: {"no": "such value"}})
            if "enum" in field:
                refused(**{name: "no such value"})
            low, high = low_end(field), high_end(field)
            if low is not None:
                refused(**{name: low - 1})
            if high is not None:
                refused(**{name: high + 1})
            if field.get("type") in ("number", "integer"):
                refused(**{name: True})
                refused(**{name: str(field["default"])})
            if field.get("type") == "boolean":
                refused(**{name: 1})
                refused(**{name: "yes"})
            if field.get("type") == "number":
                refused(**{name: float("nan")})
                refused(**{name: float("inf")})

    @where(lambda example: example.number == 0)
    def test_every_extreme_gives_a_tree_or_is_refused(self, example: Example) -> None:
        fields = example.method.Params.model_json_schema().get("properties", {})
        for name, field in fields.items():
            for value in extremes(field):
                try:
                    fitted = example.fit(example.data(), **{name: value})
                except (UsageError, ValidationError):
                    continue
                fitted.tree.validate()


def low_end(field: dict[str, Any]) -> float | None:
    """The lower bound of a parameter; None if it has none."""
    return bound(field, "minimum", "exclusiveMinimum")


def high_end(field: dict[str, Any]) -> float | None:
    """The upper bound of a parameter; None if it has none."""
    return bound(field, "maximum", "exclusiveMaximum")


def bound(field: dict[str, Any], *keys: str) -> float | None:
    """The first of these keywords in a schema or its alternatives."""
    for part in (field, *field.get("anyOf", [])):
        for key in keys:
            if key in part:
                return float(part[key])
    return None


def extremes(field: dict[str, Any]) -> list[Any]:
    """The least value that a parameter may have, and each of its choices."""
    values: list[Any] = []
    for part in (field, *field.get("anyOf", [])):
        values += part.get("enum", [])
        values += [part["minimum"]] if "minimum" in part else []
        values += [part["exclusiveMinimum"] + 1e-9] if "exclusiveMinimum" in part else []
        values += [True, False] if part.get("type") == "boolean" else []
        values += [None] if part.get("type") == "null" else []
    return values
