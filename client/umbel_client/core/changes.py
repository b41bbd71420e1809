"""Name, description and tags of what the service keeps, changed afterwards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from typing import Any, Final, Literal

from umbel_client.core.sending import json_of, sent
from umbel_client.core.steps import Operation, Request


class Kept(Enum):
    """What stays as it is, since None removes."""

    KEPT = "kept"


KEPT: Final = Kept.KEPT


def changed(
    path: str,
    name: str | Literal[Kept.KEPT] | None,
    description: str | Literal[Kept.KEPT] | None,
    tags: Sequence[str] | Literal[Kept.KEPT] | None,
) -> Operation[dict[str, Any]]:
    """The thing at an address after the change, as the service describes it.

    Raises ProblemError, ConnectionFailed, UnexpectedResponse.
    """
    listed = [tags] if isinstance(tags, str) else tags
    fields = {"name": name, "description": description, "tags": listed}
    body = {field: value for field, value in fields.items() if value is not KEPT}
    headers = {"Content-Type": "application/merge-patch+json"}
    content = json.dumps(body, default=list).encode()
    return json_of((yield from sent(Request("PATCH", path, {}, headers, content))), "id", "tags")
