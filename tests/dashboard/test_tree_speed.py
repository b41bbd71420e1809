"""The speed of a tree's picture, by the browser's own clock, with software rendering.

The figures are printed (`-s`); the asserted bounds also hold on a busy machine.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.dashboard.planted import joined, linkage, until
from tests.e2e.client import Api

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MILLION = 1_000_000
GESTURE = """async ([kind, frames, reach]) => {
  const stage = document.querySelector(".tree-stage");
  const {left, top, width, height} = stage.getBoundingClientRect();
  let [x, y] = [left + width * 0.6, top + height * 0.35];
  const next = () => new Promise(requestAnimationFrame);
  const send = type => stage.dispatchEvent(new PointerEvent(type,
    {pointerId: 7, pointerType: "mouse", clientX: x, clientY: y, bubbles: true, button: 0}));
  const stamps = [];
  if (kind === "pan") send("pointerdown");
  for (let at = 0; at < frames; at += 1) {
    if (kind === "pan") {
      x += reach * Math.cos(at / 15);
      y += reach * Math.sin(at / 15);
      send("pointermove");
    } else {
      stage.dispatchEvent(new WheelEvent("wheel",
        {deltaY: reach, clientX: x, clientY: y, bubbles: true, cancelable: true}));
    }
    stamps.push(await next());
  }
  if (kind === "pan") send("pointerup");
  return stamps.slice(1).map((stamp, at) => stamp - stamps[at]);
}"""


@pytest.fixture
def moving(chromium: Browser, service: Any) -> Iterator[Page]:
    """The start page with animations, all modules loaded."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(f"{service.url}/#/trees")
    page.locator("main h1").first.wait_for()
    page.wait_for_timeout(1500)
    yield page
    context.close()


def go(page: Page, tree: str) -> dict[str, float]:
    """Open a tree through a link; milliseconds from the click to the answer and to the picture."""
    page.evaluate("tree => { performance.mark('click'); location.hash = `#/trees/${tree}`; }", tree)
    until(
        page, lambda: page.evaluate("performance.getEntriesByName('tree:picture').length"), 60_000
    )
    times: dict[str, float] = page.evaluate(
        """() => {
          const at = name => performance.getEntriesByName(name).at(-1).startTime;
          const since = name => at(name) - at("click");
          return {answer: since("tree:answer"), picture: since("tree:picture"),
                  drawing: performance.getEntriesByName("tree:first-picture").at(-1).duration};
        }"""
    )
    return times


def test_a_thousand_leaves(moving: Page, api: Api) -> None:
    tree = linkage(api, joined(1000), "A thousand")
    times = go(moving, tree)
    print(f"\n1,000 leaves: picture {times['drawing']:.0f} ms after the answer")
    assert times["drawing"] < 300


def test_a_million_leaves(moving: Page, api: Api) -> None:
    tree = linkage(api, joined(MILLION), "A million")
    # The service loads the tree only once; the second visit is measured.
    api.client.get(f"/v1/trees/{tree}/view", params={"max_nodes": 10})
    times = go(moving, tree)
    print(f"\n1,000,000 leaves: answer {times['answer']:.0f} ms, picture {times['picture']:.0f} ms")
    assert times["picture"] < 1500
    moving.locator(".cut-said strong").wait_for()
    moving.wait_for_timeout(500)
    medians = {}
    for name, kind, reach in (
        ("pan", "pan", 6),
        ("zoom in", "wheel", -40),
        ("pan near", "pan", 6),
        ("zoom in more", "wheel", -40),
        ("pan nearer", "pan", 6),
        ("zoom out", "wheel", 60),
    ):
        gaps = moving.evaluate(GESTURE, [kind, 90, reach])
        medians[name] = statistics.median(gaps)
        print(f"  {name}: median {medians[name]:.1f} ms, worst {max(gaps):.0f} ms a frame")
        moving.wait_for_timeout(1500)
    here = moving.locator(".tree-drawn").inner_text()
    heap = moving.evaluate("performance.memory.usedJSHeapSize") / 1e6
    print(f"  {here}; heap {heap:.0f} MB")
    assert all(gap <= 1000 / 30 + 1 for gap in medians.values()), medians
    assert int(here.split()[0].replace(",", "")) <= 20_000
    assert heap < 300
