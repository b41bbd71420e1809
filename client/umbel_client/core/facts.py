"""What is known of a tree without its nodes, and of an edition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from umbel_client.core.messages import Reply, json_of
from umbel_client.errors import UnexpectedResponse
from umbel_client.quoting import as_arguments


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """A tree without its nodes.

    job : the id of the job that made it; None for an imported tree. model : the id of the model
    that was fitted with it, if there is one. warnings, metrics : the job's.
    description, tags : what users say of it.
    """

    id: str
    name: str | None
    method: str
    kind: str
    job: str | None
    model: str | None
    n_points: int
    n_leaves: int
    created_at: str
    warnings: tuple[str, ...] = ()
    metrics: Mapping[str, float] | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, root: Mapping[str, Any], top: Mapping[str, Any], job: Mapping[str, Any]
    ) -> TreeFacts:
        """root : the tree with its root alone. top : its root in a view. job : maybe empty."""
        result = job.get("result") or {}
        return cls(
            id=root["id"],
            name=root["name"],
            method=root["method"],
            kind=root["kind"],
            job=root["job"],
            model=result.get("model"),
            n_points=top["size"],
            n_leaves=top["n_leaves"],
            created_at=root["created_at"],
            warnings=tuple(map(as_arguments, job.get("warnings") or root.get("warnings") or ())),
            metrics=result.get("metrics") or {},
            description=root.get("description"),
            tags=tuple(root.get("tags") or ()),
        )


def tree_of(job: Mapping[str, Any]) -> str:
    """The id of the tree that a job has made. Raises UnexpectedResponse if it made none."""
    tree_id = (job.get("result") or {}).get("tree")
    if not isinstance(tree_id, str):
        raise UnexpectedResponse(f"The job {job.get('id')} has no tree", 200)
    return tree_id


@dataclass(frozen=True, slots=True)
class EditionState:
    """An edition as the service last described it, with the ETag that its next change needs."""

    body: Mapping[str, Any]
    etag: str

    @classmethod
    def of(cls, reply: Reply) -> EditionState:
        """From a response that describes an edition. Raises UnexpectedResponse for another one."""
        return cls(json_of(reply, "id", "revision"), reply.headers.get("etag", ""))
