"""Routes and models that are built when they are first used: most of them never are.

To analyse the parameters of some 200 endpoints, and to build validators of what they take and
return, took half of the computing time of the API's start.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterable
from threading import RLock
from typing import Any, get_args

from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict
from pydantic.warnings import UnsupportedFieldAttributeWarning
from starlette.routing import BaseRoute, compile_path

_PATH = frozenset({"path_regex", "path_format", "param_convertors"})
_building = RLock()
"""A document is made in a thread, while the event loop answers."""

# As FastAPI does where it makes validators at once.
warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)


class LateModel(BaseModel):
    """The base of bodies and queries. Pydantic's own lock lets threads share the first use."""

    model_config = ConfigDict(defer_build=True)


class LateRoute(APIRoute):
    """The route class of every router: `APIRouter(route_class=LateRoute)`.

    An error in an endpoint's parameters is raised by the first use, and so by every document.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        # All that is read to find the route of a path.
        self.path = path
        self.endpoint = endpoint
        self.name = options.get("name") or endpoint.__name__
        self.operation_id = options.get("operation_id")
        self.include_in_schema = options.get("include_in_schema", True)
        self.methods = {method.upper() for method in options.get("methods") or ["GET"]}
        self._options = options
        self._is_built = False

    def __getattr__(self, name: str) -> Any:
        """Called for what is not there yet."""
        if name.startswith("__") or "_options" not in vars(self):
            raise AttributeError(name)
        if name in _PATH:
            self.path_regex, self.path_format, self.param_convertors = compile_path(self.path)
        else:
            self.build()
        return object.__getattribute__(self, name)

    def build(self) -> None:
        """Build it now, if it is not. A few milliseconds."""
        with _building:
            if self._is_built:
                return
            built = type(self).__new__(type(self))
            APIRoute.__init__(built, self.path, self.endpoint, **self._options)
            self.__dict__.update(vars(built), _is_built=True)


def build(routes: Iterable[BaseRoute]) -> None:
    """Build these routes."""
    for route in routes:
        if isinstance(route, LateRoute):
            route.build()


def complete(routes: Iterable[BaseRoute], operations: Container[str | None]) -> None:
    """Build the routes of these operations, and the validators of what they take and return."""
    for route in routes:
        if isinstance(route, LateRoute) and route.operation_id in operations:
            route.build()
            fields = [route.body_field, *route.dependant.query_params]
            for model in _models(
                [route.response_model, *(field.field_info.annotation for field in fields if field)]
            ):
                model.model_rebuild()
            for field in fields:
                if field is not None:
                    field.validate(None)


def _models(annotations: list[Any]) -> list[type[BaseModel]]:
    """The models in these annotations, and in their fields."""
    found: dict[type[BaseModel], None] = {}
    for annotation in annotations:
        if not isinstance(annotation, type) or get_args(annotation):
            annotations += get_args(annotation)
        elif issubclass(annotation, BaseModel) and annotation not in found:
            found[annotation] = None
            annotations += [field.annotation for field in annotation.model_fields.values()]
    return [*found]
