"""A service with keys, where people also sign in: the page asks for a key, keeps it with the tab,
sends it as a header."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.app.http.sign_in.issuer_kit import Issuer
from tests.dashboard.conftest import Axe
from tests.dashboard.forms_kit import finished
from tests.dashboard.keyed.keys_kit import KEY, enter
from tests.e2e.conftest import Service

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route


def still_running(route: Route) -> None:
    answer = route.fetch()
    route.fulfill(response=answer, json={**answer.json(), "status": "running"})


def test_the_page_asks_for_a_key_and_checks_it(open_keyed: Callable[..., Page], axe: Axe) -> None:
    page = open_keyed()
    page.get_by_role("dialog").wait_for()
    text = page.get_by_role("dialog").inner_text()
    assert text.count("needs a key") == 1
    assert "umbel keys new" in text
    assert "No key was sent" not in text
    axe(page)
    assert page.get_by_label("Key", exact=True).get_attribute("type") == "password"
    page.get_by_role("button", name="Continue").click()
    assert "Enter a key" in page.get_by_role("dialog").inner_text()
    enter(page, "umbel_wrong")
    page.get_by_text("The key is not known").first.wait_for()
    enter(page, KEY)
    page.get_by_role("heading", name="Jobs").wait_for()
    page.get_by_text("No jobs yet.").wait_for()


def test_without_a_key_the_page_shows_an_error_and_asks_again(
    open_keyed: Callable[..., Page],
) -> None:
    page = open_keyed()
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("alert").wait_for()
    assert "A key is needed" in page.get_by_role("alert").inner_text()
    page.get_by_role("button", name="Try again").click()
    enter(page, KEY)
    page.get_by_role("heading", name="Jobs").wait_for()


def test_the_key_is_stored_for_the_session_only(open_keyed: Callable[..., Page]) -> None:
    page = open_keyed()
    enter(page, KEY)
    page.get_by_role("heading", name="Jobs").wait_for()
    page.reload()
    page.get_by_role("heading", name="Jobs").wait_for()
    assert page.evaluate("sessionStorage.getItem('umbel.key')") == KEY
    assert KEY not in page.evaluate("JSON.stringify(localStorage) + document.cookie")
    assert page.context.cookies() == []
    tab = page.context.new_page()  # Another tab is another session.
    tab.goto(page.url)
    tab.get_by_role("dialog").wait_for()
    page.get_by_role("button", name="Forget the key").click()
    page.get_by_role("dialog").wait_for()
    assert page.evaluate("sessionStorage.getItem('umbel.key')") is None


def test_every_request_has_the_header(
    open_keyed: Callable[..., Page], keyed: Service, axe: Axe
) -> None:
    page = open_keyed("/")
    requests: list[Any] = []
    page.on("request", lambda request: requests.append(request))
    # However quick the job is, the page finds it running and follows its events.
    page.route(re.compile(r"/v1/jobs/job_\w+$"), still_running, times=1)
    enter(page, KEY)
    page.get_by_role("button", name="Use the sample").click()
    page.locator(".chip.good").nth(3).wait_for()
    page.get_by_role("button", name="Run Logits to hierarchy").click()
    finished(page)
    page.locator("img.preview-picture").wait_for()
    page.get_by_role("button", name="Download", exact=True).click()
    with page.expect_download():
        page.get_by_role("menuitem", name="Newick").click()
    api_requests = [request for request in requests if "/v1/" in request.url]
    assert any("/events" in request.url for request in api_requests)
    assert any(".svg" in request.url for request in api_requests)
    # A request that the page gave up has no response.
    answers = [(request, request.response()) for request in api_requests]
    refused = [request for request, answer in answers if answer and answer.status == 401]
    for request in requests:
        assert KEY not in request.url
        expected = f"Bearer {KEY}" if request in api_requests and request not in refused else None
        assert request.all_headers().get("authorization") == expected, request.url
    assert len(refused) < 5
    page.get_by_role("button", name="Copy as code").click()
    for language in ("curl", "Python"):
        page.get_by_role("tab", name=language).click()
        text = page.locator("pre.listing").inner_text()
        assert KEY not in text
        assert "UMBEL_API_KEY" in text
    assert KEY not in page.content()
    page.keyboard.press("Escape")
    axe(page)


def test_where_nobody_signs_in_a_key_is_the_only_way(
    open_keyed: Callable[..., Page], keyed: Service
) -> None:
    page = open_keyed()
    none = {"available": False, "tenant": None, "role": None, "name": None}
    page.route("**/sign-in/session", lambda route: route.fulfill(json=none))
    with page.expect_response("**/sign-in/session"):
        page.reload()
    page.get_by_label("Key", exact=True).wait_for()
    assert page.get_by_role("link", name="sign in").count() == 0


def test_a_person_signs_in_and_out(
    open_keyed: Callable[..., Page], keyed: Service, issuer: Issuer, axe: Axe
) -> None:
    page = open_keyed()
    page.watch.expected.append(f"request to another host: {issuer.url}/authorize")
    page.get_by_role("link", name="sign in").wait_for()
    axe(page)
    page.get_by_role("link", name="sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()
    page.goto(f"{keyed.url}/#/jobs")
    page.get_by_text("No jobs yet.").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("dialog").wait_for()
    page.get_by_role("button", name="Sign out").wait_for(state="detached")
