"""Lines of the audit log, over the wire."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from app.http.late import LateModel

EXAMPLE: dict[str, Any] = {
    "at": "2026-03-01T12:00:00.000000Z",
    "tenant": "acme",
    "actor": "key_01m00000000000000000000000",
    "name": "ci",
    "role": "write",
    "action": "POST /v1/jobs",
    "path": "/v1/jobs",
    "status": 202,
    "made": "/v1/jobs/job_01m00000000000000000000000",
    "origin": "10.0.0.7",
    "forwarded": None,
    "request": "req_0123456789abcdef01234567",
    "skipped": 0,
}


class AuditBody(LateModel):
    """A change, a sign-in, a removal of what has expired, or a use of a link."""

    model_config = ConfigDict(title="AuditEvent", json_schema_extra={"examples": [EXAMPLE]})

    at: str = Field(description="When the response began, RFC 3339 in UTC.")
    tenant: str | None = Field(description="Whose; null for whoever was refused.")
    actor: str = Field(
        description="The id of the key, link or person; `environment` for a key of the settings, "
        "`local` without keys, `operator` for a command, `retention` for what the service removes "
        "by itself, `unknown` for whoever was refused."
    )
    name: str | None = Field(description="The name of the key.")
    role: str | None = Field(description="The role of the key.")
    action: str = Field(
        description="The method and the route, as `POST /v1/jobs`; `sign-in` for whoever was "
        "refused or came from the issuer; `expire`, with the reason, for what was removed since "
        "its time was over; `keys new` and the like for commands."
    )
    path: str = Field(description="The path, without its query.")
    status: int = Field(description="The status of the response; 0 for commands.")
    made: str | None = Field(description="The address of what the request made.")
    origin: str | None = Field(description="The address of the peer.")
    forwarded: str | None = Field(
        description="`X-Forwarded-For` of the request, which anybody may claim."
    )
    request: str = Field(description="The id of the request, as in the service's log.")
    skipped: int = Field(description="Lines that were left out before this one.")
