"""Texts embedded on the page, where the operator has set an embedder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.keyed.keys_kit import TEXTS_KEY, enter
from tests.e2e.client import Api
from tests.e2e.conftest import PATIENCE_S, Service
from tests.workers.embedding.endpoint_kit import EmbeddingServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXTS = b"text\nred fox in the forest\ngrey wolf in the forest\nwhale in the deep sea\nshark at sea"


@pytest.fixture(scope="module")
def texts(keyed: Service) -> Iterator[httpx.Client]:
    """The service, for the tenant of these texts."""
    headers = {"Authorization": f"Bearer {TEXTS_KEY}"}
    with httpx.Client(base_url=keyed.url, headers=headers, timeout=PATIENCE_S) as client:
        yield client


@pytest.fixture
def open_texts(open_keyed: Callable[..., Page]) -> Callable[[str], Page]:
    def open_(path: str) -> Page:
        page = open_keyed(path)
        enter(page, TEXTS_KEY)
        page.locator("main h1").first.wait_for()
        return page

    return open_


def test_texts_are_embedded_and_then_fitted(
    open_texts: Callable[[str], Page], texts: httpx.Client, axe: Axe
) -> None:
    page = open_texts("/")
    file = {"name": "tales.csv", "mimeType": "text/csv", "buffer": TEXTS}
    page.get_by_label("Files to upload").set_input_files(files=[file])
    offer = page.get_by_role("button", name="Embed the texts")
    offer.wait_for()
    axe(page)
    offer.click()
    page.wait_for_url("**features=ds_*")
    features = page.locator("[data-role=features] select")
    assert features.locator("option:checked").inner_text().startswith("tales.csv, embedded")
    page.get_by_role("button", name="Run Agglomerative").click()
    page.wait_for_url("**/#/trees/tr_*")


def test_a_table_without_features_is_read_as_texts(open_texts: Callable[[str], Page]) -> None:
    page = open_texts("/")
    table = b"number,review\nn7,a red fox that is looking for a grey wolf in the forest\n"
    table += b"n8,a shark that is looking for a whale in the deep sea\nn9,an owl in the forest"
    file = {"name": "reviews.csv", "mimeType": "text/csv", "buffer": table}
    page.get_by_label("Files to upload").set_input_files(files=[file])
    page.get_by_role("button", name="Embed the texts").click()
    page.wait_for_url("**features=ds_*")


def test_a_failure_is_shown(
    open_texts: Callable[[str], Page], texts: httpx.Client, server: EmbeddingServer, axe: Axe
) -> None:
    dataset = Api(texts, workers=1).upload(TEXTS + b"\nan owl", media="text/csv", name="more.csv")
    page = open_texts(f"/datasets/{dataset}")
    server.next(401)
    page.get_by_role("button", name="Embed the texts").click()
    page.get_by_text("HTTP 401").wait_for()
    axe(page)


def test_it_is_not_offered_without_an_embedder(open_page: Open, api: Api) -> None:
    dataset = api.upload(TEXTS, media="text/csv", name="tales.csv")
    page = open_page("/", heading=False)
    with page.expect_response("**/v1/usage"):
        page.goto(page.url.partition("#")[0] + f"#/datasets/{dataset}")
    page.get_by_text("Uploaded as").wait_for()
    assert page.get_by_role("button", name="Embed the texts").count() == 0


def test_the_find_box_offers_a_search_by_meaning(
    open_texts: Callable[[str], Page], texts: httpx.Client, axe: Axe
) -> None:
    newick = "(('red fox':1,'grey wolf':1)'in the forest':1,'deep sea':1)animals;"
    media = {"Content-Type": "text/x-nh"}
    made = texts.post("/v1/trees", content=newick, headers=media)
    page = open_texts(f"/trees/{made.json()['id']}")
    page.get_by_label("Find a node by its name").fill("fox that is red")
    page.get_by_text("No node has this in its name.").wait_for()
    page.get_by_role("button", name="By meaning").click()
    page.get_by_text("the nearest in meaning first").wait_for()
    axe(page)
    page.get_by_role("option").first.click()
    page.wait_for_function("() => location.hash.includes('node=')")


def test_a_search_by_meaning_looks_through_attached_texts(
    open_texts: Callable[[str], Page], texts: httpx.Client, axe: Axe
) -> None:
    """Leaf 3, called 14, is the shark: no name has a letter."""
    media = {"Content-Type": "text/x-nh"}
    made = texts.post("/v1/trees", content="((11:1,12:1):1,(13:1,14:1):1);", headers=media)
    tree = made.json()["id"]
    api = Api(texts, workers=1)
    items = api.upload(TEXTS, media="text/csv", role="items", name="tales")
    path = f"/v1/trees/{tree}/attachments"
    prefer = {"Prefer": "wait=20"}
    body = {"items": items, "name": "Tales"}
    attached = texts.post(path, json=body, headers=prefer).json()
    api.ended(attached["job"])
    page = open_texts(f"/trees/{tree}")
    page.get_by_label("Find a node by its name").fill("a shark at sea")
    page.get_by_text("No node has this in its name.").wait_for()
    page.get_by_role("button", name="By meaning").click()
    page.get_by_text("by names and Tales, the nearest in meaning first").wait_for()
    first = page.get_by_role("option").first
    assert "14" in first.inner_text()
    assert "shark at sea" in first.inner_text()
    axe(page)
    first.click()
    page.wait_for_function("() => location.hash.includes('node=')")


def test_a_search_by_meaning_is_not_offered_without_an_embedder(open_page: Open, api: Api) -> None:
    newick, media = b"('red fox':1,'grey wolf':1)animals;", {"Content-Type": "text/x-nh"}
    made = api.client.post("/v1/trees", content=newick, headers=media)
    page = open_page(f"/trees/{made.json()['id']}")
    with page.expect_response("**/v1/usage"):
        page.get_by_label("Find a node by its name").fill("fox")
    page.get_by_role("option").first.wait_for()
    assert page.get_by_role("button", name="By meaning").count() == 0
