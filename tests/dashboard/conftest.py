"""The page in a real browser, on a service started as a user starts it.

Chromium is the one of UMBEL_CHROMIUM, else /usr/bin/chromium; without one the tests are skipped,
or fail where UMBEL_REQUIRE_BROWSER is set. A page that has had a console error, broken its content
security policy or asked another host fails its test.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

from tests.e2e.client import Api, npy
from tests.e2e.conftest import Service, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
ARGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WITHIN_MS = 15_000
"""How long a test waits for something to come: a busy machine is slow, a broken page is not."""


def _browser_path() -> str:
    path = os.environ.get("UMBEL_CHROMIUM", "/usr/bin/chromium")
    missing = None
    if not Path(path).exists():
        missing = f"no Chromium at {path} (set UMBEL_CHROMIUM)"
    else:
        try:
            import playwright.sync_api  # noqa: F401
        except ImportError:
            missing = "playwright is not installed"
    if missing is not None:
        if os.environ.get("UMBEL_REQUIRE_BROWSER"):
            pytest.fail(f"UMBEL_REQUIRE_BROWSER is set, and there is {missing}", pytrace=False)
        pytest.skip(missing)
    return path


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """One browser for all tests."""
    path = _browser_path()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGS))
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def service(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all tests that do it no harm; not started where there is no browser."""
    with running(tmp_path_factory.mktemp("dashboard") / "data") as service:
        yield service


@pytest.fixture(scope="package")
def api(service: Service) -> Api:
    """What the tests say to that service without the page."""
    return Api(service.client, workers=2)


@dataclass
class Watch:
    """What a page did that it should not have. `expected`: patterns of what a test provokes."""

    origin: str
    expected: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    def console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.seen.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    def request(self, address: str) -> None:
        if address.startswith(("data:", "blob:")):
            return
        parts = urlsplit(address)
        if f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.seen.append(f"request to another host: {address}")

    def bad(self) -> list[str]:
        return [one for one in self.seen if not any(re.search(p, one) for p in self.expected)]


def watched(page: Page, origin: str) -> Watch:
    """Watch a page from now on; its `watch` can be replaced by another one."""
    page.watch = Watch(origin.rstrip("/"))
    page.on("console", lambda message: page.watch.console(message))
    page.on("pageerror", lambda error: page.watch.seen.append(f"uncaught: {error}"))
    page.on("request", lambda request: page.watch.request(request.url))

    def asked(dialog: Dialog) -> None:
        page.watch.seen.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("dialog", asked)
    found: Watch = page.watch
    return found


Open = Callable[..., "Page"]
Kind = tuple[str, int, int]


class Pages:
    """Pages of one browser. One that a test has left is taken again: a new one costs a second."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: dict[Kind, list[Page]] = {}

    def take(self, kind: Kind, origin: str, fresh: bool, **options: Any) -> Page:
        free = self._free.get(kind, [])
        if free and not fresh:
            page = free.pop()
            page.watch = Watch(origin.rstrip("/"))
            return page
        theme, width, height = kind
        context = self._browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            reduced_motion="reduce",
            accept_downloads=True,
            **options,
        )
        context.set_default_timeout(WITHIN_MS)
        page = context.new_page()
        watched(page, origin)
        return page

    def give_back(self, kind: Kind, page: Page, fresh: bool) -> None:
        """Without anything that the test has left in it; closed where that cannot be had."""
        try:
            if not fresh:
                page.context.set_offline(False)
                page.emulate_media(color_scheme=kind[0])
                page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
                page.goto("about:blank")
                self._free.setdefault(kind, []).append(page)
                return
        except Exception:  # Whatever it is: the page is of no more use.
            pass
        page.context.close()


@pytest.fixture(scope="package")
def pages(chromium: Browser) -> Pages:
    return Pages(chromium)


@pytest.fixture
def open_page(pages: Pages, service: Service) -> Iterator[Open]:
    """`open_page("/jobs")`: a page at that place, loaded anew, once its heading is there.

    theme, width, height : how it is looked at. url : of another service. fresh : in a context that
    nothing else uses. At the end of the test it fails for what `page.watch` has seen; what a test
    provokes goes into `page.watch.expected`.
    """
    opened: list[tuple[Kind, Page, bool]] = []

    def open_(
        path: str = "/",
        *,
        theme: str = "light",
        width: int = 1280,
        height: int = 800,
        url: str | None = None,
        heading: bool = True,
        fresh: bool = False,
        **options: Any,
    ) -> Page:
        kind = (theme, width, height)
        alone = fresh or url is not None or bool(options)
        page = pages.take(kind, url or service.url, alone, **options)
        opened.append((kind, page, alone))
        page.goto(f"{url or service.url}/#{path}")
        if heading:
            page.locator("main h1").first.wait_for()
        return page

    yield open_
    bad = [one for _, page, _ in opened for one in page.watch.bad()]
    for kind, page, alone in opened:
        pages.give_back(kind, page, alone)
    assert not bad, "\n".join(bad)


Axe = Callable[..., None]


@pytest.fixture(scope="package")
def axe() -> Axe:
    """`axe(page)`: no violation of WCAG 2.2 A and AA or of axe's best practices.

    `axe(page, "color-contrast")` looks at one rule only: what differs between light and dark.
    """
    source = AXE.read_text("utf-8")
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

    def check(page: Page, *rules: str) -> None:
        if not page.evaluate("'axe' in window"):
            page.evaluate(source)
        kind, values = ("rule", list(rules)) if rules else ("tag", tags)
        found = page.evaluate(
            "([type, values]) => axe.run(document, "
            "{runOnly: {type, values}, resultTypes: ['violations']})",
            [kind, values],
        )
        said = [
            f"{one['id']}: {one['help']}\n"
            + "\n".join(f"  {node['html']}\n  {node['failureSummary']}" for node in one["nodes"])
            for one in found["violations"]
        ]
        assert not said, "\n".join(said)

    return check


@pytest.fixture(scope="package")
def blobs(api: Api) -> dict[str, Any]:
    """Two datasets of 60 points in three far apart groups, and a finished job on them."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(3), 20)
    points = rng.normal(size=(60, 4)) + 20 * group[:, None]
    features = api.upload(npy(points), role="features", name="blobs.npy")
    labels = api.upload(
        json.dumps([f"group {one}" for one in group]).encode(),
        media="application/json",
        role="labels",
        name="groups.json",
    )
    job = api.run("hac", {"features": features}, params={"linkage": "ward"}, name="Three blobs")
    assert job["status"] == "succeeded", job
    return {"features": features, "labels": labels, "job": job["id"], "tree": job["result"]["tree"]}


def fetch(service: Service, path: str) -> httpx.Response:
    """A GET of the service that asserts nothing."""
    return service.client.get(path)


@pytest.fixture(scope="module")
def tab(chromium: Browser, service: Service) -> Iterator[Page]:
    """One page for the tests of a file: what it has loaded once is there for all of them."""
    context = chromium.new_context(
        viewport={"width": 1280, "height": 800}, reduced_motion="reduce", accept_downloads=True
    )
    context.set_default_timeout(WITHIN_MS)
    page = context.new_page()
    watched(page, service.url)
    page.goto(f"{service.url}/#/jobs")
    page.locator("main h1").first.wait_for()
    yield page
    context.close()


@pytest.fixture
def look(tab: Page) -> Iterator[Open]:
    """`look("/trees/tr_1")`: the kept page, opened anew at that place.

    At the end of the test it fails for what `page.watch` has seen, as with `open_page`.
    """
    watch: Watch = tab.watch  # type: ignore[attr-defined]

    def look(path: str, *, heading: bool = True) -> Page:
        tab.mouse.move(1, 1)
        tab.evaluate("location.hash = '#/nowhere'")
        tab.locator("main h1", has_text="There is nothing").wait_for()
        tab.evaluate("path => { location.hash = `#${path}`; }", path)
        if heading:
            tab.locator("main h1:not(.notice-title)").first.wait_for()
        return tab

    yield look
    bad = watch.bad()
    watch.seen.clear()
    watch.expected.clear()
    assert not bad, "\n".join(bad)
