"""Uploads in parts over the wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from app.http.late import LateModel
from models.parameters import NUMBER
from workers.artifacts.datasets import Dataset
from workers.artifacts.uploads import MOST_PARTS, Part, Upload

Sha256 = Annotated[str, Field(pattern="^[0-9a-fA-F]{64}$", description="In hexadecimal.")]
Number = Annotated[
    int, Field(ge=0, lt=MOST_PARTS, description="Number of the part; the first is 0 or 1.")
]

_SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

EXAMPLE: dict[str, Any] = {
    "id": "up_01kamjx5w0n5zr4v8cqe2t7h3f",
    "dataset": None,
    "name": "train",
    "role": "features",
    "member": None,
    "media_type": "application/x-npy",
    "parts": [{"number": 1, "bytes": 67108864, "sha256": _SHA256}],
    "bytes": 67108864,
    "created_at": "2026-11-21T17:00:00.000000Z",
}
COMPLETE_EXAMPLE: dict[str, Any] = {"parts": [{"number": 1, "sha256": _SHA256}]}


class PartBody(LateModel):
    """A part that has been sent."""

    model_config = ConfigDict(title="Part")

    number: int
    bytes: int
    sha256: str


class UploadBody(LateModel):
    """A file that is uploaded in parts."""

    model_config = ConfigDict(title="Upload")

    id: str
    dataset: str | None = Field(description="The dataset made from it, once it is complete.")
    name: str | None
    role: str | None
    member: str | None
    media_type: str | None
    parts: list[PartBody] = Field(description="The parts sent so far, by number.")
    bytes: int = Field(description="Total length of these parts.")
    created_at: str

    @classmethod
    def of(
        cls, upload: Upload, parts: Sequence[Part] = (), dataset: Dataset | None = None
    ) -> UploadBody:
        return cls(
            id=upload.id,
            dataset=None if dataset is None else dataset.id,
            name=upload.name,
            role=upload.role,
            member=upload.member,
            media_type=upload.media_type,
            parts=[PartBody(number=p.number, bytes=p.bytes, sha256=p.sha256) for p in parts],
            bytes=sum(part.bytes for part in parts),
            created_at=upload.created_at,
        )


class StatedPart(LateModel):
    """A part that must have been sent."""

    model_config = ConfigDict(extra="forbid")

    number: Annotated[Number, NUMBER]
    sha256: Sha256 | None = None


class CompleteBody(LateModel):
    """What must have been sent; everything may be left out."""

    model_config = ConfigDict(
        extra="forbid", title="Complete", json_schema_extra={"example": COMPLETE_EXAMPLE}
    )

    parts: list[StatedPart] | None = Field(
        None, max_length=MOST_PARTS, description="All parts; by default those that have been sent."
    )
    sha256: Sha256 | None = Field(None, description="SHA-256 of the whole file.")
