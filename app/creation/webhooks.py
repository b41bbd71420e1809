"""The request that a webhook receives, for the document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
)
from starlette.routing import BaseRoute

from app.creation.job_schemas import JobBody
from app.http.late import LateModel, LateRoute


class EndedBody(LateModel):
    """The body of a webhook's request."""

    model_config = ConfigDict(title="JobEnded")

    type: Literal["job.succeeded", "job.failed", "job.cancelled"]
    timestamp: str = Field(description="When the job ended, as RFC 3339 in UTC.")
    data: JobBody = Field(
        description="The job as `GET` showed it when it had ended; the same at every attempt."
    )


def callbacks(
    operation_id: str,
    name: str = "job_ended",
    summary: str = "A job has ended",
    content: type[BaseModel] = EndedBody,
) -> list[BaseRoute]:
    """The request that the webhook of an operation receives, for the document; it is not served.

    name : what happened, as the document calls it. content : the body.
    """

    async def received(
        body: Any,
        webhook_id: Annotated[
            str,
            Header(description="The same at every attempt: requests with the same id are repeats."),
        ],
        webhook_timestamp: Annotated[int, Header(description="When it was sent, in Unix seconds.")],
        webhook_signature: Annotated[
            str,
            Header(
                description="As in Standard Webhooks: `v1,` and the HMAC-SHA256 of "
                "`<id>.<timestamp>.<body>` in base64; several are separated by spaces."
            ),
        ],
    ) -> None:
        """Standard Webhooks 1.0.0, signed with the secret from `GET /v1/webhook-secret`."""

    received.__annotations__["body"] = content
    router = APIRouter(route_class=LateRoute)
    router.post(
        "{$request.body#/webhook}",
        operation_id=operation_id,
        name=name,
        summary=summary,
        status_code=204,
        responses={
            204: {"description": "Any 2xx: the request has arrived."},
            410: {"description": "The receiver does not want it; it is not sent again."},
            "default": {
                "description": "Any other answer, or none within 15 s: the request is sent again "
                "after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h, or later if `Retry-After` "
                "says so. Redirects are not followed."
            },
        },
    )(received)
    return router.routes
