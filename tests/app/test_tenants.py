"""Another tenant's key, and a link to one tree, find nothing of what there is, by any operation."""

from __future__ import annotations

from app.http.environment_keys import new_key
from tests.app.conftest import Start, Working
from tests.app.tenants_kit import check_apart, check_link, made


def test_things_of_another_tenant_are_unknown(working: Working, start: Start) -> None:
    key, line = new_key("other")
    # The same Redis and store, now with keys; what there is belongs to the tenant without a key.
    stranger = start(api_keys=(line,)).client
    stranger.headers["Authorization"] = f"Bearer {key}"
    things = made(working.client)
    check_apart(working.client, stranger, things)
    check_link(working.client, things)
