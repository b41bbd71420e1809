"""Which version of the service answers."""

from __future__ import annotations

import sys
from importlib.metadata import version

from fastapi import APIRouter

from app.creation.waiting import beside_methods, waiting_values
from app.http import threads
from app.http.dependencies import ServiceDep
from app.http.late import LateRoute
from app.http.problems import responses
from app.http.queries import ONLY_KNOWN
from app.openapi.document import VERSION
from app.resources.service.health.schemas import PluginBody, Version
from models.registry import plugins

router = APIRouter(tags=["service"], dependencies=ONLY_KNOWN, route_class=LateRoute)


@router.get(
    "/v1/version",
    operation_id="get_version",
    summary="The version of the service",
    responses=responses("unauthenticated", "forbidden", "invalid-request"),
)
async def get_version(service: ServiceDep) -> Version:
    """The version of the contract, of the service, and of Python under it; which maps and forms it
    does not have for lack of a package; and the methods of plug-ins."""
    plugged = await threads.run_sync(plugins)
    return Version(
        api=VERSION,
        service=version("umbel"),
        python=".".join(str(part) for part in sys.version_info[:3]),
        instance=service.settings.instance_id,
        waiting=waiting_values(beside_methods()),
        plugins=[PluginBody.of(plugin) for plugin in plugged],
    )
