"""What waits for a package that the service lacks: offered, and not to be chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.dashboard.conftest import Axe, Open
from tests.e2e.conftest import Service

if TYPE_CHECKING:
    from playwright.sync_api import Page

WAITING = [
    {"parameter": parameter, "value": value, "needs": [package], "install": [f"pip {package}"]}
    for parameter, value, package in (
        ("by", "umap", "umap-learn"), ("by", "tsne", "openTSNE"), ("form", "pdf", "typst")
    )
]  # fmt: skip
CONES = {"parameter": "solver", "value": "scs", "needs": ["cvxpy"], "install": ["pip cvxpy"]}


@pytest.fixture
def page(open_page: Open, service: Service) -> Page:
    """A page of a service without packages of extras."""
    version = {**service.client.get("/v1/version").json(), "waiting": WAITING}
    listed = service.client.get("/v1/methods").json()
    for item in listed["items"]:
        item["waiting"] = [CONES] if item["id"] == "tcs-cs" else []
    page = open_page("/jobs")
    page.route("**/v1/version", lambda route: route.fulfill(json=version))
    page.route("**/v1/methods?*", lambda route: route.fulfill(json=listed))
    return page


def maps(page: Page) -> dict[str, bool]:
    """The maps that are offered, and whether each can be chosen."""
    select = page.get_by_role("combobox", name="Map", exact=True)
    select.wait_for()
    texts = select.locator("option").evaluate_all(
        "all => all.map(one => [one.text, !one.disabled])"
    )
    return dict(texts)


def test_a_value_of_a_parameter(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/#/?method=tcs-cs")
    page.reload()
    solver = page.locator('[data-param="solver"] select')
    solver.wait_for()
    assert solver.locator("option").evaluate_all(
        "all => all.map(one => [one.text, one.disabled])"
    ) == [["dual", False], ["clarabel", False], ["scs: cvxpy is not installed", True]]
    assert solver.input_value() == '"dual"'


def test_maps_and_pictures(page: Page, service: Service, blobs: dict[str, Any], axe: Axe) -> None:
    page.goto(f"{service.url}/#/trees/{blobs['tree']}")
    page.reload()
    assert maps(page) == {
        "None": True,
        "Principal components": True,
        "UMAP: umap-learn is not installed": False,
        "t-SNE: openTSNE is not installed": False,
    }
    page.get_by_role("button", name="Save", exact=True).first.click()
    page.get_by_role("menuitem", name="Figure for print").click()
    dialog = page.get_by_role("dialog")
    form = dialog.get_by_label("Form", exact=True)
    assert form.input_value() == "svg"
    assert form.locator("option[value=pdf]").is_disabled()
    axe(page)
    dialog.get_by_role("button", name="Cancel").click()

    page.goto(f"{service.url}/#/trees")
    page.get_by_role("button", name="Download").first.click()
    entry = page.get_by_role("menuitem", name="PDF: typst is not installed")
    assert entry.get_attribute("aria-disabled") == "true"
    assert page.get_by_role("menuitem", name="PNG").get_attribute("aria-disabled") is None
