"""Clusters that move with time, on the page of their tree."""

from __future__ import annotations

import csv
import json
import struct
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest

from models.numerics.sphere import draw_vmf
from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import imported
from tests.e2e.client import Api

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator, Page

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ["<script>alert(1)</script>", "שלום", "engine", "brake"]


@pytest.fixture(scope="module")
def moved(api: Api) -> dict[str, Any]:
    """A job: 90 points in two clusters, over three months."""
    rng = np.random.default_rng(0)
    own, period = np.arange(90) % 2, np.arange(90) // 30
    job = api.run(
        "tvmf",
        {
            "features": draw_vmf(np.eye(4)[own], 80.0, rng).tolist(),
            "timestamps": [f"2024-0{month + 1}-01" for month in period],
            "feature_names": NAMES,
        },
        params={"n_clusters": 2, "n_init": 1, "max_iter": 15},
        name="Moving & <b>",
    )
    assert job["status"] == "succeeded", job
    return job


def panel(page: Page) -> Locator:
    region = page.get_by_role("region", name="Clusters over time")
    region.locator("img").wait_for()
    return region


def save(page: Page, item: str) -> tuple[str, Path]:
    opener = panel(page).get_by_role("button", name="Save clusters over time")
    opener.scroll_into_view_if_needed()
    # Scrolling would close the menu, so wait until it ends.
    page.evaluate("() => new Promise(on => requestAnimationFrame(() => requestAnimationFrame(on)))")
    opener.click()
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name=item).click()
    return waiting.value.suggested_filename, waiting.value.path()


def test_the_picture_and_its_files(look: Open, moved: dict[str, Any]) -> None:
    page = look(f"/trees/{moved['result']['tree']}?tab=drift")
    picture = panel(page).locator("img")
    page.wait_for_function("element => element.complete", arg=picture.element_handle())
    assert picture.evaluate("element => element.naturalWidth") == 1000
    # The page fetches it, with the key as a header if there is one, so no service address appears.
    assert (picture.get_attribute("src") or "").startswith("blob:")
    assert "share that each cluster has" in (picture.get_attribute("alt") or "")
    name, path = save(page, "Picture (SVG)")
    assert name == "moving-b-paths.svg"
    root = Xml.fromstring(path.read_text())
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert "Moving & <b>" in texts
    assert {"2024-01", "2024-02", "2024-03"} <= set(texts)
    assert any((text or "").startswith("<script>") for text in texts)
    name, path = save(page, "Picture (PNG)")
    assert name == "moving-b-paths.png"
    assert struct.unpack(">I", path.read_bytes()[16:20]) == (2000,)
    name, path = save(page, "Numbers (CSV)")
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [row["label"] for row in rows[::2]] == [f"2024-0{n}-01T00:00:00Z" for n in (1, 2, 3)]
    name, path = save(page, "Numbers (JSON)")
    assert name == "moving-b-paths.json"
    body = json.loads(path.read_text())
    assert len(body["items"]) == 3
    assert body["next_cursor"] is None


def test_it_follows_the_theme_and_the_palette(
    open_page: Open, moved: dict[str, Any], axe: Axe
) -> None:
    page = open_page(f"/trees/{moved['result']['tree']}?tab=drift", theme="dark", width=390)
    before = panel(page).locator("img").get_attribute("src")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    axe(page)
    page.get_by_role("tab", name="Explore").click()
    page.get_by_label("Palette").select_option("tol-muted")
    page.get_by_role("tab", name="Drift").click()
    page.locator(f'.tree-paths img:not([src="{before}"])').wait_for()
    paths = [url for url in requests if "/paths.svg" in url]
    assert len(paths) == 1
    assert "theme=dark" in paths[0]
    assert "palette=tol-muted" in paths[0]
    with page.expect_response(lambda answer: "theme=light" in answer.url):
        page.emulate_media(color_scheme="light")


def test_other_trees_and_a_deleted_model(look: Open, api: Api, moved: dict[str, Any]) -> None:
    page = look(f"/trees/{imported(api, '(a,b);', 'Plain')}")
    page.get_by_role("heading", name="Plain").wait_for()
    assert page.locator(".tree-paths").count() == 0
    # The last test of the file: no other test uses the model that it deletes.
    api.client.delete(f"/v1/models/{moved['result']['model']}")
    page = look(f"/trees/{moved['result']['tree']}?tab=drift")
    page.watch.expected.append("404")
    page.get_by_text("The model was deleted").wait_for()
