"""The reference at `/docs`: operations, parameters of methods, requests with the tab's key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.dashboard.conftest import Axe, Pages, PageWatch
from tests.e2e.conftest import Service

if TYPE_CHECKING:
    from playwright.sync_api import Page

KEY = "umbel_of_this_tab"


@pytest.fixture(scope="module")
def loaded(pages: Pages, service: Service) -> Iterator[Page]:
    """The reference, in a tab that has a key, as after the page at `/`: once, since its document is
    large. What one test opens, the next ones find open."""
    page = pages.take(("light", 1280, 800), service.url, fresh=False)
    pages.open(page, "/jobs", anew=True)
    page.evaluate("key => sessionStorage.setItem('umbel.key', key)", KEY)
    page.goto(f"{service.url}/docs")
    page.locator("#operations-tag-jobs").wait_for()
    yield page
    pages.give_back(page, fresh=False)


@pytest.fixture
def reference(loaded: Page) -> Iterator[Page]:
    """The same; the test fails at its end for violations in `page.watch`, as with `open_page`."""
    yield loaded
    watch: PageWatch = loaded.watch  # type: ignore[attr-defined]
    assert not watch.bad(), "\n".join(watch.bad())


def opened(page: Page, tag: str, operation: str) -> Any:
    block = page.locator(f"#operations-{tag}-{operation}")
    if not block.count():
        page.locator(f"#operations-tag-{tag}").click()
    run = block.get_by_role("button", name="Try it out")
    if not run.count():
        block.locator(".opblock-summary-control").click()
    run.wait_for()
    return block


def test_everyone_can_read_the_reference(reference: Page, axe: Axe) -> None:
    axe(reference)


def test_it_opens_on_the_main_job(reference: Page, service: Service) -> None:
    """By curl, by the client and by a walk-through; the link opens the operation, `l2h` first."""
    intro = reference.locator(".first-job")
    for step in (f"{service.url}/v1/jobs", '"method": "l2h"', f'Umbel("{service.url}")'):
        assert step in intro.inner_text()
    assert intro.bounding_box()["y"] < 100
    walk = intro.get_by_role("link", name="A walk-through with a sample")
    assert walk.get_attribute("href") == "./#/?welcome=1"
    intro.get_by_role("link", name="All fields of the second request").click()
    block = reference.locator("#operations-jobs-create_job")
    block.locator("pre", has_text='"l2h"').first.wait_for()


def test_a_body_is_tried_with_the_key_of_the_tab(reference: Page) -> None:
    block = opened(reference, "jobs", "create_job")
    block.get_by_role("button", name="Try it out").click()
    block.locator("select.examples-select-element").first.select_option("kmeans")
    body = block.locator("textarea.body-param__text")
    assert '"n_clusters"' in body.input_value()
    body.fill(
        '{"method": "hac", "inputs": {"features": [[0, 0], [0, 1], [9, 9]], '
        '"names": ["rose", "lily", "<b>oak</b>"]}}'
    )
    # This service knows no keys: it takes any.
    with reference.expect_request("**/v1/jobs") as sent:
        block.get_by_role("button", name="Execute").click()
    assert sent.value.headers["authorization"] == f"Bearer {KEY}"
    response = sent.value.response()
    assert response is not None
    assert response.status in (201, 202), response.text()
    block.locator(".live-responses-table", has_text="job_").wait_for()


def test_a_query_is_tried_without_what_was_not_filled_in(reference: Page) -> None:
    block = opened(reference, "jobs", "list_jobs")
    block.get_by_role("button", name="Try it out").click()
    with reference.expect_request("**/v1/jobs*") as sent:
        block.get_by_role("button", name="Execute").click()
    response = sent.value.response()
    assert response is not None
    assert response.status == 200, response.text()


def test_the_parameters_of_a_method_are_shown(reference: Page) -> None:
    reference.locator("section.models .models-control").first.click()
    params = reference.locator(
        "section.models article", has=reference.get_by_text("KmeansParams", exact=True)
    ).first
    params.get_by_role("button").first.click()
    params.get_by_text("n_clusters", exact=True).first.wait_for()


@pytest.mark.slow
def test_the_reference_follows_the_theme(reference: Page) -> None:
    assert "dark-mode" not in (reference.locator("html").get_attribute("class") or "")
    reference.evaluate("dispatchEvent(new CustomEvent('themewish', {detail: 'dark'}))")
    assert "dark-mode" in (reference.locator("html").get_attribute("class") or "")
