"""Steps in the page's forms that its tests share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route


def choose(region: Locator, role: str, name: str) -> None:
    """Choose the dataset whose name contains `name` as the input `role`."""
    option = region.locator(f"[data-role={role}] option", has_text=name)
    region.locator(f"[data-role={role}] select").first.select_option(option.get_attribute("value"))


def finished(page: Page) -> None:
    """Wait until the run that was started here opens its tree, and go back to its job."""
    page.wait_for_url("**/#/trees/tr_*")
    page.go_back()
    page.get_by_role("link", name="Open the tree").wait_for()


@contextmanager
def held_back(page: Page, address: re.Pattern[str], method: str) -> Iterator[list[Route]]:
    """Requests to such an address, which the page sends meanwhile, arrive when the block ends: what
    it shows while it waits is seen on the quickest machine."""
    held: list[Route] = []
    is_held = True

    def send(route: Route) -> None:
        if is_held and route.request.method == method:
            held.append(route)
        else:
            route.continue_()

    page.route(address, send)
    yield held
    is_held = False
    for route in held:
        route.continue_()
