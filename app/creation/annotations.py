"""From a PATCH to a changed name, description or list of tags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from app.creation.annotation_schemas import Changes
from app.http.dependencies import Service
from app.http.etags import require_match
from workers.model import Annotation


class Annotated(Protocol):
    """What has a name, a description and tags."""

    @property
    def name(self) -> str | None: ...
    @property
    def description(self) -> str | None: ...
    @property
    def tags(self) -> Sequence[str]: ...


T = TypeVar("T", bound=Annotated)


def annotated(
    service: Service,
    tenant: str,
    own_id: str,
    changes: Changes,
    look: Callable[[], T],
    etags_of: Callable[[T], Sequence[str]],
    if_match: str | None,
) -> T:
    """What `look` gives once the changes are stored.

    look : reads it, and raises Refused `not-found` where it is gone. etags_of : those that a client
        may have of it. if_match : the header; its condition holds for what is replaced, whichever
        other writer was faster.

    Raises Refused `precondition-failed`. Blocks.
    """

    def current() -> Annotation:
        shown = look()
        require_match(if_match, *etags_of(shown))
        return Annotation(name=shown.name, description=shown.description, tags=tuple(shown.tags))

    # Before anything is read for it: only an owner may learn that it exists.
    look()
    service.annotations.change(tenant, own_id, current, changes.applied)
    return look()
