"""Schemas for what is sent as it was stored.

A result or a problem is written once, by a worker, and sent unchanged. `Documented` gives such a
field the schema of a type without validating or changing the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


@dataclass(frozen=True, slots=True)
class Documented:
    """Annotation of a field: its schema in the document is that of `form`."""

    form: Any

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(TypeAdapter(self.form).core_schema)
