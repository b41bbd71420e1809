"""Links that show one tree to whoever has them: their SHA-256, never the links' tokens.

A share has one object, written once; its name holds the time at which it ends. To revoke it is to
remove the object. The folder is that of its tree, whatever its tenant: a token finds its share by
the id in it, and does not say whose it is.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel, ConfigDict

from workers.artifacts.beside import Room, unlimited
from workers.artifacts.editions import id_beside, tree_of
from workers.artifacts.keys import digest_of
from workers.errors import Missing
from workers.stores.erasure import counted_later
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.seals import read_model, sealed

MOST_SHARES = 100
"""The most shares of one tree."""

REMEMBERED = timedelta(days=30)
"""How long after its end a share is kept, so that its link says that it has ended."""

_ID = r"[0-9a-hjkmnp-tv-z]{52}"
_FORM = re.compile(rf"umbel_share_({_ID})_[A-Za-z0-9_-]{{43}}")
_NAME = re.compile(rf"(sh_{_ID})\.([0-9]{{15}})")


class Share(BaseModel):
    """What is kept of a link.

    digest : the SHA-256 of its token, in hexadecimal: a token has 256 random bits. title, note :
    for whoever has it; view : where its page opens, as a query. edition, naming, map : what it
    shows with the tree. rows : whether it shows which rows are where. embed : whether
    pages of others may frame it. by : the name or id of the key that made it.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    tenant: str
    name: str | None
    title: str | None = None
    note: str | None = None
    view: str | None = None
    edition: str | None
    naming: str | None
    map: str | None
    rows: bool
    embed: bool
    digest: str
    by: str | None
    created_at: datetime
    expires_at: datetime

    @property
    def tree(self) -> str:
        return tree_of(self.id)


class Shares:
    """The shares of one store. Threads may share it; every call blocks.

    count : called with the folder of a tree's shares after a change (`Beside.count`).
    """

    def __init__(self, blobs: Blobs, count: Callable[[str], None]) -> None:
        self._blobs = blobs
        self._count = count

    def add(
        self,
        tenant: str,
        tree_id: str,
        *,
        expires_at: datetime,
        name: str | None = None,
        title: str | None = None,
        note: str | None = None,
        view: str | None = None,
        edition: str | None = None,
        naming: str | None = None,
        map: str | None = None,
        rows: bool = False,
        embed: bool = False,
        by: str | None = None,
        room: Room = unlimited,
    ) -> tuple[Share, str]:
        """A new share, and its token, which is nowhere else; durable on return. room : for its
        bytes."""
        share_id = id_beside(tree_id, "sh")
        token = f"umbel_share_{share_id.partition('_')[2]}_{secrets.token_urlsafe(32)}"
        share = Share(
            id=share_id,
            tenant=tenant,
            name=name,
            title=title,
            note=note,
            view=view,
            edition=edition,
            naming=naming,
            map=map,
            rows=rows,
            embed=embed,
            digest=digest_of(token),
            by=by,
            created_at=datetime.now(UTC),
            expires_at=expires_at,
        )
        key = layout.share(tree_id, f"{share_id}.{moment_ms(expires_at):015d}")
        content = sealed(key, share.model_dump_json().encode())
        with room(len(content)):
            self._blobs.put(key, content, create=True)
            self._count(layout.shares_of(tree_id))
        return share, token

    def get(self, share_id: str) -> Share | None:
        """A share, ended or not; None if there is none. Whose it is, is for the caller to check."""
        for key, own_id, _ in self._listed(layout.shares_of(tree_of(share_id))):
            if own_id == share_id:
                return self._stored(key)
        return None

    def of_tree(self, tenant: str, tree_id: str) -> list[Share]:
        """The shares of a tree that are kept, the newest first."""
        keys = sorted((key for key, _, _ in self._listed(layout.shares_of(tree_id))), reverse=True)
        stored = (self._stored(key) for key in keys)
        return [share for share in stored if share is not None and share.tenant == tenant]

    def revoke(self, share: Share) -> None:
        """Remove a share: its token opens nothing any more."""
        key = layout.share(share.tree, f"{share.id}.{moment_ms(share.expires_at):015d}")
        self._blobs.delete(key)
        counted_later(lambda: self._count(layout.shares_of(share.tree)))

    def sweep(self, now: datetime) -> int:
        """Remove the shares that ended longer ago than `REMEMBERED`; returns their number. One
        listing of all shares."""
        before = moment_ms(now - REMEMBERED)
        ended = [key for key, _, end in self._listed(layout.SHARES) if end < before]
        for key in ended:
            self._blobs.delete(key)
        for folder in {key.rpartition("/")[0] + "/" for key in ended}:
            self._count(folder)
        return len(ended)

    def _listed(self, prefix: str) -> Iterator[tuple[str, str, int]]:
        """The key, the id and the end in milliseconds of each share."""
        for key in self._blobs.keys(prefix):
            match = _NAME.fullmatch(key.rpartition("/")[2])
            if match is not None:
                yield key, match[1], int(match[2])

    def _stored(self, key: str) -> Share | None:
        try:
            return read_model(self._blobs, key, Share)
        except Missing:
            return None


def share_id_in(token: str) -> str | None:
    """The id that a token says it has; None for what is no token of a share."""
    match = _FORM.fullmatch(token)
    return None if match is None else f"sh_{match[1]}"


def moment_ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
