"""Inputs that a request carries itself, as lists of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from models.errors import UsageError
from models.inputs.data import Data
from models.roles import role_of
from workers.formats import roles
from workers.formats.tables import Lists


@dataclass(frozen=True, slots=True)
class LongList:
    """An inline list that another process has parsed and checked; this one never takes it apart.

    json : the list. shapes : as `shapes_of_list` gives them. error : what it raised.
    """

    json: bytes
    shapes: Mapping[str, tuple[int, ...]]
    error: UsageError | None = None

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.is_instance_schema(cls)

    def checked(self) -> Mapping[str, tuple[int, ...]]:
        """Its shapes. Raises UsageError, as `shapes_of_list`."""
        if self.error is not None:
            raise self.error
        return self.shapes


def shapes_of_list(role: str, value: list[Any]) -> dict[str, tuple[int, ...]]:
    """The shape of a list by its role, after checking every value; nothing for a hierarchy.

    Raises what `roles.value` raises, naming the role.
    """
    try:
        if role_of(role).tree:
            roles.require_paths(Lists(value), role)
            return {}
        parsed = roles.value(Lists(value), role)
    except UsageError as error:
        error.where.setdefault("role", role)
        raise
    return {role: (len(parsed),)} if isinstance(parsed, list) else Data({role: parsed}).shapes()
