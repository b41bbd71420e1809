"""The layers of a tree on its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import until
from tests.e2e.client import Api

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_a_layer_colours_the_tree_and_gives_the_cut_back(look: Open, api: Api, axe: Axe) -> None:
    rng = np.random.default_rng(0)
    own = np.arange(240) % 6
    middles = 60.0 * np.eye(3)[own // 2] + 12.0 * np.eye(6, 3)[own % 2]
    points = rng.normal(size=(240, 3)) + middles
    job = api.run("hac", {"features": points.tolist()}, params={"linkage": "ward"}, name="Nested")
    tree = job["result"]["tree"]
    layers = api.client.get(f"/v1/trees/{tree}/layers").json()["layers"]
    assert layers
    page: Page = look(f"/trees/{tree}")
    region = page.get_by_role("region", name="Layers")
    openers = region.get_by_role("button")
    openers.first.wait_for()
    until(page, lambda: openers.count() == len(layers))
    summary = page.locator(".cut-summary strong")
    summary.wait_for()
    before = summary.inner_text()
    openers.first.click()
    wanted = f"{layers[0]['k']} clusters"
    until(page, lambda: wanted in summary.inner_text())
    until(page, lambda: openers.first.get_attribute("aria-pressed") == "true")
    axe(page)
    openers.first.click()
    until(page, lambda: summary.inner_text() == before)
    until(page, lambda: openers.first.get_attribute("aria-pressed") == "false")
