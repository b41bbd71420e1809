"""Links to a tree: who holds one, and the few requests that it opens.

A link's token is a bearer token that its page sends as a key is sent. It opens nothing but what
`opens` lists: reading one tree, as one edition and naming show it, and the map that goes with it.
Every other request with it is refused, also where its tenant's key would be admitted.
"""

from __future__ import annotations

import hmac
import re
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from anyio import CapacityLimiter, to_thread

from app.http.problems import Refused
from workers.artifacts.keys import digest_of, rfc3339
from workers.artifacts.shares import Share, Shares

KNOWN_S = 2.0
"""How long what the store says of a share holds: revoked ones end within this time."""

_KEPT = 4096
_READERS = 4
"""Reads of shares at a time: tokens that nobody issued cost a read each."""
_NOBODY = "0" * 64


class SharedLinks:
    """The shares that one process admits. Use it on one event loop; `store` is set once it is
    connected."""

    def __init__(self) -> None:
        self.store: Shares | None = None
        self._known: OrderedDict[str, tuple[Share | None, float]] = OrderedDict()
        self._readers = CapacityLimiter(_READERS)

    async def admit(self, share_id: str, token: str) -> Share:
        """The share of a token with this id.

        Raises Refused `unauthenticated` for a token that opens nothing, `gone` for one that has
        ended, and what the store does.
        """
        share = await self._share(share_id)
        # The id is no secret; what is secret is compared in constant time, also for unknown ids.
        digest = _NOBODY if share is None else share.digest
        if not hmac.compare_digest(digest, digest_of(token)) or share is None:
            raise Refused(
                "unauthenticated",
                "This link opens nothing: it was revoked, or never made.",
                headers={"WWW-Authenticate": 'Bearer realm="umbel"'},
            )
        if share.expires_at <= datetime.now(UTC):
            raise Refused("gone", f"The link ended at {rfc3339(share.expires_at)}.")
        return share

    def forget(self, share_id: str) -> None:
        """Ask the store again for a share that was revoked by this process."""
        self._known.pop(share_id, None)

    async def _share(self, share_id: str) -> Share | None:
        if self.store is None:
            raise Refused("unavailable", "The service is starting.", headers={"Retry-After": "2"})
        share, until = self._known.get(share_id, (None, 0.0))
        if time.monotonic() < until:
            return share
        share = await to_thread.run_sync(self.store.get, share_id, limiter=self._readers)
        self._known[share_id] = share, time.monotonic() + KNOWN_S
        self._known.move_to_end(share_id)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return share


@dataclass(frozen=True, slots=True)
class _Opened:
    """Paths that a share opens, as a pattern, with their query parameters.

    edited : whether they show the edition; others are open only for shares without one, unless it
        is None and they show no node. named : whether they show the naming. rows : whether they
        tell which rows are where.
    """

    path: str
    parameters: frozenset[str] = frozenset()
    edited: bool | None = True
    named: bool = True
    rows: bool = False


_FORM = (
    "root depth layout labels shape palette theme title color_by "
    "px height width_mm height_mm dpi font_pt fonts"
)
_TREE = (
    _Opened(r"(\.[a-z.]+)?", frozenset(_FORM.split())),
    _Opened("/view", frozenset({"root", "max_nodes", "scale", "color_by"})),
    _Opened("/search", frozenset({"q", "limit", "cursor"})),
    _Opened("/cut", frozenset({"k", "height", "level", "limit"})),
    _Opened(r"/nodes/[0-9]+"),
    _Opened("/levels"),
    _Opened("/layers"),
    _Opened(
        r"/nodes/[0-9]+/members(\.[a-z]+)?", frozenset({"limit", "cursor"}), named=False, rows=True
    ),
    _Opened(r"/nodes/[0-9]+/picture", frozenset({"px"}), edited=False, named=False, rows=True),
)
_MAP = (
    _Opened("", edited=None, named=False),
    _Opened(r"/positions(\.[a-z]+)?", frozenset({"order"}), named=False),
)
_CUT = re.compile(r"(cluster|height|level):[^:]*")
SELF = "/v1/shared"
"""Where the holder of a link reads what it shows."""


def opens(share: Share, path: str, query: Mapping[str, str]) -> bool:
    """Whether a share opens a GET of this path, below any proxy's prefix, with this query.

    The edition and the naming of the share must match the query's, so that nothing else than
    what they show is shown.
    """
    if path == SELF:
        return not query
    within = f"/v1/trees/{share.tree}"
    for opened in _TREE:
        if re.fullmatch(re.escape(within) + opened.path, path):
            return _fits(share, opened, query)
    for opened in _MAP:
        if share.map is not None and re.fullmatch(f"/v1/maps/{share.map}{opened.path}", path):
            return _fits(share, opened, query)
    return False


def _fits(share: Share, opened: _Opened, query: Mapping[str, str]) -> bool:
    if opened.rows and not share.rows:
        return False
    if share.edition is not None and opened.edited is False:
        return False
    fixed = {"edition": share.edition} if opened.edited else {}
    fixed |= {"names": share.naming} if opened.named else {}
    if any(query.get(name) != value for name, value in fixed.items()):
        return False
    if not query.keys() <= opened.parameters | fixed.keys():
        return False
    return "color_by" not in query or _CUT.fullmatch(query["color_by"]) is not None
