"""The speed of a map of a million points, by the browser's own clock, without a graphics card: by
pixels, as the page then draws it, and by WebGL that the processor computes.

The figures are printed (`-s`); the asserted bounds also hold on a busy machine.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.dashboard.planted import joined, linkage
from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MILLION = 1_000_000
GESTURE = """async ([frames, reach]) => {
  const stage = document.querySelector(".map-stage");
  const {left, top, width, height} = stage.getBoundingClientRect();
  let [x, y] = [left + width / 2, top + height / 2];
  const next = () => new Promise(requestAnimationFrame);
  const send = type => stage.dispatchEvent(new PointerEvent(type,
    {pointerId: 7, pointerType: "mouse", clientX: x, clientY: y, bubbles: true, button: 0}));
  const stamps = [];
  send("pointerdown");
  for (let at = 0; at < frames; at += 1) {
    x += reach * Math.cos(at / 15);
    y += reach * Math.sin(at / 15);
    send("pointermove");
    stamps.push(await next());
  }
  send("pointerup");
  return stamps.slice(1).map((stamp, at) => stamp - stamps[at]);
}"""
LASSO = """async reach => {
  const stage = document.querySelector(".map-stage");
  const {left, top, width, height} = stage.getBoundingClientRect();
  const send = (type, x, y) => stage.dispatchEvent(new PointerEvent(type,
    {pointerId: 7, pointerType: "mouse", clientX: x, clientY: y, bubbles: true, button: 0,
     shiftKey: true}));
  const at = step => [left + width / 2 + reach * Math.cos(step / 32),
                      top + height / 2 + reach * Math.sin(step / 32)];
  send("pointerdown", ...at(0));
  for (let step = 1; step < 200; step += 1) send("pointermove", ...at(step));
  const begun = performance.now();
  send("pointerup", ...at(200));
  const lit = performance.now() - begun;
  const fits = document.querySelector(".map-fits");
  while (!fits.textContent.includes("outlined")) await new Promise(requestAnimationFrame);
  return [lit, performance.now() - begun, fits.textContent];
}"""


WANTED = """isWanted => {
  const own = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, options) {
    if (kind !== "webgl2") return own.call(this, kind, options);
    return isWanted ? own.call(this, kind, {antialias: false, alpha: false}) : null;
  };
  const getParameter = WebGL2RenderingContext.prototype.getParameter;
  WebGL2RenderingContext.prototype.getParameter = function (name) {
    return name === 0x9246 ? "a graphics card" : getParameter.call(this, name);
  };
}"""


@pytest.fixture
def moving(chromium: Browser, service: Any) -> Iterator[Page]:
    """The list of trees with animations, all modules loaded."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(f"{service.url}/#/trees")
    page.locator("main h1").first.wait_for()
    page.wait_for_timeout(1500)
    yield page
    context.close()


@pytest.fixture(scope="module")
def made(api: Api) -> dict[str, Any]:
    """A map of a million points of a tree of as many leaves."""
    tree = linkage(api, joined(MILLION), "A million")
    rows = np.random.default_rng(0).normal(size=(MILLION, 8)).astype(np.float32)
    rows[:, :2] *= 4
    features = api.upload(npy(rows), role="features", name="a million")
    answer = api.client.post(
        f"/v1/trees/{tree}/maps",
        json={"by": "pca", "inputs": {"features": features}},
        headers={"Prefer": "wait=60"},
    ).json()
    assert api.ended(answer["job"], 120)["status"] == "succeeded"
    return {"id": answer["id"], "tree": tree}


@pytest.mark.parametrize("by", ["pixels", "webgl"])
def test_a_map_of_a_million_points(moving: Page, api: Api, made: dict[str, Any], by: str) -> None:
    moving.evaluate(WANTED, by == "webgl")
    path = f"/v1/maps/{made['id']}/positions.npy"
    n_bytes = len(api.client.get(path, params={"order": "leaves"}).content)
    moving.evaluate("tree => { location.hash = `#/trees/${tree}`; }", made["tree"])
    moving.locator(".cut-summary strong").wait_for()
    moving.wait_for_timeout(500)
    before = moving.evaluate("performance.memory.usedJSHeapSize") / 1e6
    moving.evaluate("() => { performance.mark('map:chosen'); }")
    moving.get_by_role("combobox", name="Map", exact=True).select_option("pca")
    moving.locator(".map-facts", has_text="1,000,000 points").wait_for()
    marks: dict[str, float] = moving.evaluate(
        """async () => {
          while (!performance.getEntriesByName("map:shown").length) {
            await new Promise(requestAnimationFrame);
          }
          const at = name => performance.getEntriesByName(name).at(-1).startTime;
          return {loaded: at("map:positions") - at("map:chosen"),
                  shown: at("map:shown") - at("map:positions")};
        }"""
    )
    print(
        f"\n1,000,000 points, {n_bytes / 1e6:.1f} MB, {by}: positions {marks['loaded']:.0f} ms "
        f"after the choice, interactive {marks['shown']:.0f} ms later"
    )
    moving.wait_for_timeout(1500)
    gaps: list[float] = moving.evaluate(GESTURE, [120, 6])
    moved = statistics.median(gaps[30:])
    print(
        f"  pan: {1000 / moved:.0f} frames a second (median {moved:.1f} ms, worst {max(gaps):.0f})"
    )
    moving.wait_for_timeout(1000)
    lit, found, text = moving.evaluate(LASSO, 90)
    print(f"  lasso: lit after {lit:.0f} ms, best node after {found:.0f} ms: {text[:60]}")
    heap = moving.evaluate("performance.memory.usedJSHeapSize") / 1e6
    print(f"  heap {heap:.0f} MB, {before:.0f} MB before the map")
    assert n_bytes < 8.1e6
    assert marks["loaded"] + marks["shown"] < 8000
    assert moved < 60
    assert found < 4000
    assert heap < 300
