"""The fields that requests for work share: name, description, tags, webhook, expiry, retries;
inputs."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from fastapi import Query
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from app.creation.annotation_schemas import NewDescription, NewTags
from app.creation.expiry import ExpiresAtField
from app.http.late import LateModel
from models.parameters import NUMBER
from workers.formats.inline import LongList
from workers.model import RETRIED, Retrying
from workers.webhooks.addresses import LONGEST, parse


def _webhook_address(text: str) -> str:
    try:
        parse(text)
    except ValueError as error:
        raise PydanticCustomError("webhook_address", "{why}", {"why": str(error)}) from None
    return text


WebhookAddress = Annotated[
    str,
    AfterValidator(_webhook_address),
    WithJsonSchema({"type": "string", "format": "uri", "maxLength": LONGEST}),
]


Name = Annotated[
    str | None, Field(max_length=1000, description="Any text; stored, never interpreted.")
]


Role = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[a-z_]+$")]


def _id_or_list(value: object) -> object:
    if not isinstance(value, (str, list, LongList)):
        raise PydanticCustomError("input_type", "Input should be an id or a list")
    return value


def _input_or_none(value: object) -> object:
    return value if value is None else _id_or_list(value)


Given = Annotated[str | list[Any] | SkipJsonSchema[LongList], BeforeValidator(_id_or_list)]
"""An id or a list."""


MaybeGiven = Annotated[
    str | list[Any] | SkipJsonSchema[LongList] | None, BeforeValidator(_input_or_none)
]


Inputs = Annotated[
    dict[Role, Given],
    Field(
        max_length=100,
        description="For each role an id (`ds_...`, `tr_...`) or an inline list: of rows for a "
        "matrix, of values for labels and names, of ids if the method takes several inputs. A row "
        "of `labels` may be a list of several or none, or null where they are unknown; a "
        "`hierarchy` may be a list of class paths such as `animal/dog`, a `graph` of pairs of "
        "labels or points, `must_link` and `cannot_link` of pairs of points by number or name.",
        examples=[{"logits": "ds_01kamjx5w0n5zr4v8cqe2t7h3f"}],
    ),
]


_WEBHOOK = (
    "An https:// or http:// address that receives a signed POST when the job has "
    "ended (see the callback): at least once, and again over three days until the answer is "
    "2xx. It has no user name, password or fragment; private addresses are refused unless the "
    "service allows them."
)
_WEBHOOK_EXAMPLE = "https://example.org/hooks/umbel"
Webhook = Annotated[WebhookAddress | None, Field(description=_WEBHOOK, examples=[_WEBHOOK_EXAMPLE])]
WebhookQuery = Annotated[
    WebhookAddress | None, Query(description=_WEBHOOK, examples=[_WEBHOOK_EXAMPLE])
]


class CutBody(LateModel):
    """The flat clusters to evaluate: exactly one of the three."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"examples": [{"k": 10}]}
    )

    k: int | None = Field(None, ge=1, description="The number of clusters.")
    height: float | None = Field(
        None, description="The clusters are the highest nodes that are no higher than this."
    )
    level: int | None = Field(
        None, ge=0, description="The clusters are the nodes this many edges below the root."
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> CutBody:
        if sum(value is not None for value in (self.k, self.height, self.level)) != 1:
            raise ValueError("give exactly one of k, height and level")
        return self


MOST_BEST = 1000
"""The largest `top_k`."""


MOST_ATTEMPTS = 20
LONGEST_BACKOFF_S = 3600
Reason = Literal["worker-lost", "process-lost", "unavailable", "full", "internal"]
assert get_args(Reason) == RETRIED

_ATTEMPTS = (
    "How often it is tried at most, where an attempt ends for a reason that may pass; null: as "
    "often as the service tries (`UMBEL_MAX_ATTEMPTS`). Attempts that a stopped worker gave back, "
    "or that made room for shorter work, do not count."
)
_BACKOFF = (
    "Seconds before the second attempt, doubled for each that follows, up to an hour; null: none."
)
_RETRY_ON = (
    "The reasons for which it is tried again, as types of problems; null: all of these. An input "
    "that cannot be used is never a reason."
)
_Attempts = Annotated[int | None, Field(ge=1, le=MOST_ATTEMPTS)]
_Backoff = Annotated[float | None, Field(ge=0, le=LONGEST_BACKOFF_S)]
_RetryOn = Annotated[tuple[Reason, ...] | None, Field(max_length=len(RETRIED))]
AttemptsQuery = Annotated[_Attempts, Query(description=_ATTEMPTS)]
BackoffQuery = Annotated[_Backoff, Query(description=_BACKOFF)]
RetryOnQuery = Annotated[_RetryOn, Query(description=_RETRY_ON)]


class NewWork(LateModel):
    """What every request for work may have."""

    name: Name = None
    description: NewDescription = None
    tags: NewTags = []
    webhook: Webhook = None
    expires_at: ExpiresAtField = None
    attempts: Annotated[_Attempts, NUMBER] = Field(None, description=_ATTEMPTS, examples=[5])
    backoff: Annotated[_Backoff, NUMBER] = Field(None, description=_BACKOFF, examples=[10])
    retry_on: _RetryOn = Field(None, description=_RETRY_ON, examples=[["worker-lost"]])

    @property
    def retrying(self) -> Retrying:
        """How the job is tried again."""
        return Retrying(attempts=self.attempts, backoff=self.backoff, retry_on=self.retry_on)
