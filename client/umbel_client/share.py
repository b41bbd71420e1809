"""A share: a link that shows a tree to whoever has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Share:
    """A link; `tree.revoke(share)` ends it.

    body : the link as the service describes it. url : its address, a secret, once it is made; None
    for one from a list, since the service does not keep it.
    """

    def __init__(self, body: Mapping[str, Any], service_url: str) -> None:
        self.body = {name: value for name, value in body.items() if name not in ("token", "page")}
        self.url: str | None = f"{service_url}{body['page']}" if "page" in body else None

    @property
    def id(self) -> str:
        """The link's id, `sh_...`, which opens nothing."""
        return str(self.body["id"])

    @property
    def expires_at(self) -> str:
        """When it ends, as RFC 3339."""
        return str(self.body["expires_at"])

    def __repr__(self) -> str:
        return f"<Share {self.id} until {self.expires_at}>"
