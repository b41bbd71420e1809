"""The speed of a matrix of 10,000 x 10,000 distances, by the browser's own clock, drawn by the
processor.

The figures are printed (`-s`); the asserted bounds also hold on a busy machine.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.dashboard.planted import joined, pixels
from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.e2e.service import Service

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROWS = 10_000
GESTURE = """async ([frames, zoom]) => {
  const canvas = document.querySelector(".tree-heatmap .matrix-canvas");
  const {left, top, width, height} = canvas.getBoundingClientRect();
  let [x, y] = [left + width * 0.6, top + height * 0.6];
  const send = (type, init) => canvas.dispatchEvent(new init.kind(type, {
    pointerId: 7, pointerType: "mouse", clientX: x, clientY: y, bubbles: true, button: 0,
    cancelable: true, ...init}));
  const stamps = [];
  if (!zoom) send("pointerdown", {kind: PointerEvent});
  for (let at = 0; at < frames; at += 1) {
    if (zoom) send("wheel", {kind: WheelEvent, deltaY: at < frames / 2 ? -60 : 60});
    else {
      x += 4 * Math.cos(at / 15);
      y += 4 * Math.sin(at / 15);
      send("pointermove", {kind: PointerEvent});
    }
    stamps.push(await new Promise(requestAnimationFrame));
  }
  if (!zoom) send("pointerup", {kind: PointerEvent});
  return stamps.slice(1).map((stamp, at) => stamp - stamps[at]);
}"""


def test_a_matrix_of_ten_thousand_rows(chromium: Browser, service: Service, api: Api) -> None:
    headers = {"Content-Type": "application/x-npy", "Prefer": "wait=60"}
    tree = api.client.post("/v1/trees", content=npy(joined(ROWS)), headers=headers).json()
    rows = np.random.default_rng(0).normal(size=(ROWS, 64)).astype(np.float32)
    features = api.upload(npy(rows), role="features", name="ten thousand")
    body = {"what": "distances", "inputs": {"features": features}}
    answer = api.client.post(
        f"/v1/trees/{tree['id']}/heatmaps", json=body, headers={"Prefer": "wait=60"}
    ).json()
    assert api.ended(answer["job"], 120)["status"] == "succeeded"
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(120_000)
    page = context.new_page()
    tiles: list[str] = []
    page.on("response", lambda answer: "/tiles/" in answer.url and tiles.append(answer.url))
    page.goto(f"{service.url}/#/trees/{tree['id']}?tab=compare")
    page.locator(".cut-summary strong").wait_for(state="attached")
    region = page.get_by_role("region", name="Clusters as a matrix")
    region.get_by_role("combobox", name="Show").select_option("euclidean")
    region.get_by_role("combobox", name="Rows").select_option("leaves")
    before = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
    region.get_by_role("button", name="Draw it").click()
    region.locator("canvas.matrix-canvas").scroll_into_view_if_needed()
    region.get_by_text("10,000 rows × 10,000 columns").wait_for()
    page.wait_for_timeout(3000)
    for name, zoom in (("zoom", True), ("near, move", False)):
        if not zoom:
            for _ in range(4):
                region.get_by_role("button", name="Zoom in").click()
            page.wait_for_timeout(1500)
        picture = pixels(page, ".tree-heatmap .matrix-canvas")
        times = page.evaluate(GESTURE, [120, zoom])
        median = statistics.median(times)
        print(f"\n{name}: {1000 / median:.0f} frames a second, slowest {max(times):.0f} ms")
        assert median < 200
        assert zoom or pixels(page, ".tree-heatmap .matrix-canvas") != picture
    # The gestures went down to the finest level.
    assert max(int(url.split("/")[-3]) for url in tiles) >= 4
    print(f"{len(tiles)} tiles")
    heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
    print(f"JS heap {before:.0f} MB before, {heap:.0f} MB after")
    context.close()
