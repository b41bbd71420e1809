"""Names that are long, empty, of other scripts, or written to mislead."""

from __future__ import annotations

import numpy as np

from tests.dashboard.conftest import Open
from tests.e2e.client import Api

TURNED = "abc\u202egnp.exe"
NAMES = [
    *("A" * 10_000, "x", "same", "same"),
    *("👩‍👩‍👧‍👦", "مرحبا بالعالم", "שלום עולם", "漢字仮名交じり文"),
    *("<script>window.HACK = 1</script>", "<img src=x onerror='window.HACK = 1'>"),
    *(TURNED, "word " * 2000, "é" * 300, "\u2066iso"),
]
FAULTS = """() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  const faults = scrollWidth > clientWidth ? [`${scrollWidth} of ${clientWidth} px`] : [];
  if ("HACK" in window) faults.push("executed");
  if (/[\\u202a-\\u202e]/.test(document.querySelector("main").textContent)) faults.push("reversed");
  const tall = [...document.querySelectorAll("h1")].some((each) => each.offsetHeight > 160);
  return tall ? [...faults, "a heading that fills the page"] : faults;
}"""


def test_bad_names_break_no_page(look: Open, api: Api) -> None:
    rows = np.random.default_rng(0).normal(size=(len(NAMES), 3)).tolist()
    title = f"\u202e<script>window.HACK = 1</script> {'B' * 900}"
    job = api.run("hac", {"features": rows, "names": NAMES}, name=title)
    tree = job["result"]["tree"]
    places = ["/trees", "/jobs", f"/jobs/{job['id']}", f"/trees/{tree}?node=0&map=pca"]
    for path in [*places, f"/trees/{tree}?tab=edit", f"/compare?left={tree}&right={tree}"]:
        page = look(path)
        page.watch.expected.append("GPU stall due to ReadPixels")  # type: ignore[attr-defined]
        if "node=" in path:
            page.locator(".map-facts", has_text="14 points").wait_for()
        try:
            for width in (390, 1280):
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate(FAULTS) == [], (path, width)
        finally:
            page.set_viewport_size({"width": 1280, "height": 800})
