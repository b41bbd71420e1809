"""Several runs in one table, each with a small tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.dashboard.conftest import Axe, Open

if TYPE_CHECKING:
    from tests.e2e.conftest import Service


def test_a_small_tree_of_each_run(
    look: Open, service: Service, blobs: dict[str, Any], axe: Axe
) -> None:
    page = look(f"/comparisons/new?features={blobs['features']}&labels={blobs['labels']}")
    page.locator(".run").nth(2).wait_for()
    page.locator(".run", has_text="Gaussian mixture").get_by_role("button", name="Remove").click()
    page.locator('[data-param="seeds"] input').fill("1")
    assert page.get_by_label("Keep their trees").is_checked()
    page.get_by_role("button", name="Run the comparison").click()
    page.locator("table.comparison").wait_for()
    rows = page.locator("table.comparison tbody tr")
    for at in range(2):
        picture = rows.nth(at).locator(".table-tree img")
        picture.wait_for()
        assert "The tree of" in str(picture.get_attribute("alt"))
    axe(page)
    rows.first.get_by_role("link").click()
    page.locator(".cut-summary strong").wait_for()
