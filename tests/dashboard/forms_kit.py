"""Steps in the page's forms that its tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator


def choose(region: Locator, role: str, name: str) -> None:
    """Choose the dataset whose name contains `name` as the input `role`."""
    option = region.locator(f"[data-role={role}] option", has_text=name)
    region.locator(f"[data-role={role}] select").first.select_option(option.get_attribute("value"))
