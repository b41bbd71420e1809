"""The keys of the service that knows some, and how one is entered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.http.environment_keys import new_key

if TYPE_CHECKING:
    from playwright.sync_api import Page

KEY, _LINE = new_key("garden")
TEXTS_KEY, _TEXTS_LINE = new_key("texts")
LINES = (_LINE, _TEXTS_LINE)


def enter(page: Page, key: str) -> None:
    page.get_by_label("Key", exact=True).fill(key)
    page.get_by_role("button", name="Continue").click()
