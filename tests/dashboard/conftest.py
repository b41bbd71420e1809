"""The page in a real browser, on a service started as by a user.

The browser is that of UMBEL_CHROMIUM, else one of `tests.needs_kit`. A console error, a violation
of the content security policy or a request to another host fails the test of the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

from tests.conftest import ROOT
from tests.e2e.client import Api, npy
from tests.e2e.conftest import Service, running
from tests.needs_kit import browser, need

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
    # One process draws all pages: a new one for each takes longer than the page.
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
)
CALM = {"UMBEL_LEASE_S": "60", "UMBEL_HEARTBEAT_S": "2", "UMBEL_SWEEP_S": "1"}
"""Settings where no test kills a worker: slow workers keep their jobs."""
WITHIN_MS = 60_000
"""Timeout of each wait: generous, because a busy machine is slow."""


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """One browser for all tests."""
    need("browser", "playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=browser(), args=list(ARGS))
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def elsewhere() -> Iterator[str]:
    """Another origin whose pages may call the service: the JavaScript client's modules."""
    handler = partial(QuietFiles, directory=str(ROOT / "client-js" / "src"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class QuietFiles(SimpleHTTPRequestHandler):
    """The files of a folder, without a log."""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="package")
def service(
    chromium: Browser, elsewhere: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """One service for all tests that leave it intact; not started without a browser."""
    data = tmp_path_factory.mktemp("dashboard") / "data"
    with running(data, UMBEL_CORS_ORIGINS=elsewhere, **CALM) as service:
        yield service


@pytest.fixture(scope="package")
def api(service: Service) -> Api:
    """That service's API, for steps of tests outside the page."""
    return Api(service.client, workers=2)


@dataclass
class PageWatch:
    """Violations of a page in `events`; `expected` has patterns of those that a test provokes.

    spoilt : whether the document will not be as it was loaded, so that no other test may use it:
    something in it was replaced, or is remembered.
    """

    origin: str
    spoilt: bool = False
    expected: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)

    def console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.events.append(
                f"{message.type}: {message.text} ({message.location.get('url', '')})"
            )

    def request(self, address: str) -> None:
        if address.startswith(("data:", "blob:")):
            return
        parts = urlsplit(address)
        if f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.events.append(f"request to another host: {address}")

    def bad(self) -> list[str]:
        return [
            event for event in self.events if not any(re.search(p, event) for p in self.expected)
        ]


def watched(page: Page, origin: str) -> PageWatch:
    """Watch a page from now on; its attribute `watch` can be replaced by another watch."""
    page.watch = PageWatch(origin.rstrip("/"))
    page.on("console", lambda message: page.watch.console(message))
    page.on("pageerror", lambda error: page.watch.events.append(f"uncaught: {error}"))
    page.on("request", lambda request: page.watch.request(request.url))

    def dismiss(dialog: Dialog) -> None:
        page.watch.events.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("dialog", dismiss)
    own_route = page.route

    def route(*arguments: Any, **options: Any) -> Any:
        page.watch.spoilt = True  # Modules keep what they were answered.
        return own_route(*arguments, **options)

    page.route = route
    watch: PageWatch = page.watch
    return watch


Open = Callable[..., "Page"]
Kind = tuple[str, int, int]


# After a test: leaves the open page, and finds out whether the document is as it was loaded.
LEAVE = """async (globals) => {
  const names = Object.getOwnPropertyNames(window).length - Number("axe" in window);
  const empty = ["banner", "toasts"].every((id) => !document.getElementById(id)?.hasChildNodes());
  const plain = !localStorage.length && !sessionStorage.length;
  if (!empty || !plain || !document.getElementById("main")) return false;
  if (names !== globals) return false;
  if (location.hash !== "#/nowhere") {
    const left = new Promise((done) => addEventListener("hashchange", done, {once: true}));
    location.hash = "#/nowhere";
    await left;
  }
  return document.body.children.length === 6 && !document.body.className;
}"""

# Leaves the open page for another, in the same document.
GO = """async (path) => {
  const to = async (hash) => {
    const changed = new Promise((done) => addEventListener("hashchange", done, {once: true}));
    location.hash = hash;
    await changed;
  };
  if (location.hash !== "#/nowhere") await to("#/nowhere");
  document.querySelector("main h1").dataset.left = "";
  await to(`#${path}`);
}"""


def go(page: Page, path: str, *, heading: bool = True) -> None:
    """Open a place anew in the document that is loaded."""
    page.mouse.move(1, 1)
    page.evaluate(GO, path)
    page.locator("main h1[data-left]").wait_for(state="detached")
    if heading:
        page.locator("main h1").first.wait_for()


HARMLESS = r"the server responded with a status of 4\d\d|GPU stall due to ReadPixels"
"""Events after which a document is like any other."""


class Pages:
    """Pages of one browser, reused between tests, because a new one costs a second.

    A document that a test leaves as it was loaded serves the next one, since loading two hundred
    modules takes as long as many a test.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: list[Page] = []
        self._globals = 0

    def take(self, kind: Kind, origin: str, fresh: bool, **options: Any) -> Page:
        theme, width, height = kind
        if self._free and not fresh:
            page = self._free.pop()
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(media="null", color_scheme=theme, reduced_motion="reduce")
            page.set_default_timeout(WITHIN_MS)
            page.watch = PageWatch(origin.rstrip("/"))
            return page
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

    def open(self, page: Page, path: str, *, anew: bool, heading: bool = True) -> None:
        """Go to a place of the page's service, in its document unless it is loaded `anew`."""
        if page.url.startswith(f"{page.watch.origin}/#"):
            if not anew:
                go(page, path, heading=heading)
                return
            page.goto("about:blank")  # Another fragment alone would load nothing.
        page.mouse.move(1, 1)  # What is under the mouse is shown otherwise.
        page.goto(f"{page.watch.origin}/#{path}")
        if heading:
            page.locator("main h1").first.wait_for()
        if not self._globals:
            self._globals = page.evaluate("Object.getOwnPropertyNames(window).length")

    def give_back(self, page: Page, fresh: bool, failed: bool = False) -> None:
        """Reset the page for the next test, or close it where that is impossible: a failed test may
        hold a key down."""
        try:
            if not fresh and not failed:
                for further in page.context.pages:
                    if further is not page:
                        further.close()
                page.context.set_offline(False)
                page.context.clear_permissions()
                page.context.clear_cookies()
                page.unroute_all()
                if not self._is_left(page):
                    page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
                    page.goto("about:blank")
                self._free.append(page)
                return
        except Exception:  # After any error the page is unusable.
            pass
        page.context.close()

    def _is_left(self, page: Page) -> bool:
        """Whether the page's document can serve the next test, after leaving what is open in it."""
        watch: PageWatch = page.watch
        if watch.spoilt or not all(re.search(HARMLESS, event) for event in watch.events):
            return False
        if not page.url.startswith(f"{watch.origin}/#"):
            return False
        return bool(page.evaluate(LEAVE, self._globals))


@pytest.fixture(scope="package")
def pages(chromium: Browser) -> Pages:
    return Pages(chromium)


@pytest.fixture
def open_page(pages: Pages, service: Service, request: pytest.FixtureRequest) -> Iterator[Open]:
    """`open_page("/jobs")`: a page at that place, once its heading is visible.

    theme, width, height : of the browser window. url : of another service. anew : in a document
    that is loaded anew, for what happens while one loads. fresh : in a new context, which takes
    four times as long, since it loads all modules: for what cannot be undone and for what counts
    what is loaded. The test fails at its end for violations in `page.watch`; patterns of those that
    it provokes belong into `page.watch.expected`.
    """
    opened: list[tuple[Page, bool]] = []
    n_failed = request.session.testsfailed

    def open_(
        path: str = "/",
        *,
        theme: str = "light",
        width: int = 1280,
        height: int = 800,
        url: str | None = None,
        heading: bool = True,
        anew: bool = False,
        fresh: bool = False,
        **options: Any,
    ) -> Page:
        kind = (theme, width, height)
        alone = fresh or bool(options)
        page = pages.take(kind, url or service.url, alone, **options)
        opened.append((page, alone))
        pages.open(page, path, anew=anew or alone, heading=heading)
        return page

    yield open_
    bad = [event for page, _ in opened for event in page.watch.bad()]
    for page, alone in opened:
        pages.give_back(page, alone, failed=request.session.testsfailed > n_failed)
    assert not bad, "\n".join(bad)


Axe = Callable[..., None]

# The violations alone: the whole result is large. From the top of the page: its bar lies over what
# was scrolled away.
RUN_AXE = """async ([type, values]) => {
  const top = scrollY;
  scrollTo({top: 0, behavior: "instant"});
  const {violations} = await axe.run(
    document, {runOnly: {type, values}, resultTypes: ["violations"]});
  scrollTo({top, behavior: "instant"});
  return violations;
}"""


@pytest.fixture(scope="package")
def axe() -> Axe:
    """`axe(page)` asserts WCAG 2.2 A and AA and axe's best practices.

    `axe(page, "color-contrast")` checks that rule only: the one that depends on the theme.
    """
    source = AXE.read_text("utf-8")
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

    def check(page: Page, *rules: str) -> None:
        if not page.evaluate("'axe' in window"):
            page.evaluate(source)
        kind, values = ("rule", list(rules)) if rules else ("tag", tags)
        found = page.evaluate(RUN_AXE, [kind, values])
        violations = [
            f"{violation['id']}: {violation['help']}\n"
            + "\n".join(
                f"  {node['html']}\n  {node['failureSummary']}" for node in violation["nodes"]
            )
            for violation in found
        ]
        assert not violations, "\n".join(violations)

    return check


@pytest.fixture(scope="package")
def blobs(api: Api) -> dict[str, Any]:
    """Two datasets of 60 points in three distant groups, and a finished job on them."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(3), 20)
    points = rng.normal(size=(60, 4)) + 20 * group[:, None]
    features = api.upload(npy(points), role="features", name="blobs.npy")
    labels = api.upload(
        json.dumps([f"group {number}" for number in group]).encode(),
        media="application/json",
        role="labels",
        name="groups.json",
    )
    job = api.run("hac", {"features": features}, params={"linkage": "ward"}, name="Three blobs")
    assert job["status"] == "succeeded", job
    return {"features": features, "labels": labels, "job": job["id"], "tree": job["result"]["tree"]}


def fetch(service: Service, path: str) -> httpx.Response:
    """The response to a GET, whatever its status."""
    return service.client.get(path)


@pytest.fixture(scope="module")
def tab(pages: Pages, service: Service, request: pytest.FixtureRequest) -> Iterator[Page]:
    """One page for all tests of a file, which keeps loaded modules."""
    n_failed = request.session.testsfailed
    page = pages.take(("light", 1280, 800), service.url, fresh=False)
    pages.open(page, "/jobs", anew=False)
    yield page
    pages.give_back(page, fresh=False, failed=request.session.testsfailed > n_failed)


@pytest.fixture
def look(tab: Page) -> Iterator[Open]:
    """`look("/trees/tr_1")`: the shared page, opened anew at that place.

    The test fails at its end for violations in `page.watch`, as with `open_page`.
    """
    watch: PageWatch = tab.watch  # type: ignore[attr-defined]

    def look(path: str, *, heading: bool = True) -> Page:
        go(tab, path, heading=heading)
        return tab

    yield look
    bad = watch.bad()
    watch.events.clear()
    watch.expected.clear()
    assert not bad, "\n".join(bad)
