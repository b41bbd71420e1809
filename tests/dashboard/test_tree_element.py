"""`<umbel-tree>` of the JavaScript client, in a page of another origin."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.dashboard.conftest import WITHIN_MS
from tests.e2e.client import Api
from tests.e2e.conftest import Service

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAME = "<b>Cats</b> & dogs"


@pytest.fixture
def page(chromium: Browser, service: Service, elsewhere: str) -> Iterator[Page]:
    """A page of another origin, on which the element is defined."""
    opened = chromium.new_page()
    opened.set_default_timeout(WITHIN_MS)
    opened.goto(f"{elsewhere}/errors.js")
    opened.set_content('<script type="module" src="/element.js"></script><main></main>')
    opened.wait_for_function("() => Boolean(customElements.get('umbel-tree'))")
    yield opened
    opened.close()


def put(page: Page, **attributes: str) -> None:
    page.evaluate(
        """(attributes) => {
            const tree = document.createElement("umbel-tree");
            for (const [name, value] of Object.entries(attributes)) tree.setAttribute(name, value);
            document.querySelector("main").replaceChildren(tree);
        }""",
        attributes,
    )


def test_a_link_is_drawn_and_a_wrong_one_explained(service: Service, api: Api, page: Page) -> None:
    job = api.run("l2h", {"logits": [[4, 1, 0], [0, 3, 2], [0, 2, 3]], "names": ["a", "b", "c"]})
    tree = f"/v1/trees/{job['result']['tree']}"
    day = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    made = api.client.post(f"{tree}/shares", json={"title": NAME, "expires_at": day})
    assert made.status_code == 201, made.text
    share = made.json()
    put(page, url=service.url, share=share["token"], shape="rectangular")
    words = page.locator("umbel-tree p")
    words.filter(has_not_text="is being drawn").wait_for(state="attached")
    assert words.inner_text() == ""
    image = page.locator("umbel-tree img")
    image.wait_for()
    assert image.get_attribute("alt") == f"{NAME} of 3 leaves"
    assert image.evaluate("image => image.naturalWidth") > 100
    page.locator("umbel-tree").evaluate("tree => tree.setAttribute('share', 'umbel_share_wrong')")
    page.locator("umbel-tree p", has_text=": ").wait_for()
    assert image.is_hidden()


def test_without_a_tree_it_says_what_it_needs(service: Service, page: Page) -> None:
    put(page, url=service.url)
    page.locator("umbel-tree p", has_text="needs `share` or `tree`").wait_for()
