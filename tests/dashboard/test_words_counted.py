"""Words on each picture of the page, counted: readable, inside, none over another, 15 to 60 at
once, whatever the size of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pytest

from models.tree import newick
from models.tree.tree import Tree
from tests.app.pictures.tree_kit import random_tree
from tests.dashboard.conftest import Open
from tests.dashboard.planted import imported, until
from tests.dashboard.words_kit import record, words
from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from playwright.sync_api import Page

FEWEST, MOST = 15, 60
SOFTWARE = "GPU stall due to ReadPixels"
WORDS = ["goose", "albatross", "king_penguin", "brain_coral", "sea_slug", "ox", "bighorn"]
SIZES = [
    1_000,
    *(
        pytest.param(n, marks=[pytest.mark.slow, pytest.mark.timeout(600)])
        for n in (12_000, 100_000)
    ),
]


def name(at: int) -> str:
    return f"{WORDS[at % 7]}_{WORDS[at // 7 % 7]} {at}"


def spread(tree: Tree, n: int) -> npt.NDArray[np.float32]:
    """(n, 4) points for the leaves as they are written: near each other where their nodes are."""
    rng = np.random.default_rng(2)
    at = np.zeros((tree.n_nodes, 4))
    reach = np.sqrt(np.asarray(tree.size) / n)
    for node in range(1, tree.n_nodes):
        up = int(tree.parent[node])
        at[node] = at[up] + rng.normal(size=4) * reach[up]
    below: dict[int, list[int]] = {}
    for node in range(1, tree.n_nodes):
        below.setdefault(int(tree.parent[node]), []).append(node)
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        if node in below:
            stack.extend(reversed(below[node]))
        else:
            order.append(node)
    return at[order].astype(np.float32)


def planted(api: Api, n: int) -> str:
    """A tree of n named leaves, with a map and a matrix of its leaves."""
    tree = random_tree(n, names=[name(at) for at in range(n)])
    tree_id = imported(api, "".join(newick.write(tree)), f"Words of {n:,}")
    features = api.upload(npy(spread(tree, n)), role="features", name=f"points of {n}")
    inputs = {"inputs": {"features": features}}
    for kind, body in (
        ("maps", {"by": "pca", **inputs}),
        ("heatmaps", {"what": "features", "scale": "standard", **inputs}),
    ):
        answer = api.client.post(f"/v1/trees/{tree_id}/{kind}", json=body)
        assert answer.status_code in (201, 202), answer.text
        assert api.ended(answer.json()["job"], 300)["status"] == "succeeded"
    return tree_id


def counted(page: Page, selector: str) -> int:
    """The number of words on a picture, once it is steady."""
    before: set[str] = set()

    def steady() -> bool:
        nonlocal before
        page.wait_for_timeout(250)
        now = {
            word["text"]
            for canvas in page.evaluate("s => wordsOf(s)", selector)
            for word in canvas["words"]
        }
        isSame, before = now == before and bool(now), now
        return isSame

    until(page, steady)
    return len(words(page, selector))


@pytest.mark.parametrize("n", SIZES)
def test_every_picture_of_the_page_has_words(open_page: Open, api: Api, n: int) -> None:
    tree = planted(api, n)
    page = open_page(f"/trees/{tree}", width=1440, height=900)
    page.watch.expected.append(SOFTWARE)  # type: ignore[attr-defined]
    page.locator(".cut-summary strong").wait_for(state="attached")
    record(page)
    found: dict[str, int] = {}
    for width, height in ((1440, 900), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        for shape in ("Icicle", "Rectangle", "Circle"):
            page.get_by_role("button", name=shape).click()
            found[f"{shape} {width}"] = counted(page, ".tree-stage")
        page.get_by_role("combobox", name="Map", exact=True).select_option("pca")
        page.locator(".map-facts", has_text=f"{n:,} points").wait_for()
        found[f"Map {width}"] = counted(page, ".map-stage")
        page.get_by_role("combobox", name="Map", exact=True).select_option("")
        if width > 1000:
            page.get_by_role("tab", name="Compare", exact=True).click()
            region = page.get_by_role("region", name="Clusters as a matrix")
            region.get_by_role("combobox", name="Rows").select_option("leaves")
            region.get_by_role("button", name="Draw it").click()
            region.locator("canvas.matrix-canvas").wait_for()
            found[f"Matrix {width}"] = counted(page, ".tree-heatmap")
    print(n, found)
    few = {which: count for which, count in found.items() if not FEWEST <= count <= MOST}
    assert not few, found


def test_a_level_of_thousands_of_clusters_has_words(open_page: Open, api: Api) -> None:
    # All below the root; none is wide enough for a name.
    groups = ",".join(f"(left_{at},right_{at})" for at in range(5_000))
    tree = imported(api, f"({groups});", "5,000 groups")
    page = open_page(f"/trees/{tree}", width=1440, height=900)
    page.locator(".cut-summary strong").wait_for(state="attached")
    record(page)
    for shape in ("Icicle", "Rectangle", "Circle"):
        page.get_by_role("button", name=shape).click()
        assert FEWEST <= counted(page, ".tree-stage") <= MOST, shape
