"""The frame of every page: accessibility, narrow screens, addresses, theme, keyboard."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from app.dashboard.routes import FOLDER
from scripts.write_metrics import PATH as METRICS
from scripts.write_metrics import text as metrics_text
from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.client import Api


@pytest.fixture(scope="module")
def places(api: Api, blobs: dict[str, Any]) -> dict[str, str]:
    """The address of every page of the shell, with content."""
    failed = api.run("kmeans", {"features": blobs["features"]}, params={"n_clusters": 70})
    flat = api.run("kmeans", {"features": blobs["features"]}, params={"choose": "silhouette"})
    body = {
        "inputs": {"features": blobs["features"]},
        "labels": blobs["labels"],
        "runs": [{"method": "hac"}, {"method": "kmeans", "params": {"n_clusters": 3}}],
        "seeds": 2,
    }
    answer = api.client.post("/v1/comparisons", json=body, headers={"Prefer": "wait=60"})
    return {
        "start": "/",
        "form": f"/?method=gmm&features={blobs['features']}&support=" + '{"replicates":5}',
        "jobs": "/jobs?method=hac",
        "job": f"/jobs/{flat['id']}",
        "failed": f"/jobs/{failed['id']}",
        "datasets": "/datasets?role=labels",
        "dataset": f"/datasets/{blobs['features']}",
        "trees": "/trees",
        "comparisons": "/comparisons",
        "new": f"/comparisons/new?features={blobs['features']}&labels={blobs['labels']}",
        "comparison": f"/comparisons/{answer.json()['id']}",
        "evaluations": f"/evaluations?trees={blobs['tree']}&labels={blobs['labels']}",
        "nowhere": "/no/such/place",
    }


UNFOLD = "() => document.querySelectorAll('main details').forEach((one) => { one.open = true })"


def visit(page: Page, path: str) -> None:
    """Navigate within the open page and wait until everything has loaded."""
    page.evaluate("address => { location.hash = address }", f"#{path}")
    arrived(page)


def arrived(page: Page) -> None:
    page.locator("main h1").first.wait_for()
    page.wait_for_function("() => !document.querySelector('main .waiting')")
    page.wait_for_timeout(120)


@pytest.mark.slow
def test_every_page_is_accessible(open_page: Open, places: dict[str, str], axe: Axe) -> None:
    light, dark = open_page("/", theme="light"), open_page("/", theme="dark")
    for path in places.values():
        for page, rules in ((light, ()), (dark, ("color-contrast",))):
            visit(page, path)
            page.evaluate(UNFOLD)
            axe(page, *rules)


def test_dialogs_are_accessible(open_page: Open, axe: Axe, places: dict[str, str]) -> None:
    assert places, "what is deleted and downloaded"
    page = open_page("/datasets")
    page.get_by_role("button", name=re.compile("^Delete ")).first.click()
    axe(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Copy as code").click()
    page.get_by_role("tab", name="curl").wait_for()
    axe(page)
    page.keyboard.press("Escape")
    page = open_page("/trees")
    page.get_by_role("button", name=re.compile("^Download ")).first.click()
    page.get_by_role("menuitem", name="Newick").wait_for()
    axe(page)


def test_a_narrow_screen_needs_no_sideways_scrolling(
    open_page: Open, places: dict[str, str]
) -> None:
    page = open_page("/", width=360, height=740)
    origin = page.url.partition("#")[0]
    for name, path in places.items():
        page.goto("about:blank")  # Each page also loads where it is the first.
        page.goto(f"{origin}#{path}")
        arrived(page)
        page.evaluate(UNFOLD)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, (name, width)
    visit(page, "/jobs")
    page.get_by_role("button", name="Copy as code").click()
    page.get_by_role("dialog").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator("dialog").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360


def test_the_keyboard_reaches_everything(open_page: Open) -> None:
    page = open_page("/jobs", anew=True)
    focused = "document.activeElement.textContent.trim()"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.url.endswith("#/jobs")
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "New run"
    # The focus is visible.
    width = page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)")
    assert width >= 2
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Turn data into a hierarchy").wait_for()
    page.wait_for_function("() => document.activeElement.id === 'main'")


def test_a_press_counts_where_the_label_is_drawn_anew(open_page: Open) -> None:
    page = open_page("/jobs", theme="light")
    page.get_by_role("button", name=re.compile("^Colours")).click()
    button = page.get_by_role("button", name=re.compile("^Colours: light"))
    box = button.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    button.evaluate("e => e.replaceChildren(...[...e.children].map((c) => c.cloneNode(true)))")
    page.mouse.up()
    page.get_by_role("button", name=re.compile("^Colours: dark")).wait_for()


def test_the_theme_is_kept(open_page: Open) -> None:
    page = open_page("/jobs", theme="light")
    theme = "document.documentElement.dataset.theme"
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(theme) == "light"
    light = page.evaluate(ground)
    page.get_by_role("button", name=re.compile("^Colours")).click()
    page.get_by_role("button", name=re.compile("^Colours: light")).click()
    assert page.evaluate(theme) == "dark"
    assert page.evaluate(ground) != light
    page.reload()
    page.locator("main h1").wait_for()
    assert page.evaluate(theme) == "dark"
    page.get_by_role("button", name=re.compile("^Colours: dark")).click()
    assert page.evaluate(theme) == "light"  # It follows the system again.
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"() => {theme} === 'dark'")


def test_back_and_forward(open_page: Open, blobs: dict[str, Any]) -> None:
    page = open_page("/jobs?q=Three+blobs")
    page.get_by_role("link", name="Three blobs").first.click()
    page.get_by_role("link", name="Open the tree").wait_for()
    page.wait_for_function("() => document.title === 'Three blobs · Umbel'")
    page.go_back()
    page.get_by_role("heading", name="Jobs").wait_for()
    page.wait_for_function("() => document.title === 'Jobs · Umbel'")
    page.go_forward()
    page.get_by_role("link", name="Open the tree").wait_for()


def test_the_current_page_is_marked(open_page: Open, places: dict[str, str]) -> None:
    page = open_page(places["job"])
    current = page.locator("nav[aria-label=Main] [aria-current=page]")
    until(page, lambda: current.all_inner_texts() == ["Jobs"])
    visit(page, places["new"])
    until(page, lambda: current.all_inner_texts() == ["Compare"])


def test_an_unknown_address(open_page: Open, places: dict[str, str]) -> None:
    page = open_page("/no/such/place", anew=True)
    assert "There is nothing at this address" in page.locator("h1").inner_text()
    page.get_by_role("link", name="Start a new run").click()
    page.get_by_role("heading", name="Turn data into a hierarchy").wait_for()


def test_trusted_types_are_on(open_page: Open) -> None:
    """The browser refuses markup from a string."""
    page = open_page("/jobs")
    page.watch.expected.append("TrustedHTML|Content Security Policy|Trusted Type")
    refused = page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; return false } catch { return true } }"
    )
    assert refused


def test_no_script_turns_text_into_markup() -> None:
    forbidden = re.compile(
        r"\.(inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    )
    for path in (FOLDER / "js").rglob("*.js"):
        assert not forbidden.search(path.read_text("utf-8")), path


def test_no_file_contains_an_address_of_another_host() -> None:
    allowed = {"http://www.w3.org/2000/svg"}
    for path in [*(FOLDER / "js").rglob("*.js"), *(FOLDER / "style").rglob("*.css")]:
        addresses = set(re.findall(r"https?://[^\s\"'`)]+", path.read_text("utf-8")))
        assert addresses <= allowed, (path, addresses)


def test_the_metrics_are_those_of_the_catalogue() -> None:
    assert METRICS.read_text("utf-8") == metrics_text(), "run `python -m scripts.write_metrics`"
