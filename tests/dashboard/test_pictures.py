"""What the page looks like: at three sizes, light and dark, against committed pictures.

`UMBEL_WRITE_PICTURES=1 pytest tests/dashboard/test_pictures.py` writes them anew: look at each
before it is committed. With other fonts than theirs, tests check contrast and layout, and skip the
comparison.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from tests.dashboard import pictures_kit as kit
from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import SMALL, imported, settled
from tests.e2e.client import Api

if TYPE_CHECKING:
    from playwright.sync_api import Page

SIZES = ((1440, 900), (820, 1180), (390, 844))
WRITES = bool(os.environ.get("UMBEL_WRITE_PICTURES"))


@pytest.fixture(scope="module")
def trees(api: Api) -> dict[str, str]:
    """Trees of the same features, which are drawn the same each time."""
    rows = np.random.default_rng(0).normal(size=(24, 4)).round(3)
    rows[8:, 0] += 6
    rows[16:, 1] += 9
    names = [f"leaf {row}" for row in range(24)]
    made = {"small": imported(api, SMALL, "Life")}
    for linkage in ("average", "single"):
        inputs = {"features": rows.tolist(), "names": names}
        job = api.run("hac", inputs, params={"linkage": linkage}, name=linkage)
        made[linkage] = job["result"]["tree"]
    return made


def drawn_matrix(page: Page) -> None:
    region = page.get_by_role("region", name="Clusters as a matrix")
    region.get_by_role("combobox", name="Rows").select_option("leaves")
    region.get_by_role("button", name="Draw it").click()
    region.locator("canvas.matrix-canvas").wait_for()
    page.wait_for_timeout(400)


def zoomed(page: Page) -> None:
    for _ in range(2):
        page.get_by_role("button", name="Zoom in", exact=True).first.click()
    page.wait_for_timeout(400)


STATES: dict[str, tuple[str, str, Callable[[Page], None]]] = {
    "circle": ("/trees/{small}?layout=circular", ".tree-stage", settled),
    "overview": ("/trees/{average}?layout=rectangular&zoom=2,1,0.5,0.3", ".tree-stage", settled),
    "matrix": ("/trees/{average}?cut=k:3&tab=compare", ".tree-heatmap .matrix-place", drawn_matrix),
    "two-trees": (
        "/compare?left={average}&right={single}",
        ".tangle-stage",
        lambda page: page.locator(".tangle-facts dd").first.wait_for(),
    ),
    "start": ("/", ".drop", lambda page: page.get_by_role("heading", name="Method").wait_for()),
}
"""A name, an address, what is looked at, and how to wait for it."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in ("circle", "matrix") else pytest.mark.slow)
        for name in STATES
    ],
)
def test_a_state_at_three_sizes(
    open_page: Open, axe: Axe, trees: dict[str, str], name: str
) -> None:
    path, selector, ready = STATES[name]
    page = open_page(path.format(**trees), width=SIZES[0][0], height=SIZES[0][1])
    ready(page)
    fonts = kit.fonts_of(page)
    if WRITES:
        kit.PICTURES.mkdir(exist_ok=True)
        kit.FONTS.write_text(f"{fonts}\n")
    is_same = kit.FONTS.read_text().strip() == fonts
    different = []
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            page.mouse.move(1, 1)
            page.wait_for_timeout(250)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            if theme == "dark" and width != SIZES[0][0]:
                continue
            axe(page, "color-contrast") if theme == "dark" else axe(page)
            picture = kit.taken(page.locator(selector).first)
            own = f"{name}-{width}-{theme}"
            if WRITES:
                kit.write(picture, own)
            elif is_same:
                alike = kit.similarity(picture, kit.committed(own))
                if alike < kit.LEAST:
                    different.append(f"{own}: {alike:.3f}")
    assert not different, f"less alike than {kit.LEAST}: {', '.join(different)}"
    if not is_same:
        pytest.skip("the fonts differ from the fonts of the committed pictures")


def test_pictures_of_other_states_are_not_alike() -> None:
    circle = kit.committed("circle-1440-light")
    assert kit.similarity(circle, circle) == pytest.approx(1.0)
    assert kit.similarity(circle, kit.committed("circle-1440-dark")) < 0.7
    assert kit.similarity(circle, kit.committed("circle-390-light")) == 0.0
    pixels = np.asarray(circle.convert("RGB")).astype(np.int16)
    noisy = pixels + np.random.default_rng(0).integers(-3, 4, pixels.shape)
    slight = Image.fromarray(noisy.clip(0, 255).astype(np.uint8))
    assert kit.similarity(circle, slight) > 0.9
    moved: Any = np.roll(pixels, 6, axis=1).astype(np.uint8)
    assert kit.similarity(circle, Image.fromarray(moved)) < kit.LEAST
