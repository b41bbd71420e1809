"""The slider of the cut: its text, colours and files; its cuts equal the service's."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.dashboard.conftest import Open
from tests.dashboard.planted import (
    SMALL,
    hash_of,
    imported,
    joined,
    linkage,
    pixels,
    settled,
    until,
)
from tests.e2e.client import Api

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def small(api: Api) -> str:
    return imported(api, SMALL, "Small")


@pytest.fixture(scope="module")
def large(api: Api) -> str:
    return linkage(api, joined(9_000, seed=2), "Large")


def summary(page: Page) -> str:
    return page.locator(".cut-summary").inner_text()


def sums_up(page: Page, text: str) -> None:
    """Wait until the text of the cut is this, or begins with these words."""
    until(page, lambda: f"{summary(page)} ".startswith(f"{text} "))


def slide(page: Page, to: int) -> None:
    page.locator(".cut-slider").evaluate(
        "(slider, to) => { slider.value = to; slider.dispatchEvent(new Event('input')); }", to
    )


def test_sliding_counts_and_colours(look: Open, small: str) -> None:
    page = look(f"/trees/{small}")
    settled(page)
    assert "cut" not in hash_of(page)  # The user has not chosen a cut.
    pictures = {}
    for to, n_clusters in ((0, 1), (200, 2), (500, 4), (1000, 7)):
        slide(page, to)
        text = f"{n_clusters} cluster{'s' * (n_clusters > 1)}"
        sums_up(page, text)
        until(page, lambda: pixels(page) not in pictures.values())
        pictures[text] = pixels(page)
    assert len(set(pictures.values())) == 4
    until(page, lambda: page.locator(".cut-bars rect").count() == 7)
    until(page, lambda: hash_of(page).get("cut") == "k:7")
    assert page.locator(".cut-slider").get_attribute("aria-valuetext") == "7 clusters"
    page.get_by_label("Number of clusters").fill("2")
    page.keyboard.press("Enter")
    sums_up(page, "2 clusters of 2 to 5 points, half of them up to 4")
    assert [entry.strip() for entry in page.locator(".tree-key").all_inner_texts()] == [
        "plants\n5",
        "pets\n2",
    ]
    page.get_by_label("Number of clusters").fill("99")
    page.keyboard.press("Enter")
    sums_up(page, "7 clusters")


def test_back_undoes_a_cut_and_a_colour(look: Open, small: str) -> None:
    page = look(f"/trees/{small}?cut=k:2")
    settled(page)
    page.get_by_label("Number of clusters").fill("7")
    page.keyboard.press("Enter")
    until(page, lambda: hash_of(page).get("cut") == "k:7")
    page.get_by_label("By", exact=True).select_option("none")
    until(page, lambda: hash_of(page).get("color") == "none")
    page.go_back()
    page.locator(".tree-key").nth(6).wait_for()
    assert hash_of(page) == {"cut": "k:7"}
    page.go_back()
    until(page, lambda: summary(page).startswith("2 clusters"))
    page.wait_for_timeout(400)  # Longer than the address waits for the look.
    assert hash_of(page) == {"cut": "k:2"}


def test_by_height(look: Open, small: str) -> None:
    page = look(f"/trees/{small}?cut=k:2&heights=height")
    settled(page)
    page.get_by_role("button", name="Height", exact=True).click()
    until(page, lambda: hash_of(page).get("cut") == "height:2.5")
    sums_up(page, "2 clusters")
    page.get_by_label("Height of the cut").fill("0.9")
    page.keyboard.press("Enter")
    sums_up(page, "6 clusters")
    slide(page, 0)
    sums_up(page, "1 cluster")
    page.get_by_role("button", name="Clusters", exact=True).click()
    until(page, lambda: hash_of(page).get("cut") == "k:1")


def test_a_cluster_in_the_legend_is_coloured_alone_and_selected(look: Open, small: str) -> None:
    page = look(f"/trees/{small}?cut=k:2")
    settled(page)
    page.locator(".tree-key", has_text="plants").click()
    page.locator(".node-name", has_text="plants").wait_for()
    node = until(page, lambda: hash_of(page).get("node"))
    assert hash_of(page)["only"] is not None
    # A link that names a node shows its panel without scrolling.
    page = look(f"/trees/{small}?node={node}")
    box = page.locator(".node-name", has_text="plants").bounding_box()
    assert box is not None
    assert 0 < box["y"] < 400


def test_suggested_cuts(look: Open, blobs: dict[str, Any]) -> None:
    page = look(f"/trees/{blobs['tree']}")
    settled(page)
    mark = page.locator(".cut-mark", has_text="3 ·").first
    assert mark.get_attribute("title")
    slide(page, 1000)
    until(page, lambda: not summary(page).startswith("3 "))
    mark.click()
    sums_up(page, "3 clusters of 20 points each")
    until(page, lambda: mark.get_attribute("aria-pressed") == "true")


def test_assignments_are_saved(look: Open, api: Api, blobs: dict[str, Any]) -> None:
    import pyarrow as pa

    page = look(f"/trees/{blobs['tree']}?cut=k:3")
    settled(page)
    saved = {}
    for form in ("CSV", "NumPy (npy)", "JSON", "Arrow"):
        page.get_by_role("button", name="Assignments").click()
        with page.expect_download() as waiting:
            page.get_by_role("menuitem", name=form, exact=True).click()
        assert waiting.value.suggested_filename.startswith("three-blobs-k-3.")
        saved[form] = waiting.value.path().read_bytes()
    expected = api.client.get(f"/v1/trees/{blobs['tree']}/assignments", params={"k": 3}).json()
    clusters = expected["assignments"]
    rows = saved["CSV"].decode().splitlines()
    assert [int(row.split(",")[1]) for row in rows[1:]] == clusters
    assert np.load(io.BytesIO(saved["NumPy (npy)"])).tolist() == clusters
    assert json.loads(saved["JSON"]) == expected
    assert pa.ipc.open_file(saved["Arrow"]).read_all()["cluster"].to_pylist() == clusters


def test_a_partially_loaded_tree_is_cut_by_the_service(look: Open, large: str) -> None:
    page = look(f"/trees/{large}?cut=k:6")
    settled(page)
    assert summary(page).startswith("6 clusters")
    few = pixels(page)
    with page.expect_response(lambda answer: "/cut?" in answer.url and "k=2500" in answer.url):
        page.get_by_label("Number of clusters").fill("2500")
        page.keyboard.press("Enter")
    until(page, lambda: summary(page).startswith("2,500 clusters"))
    assert "smaller" in page.locator(".cut-bars").inner_text()
    settled(page)
    assert pixels(page) != few
    # Clusters below the loaded nodes: most folded nodes have the colour of their largest cluster.
    bare = page.evaluate(
        """() => {
          const canvas = document.querySelector(".tree-base");
          const {width, height} = canvas;
          const options = {willReadFrequently: true};
          const copy = new OffscreenCanvas(width, height).getContext("2d", options);
          copy.drawImage(canvas, 0, 0);
          const {data} = copy.getImageData(0, 0, width, height);
          let bare = 0, all = 0;
          for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 200) {
            all += 1;
            const ink = [0x56, 0x60, 0x6d];
            if (ink.every((part, of) => Math.abs(part - data[at + of]) < 16)) bare += 1;
          }
          return bare / all;
        }"""
    )
    assert bare < 0.4
    for to in range(100, 600, 25):  # Only the last value counts.
        slide(page, to)
    slide(page, 500)
    until(page, lambda: summary(page).startswith("95 clusters"))


@pytest.fixture(scope="module")
def many(api: Api, small: str) -> dict[str, str]:
    """The ids of trees of every kind; `falls` has a child above its parent."""
    nodes = [
        (0, None, 2.0),
        (1, 0, 3.0),
        (2, 0, 1.0),
        (3, 1, 0.0),
        (4, 1, 0.0),
        (5, 2, 0.0),
        (6, 2, 0.0),
    ]
    falls = {
        "monotone": False,
        "nodes": [
            {"id": i, "parent": up, "name": None, "height": h, "size": 1} for i, up, h in nodes
        ],
    }
    return {
        "small": small,
        "even": linkage(api, joined(60, seed=3), "Even"),
        "ties": imported(api, "((a:1,b:1):1,(c:1,d:1):1,(e:2,(f:1,g:1,h:1):1):0);", "Ties"),
        "wide": imported(api, "((a,b,c,d,e),(f,g,h),(((i))));", "Wide"),
        "falls": imported(api, json.dumps(falls), "Falls", "application/json"),
    }


def test_cuts_on_the_page_equal_those_of_the_service(
    look: Open, api: Api, many: dict[str, str]
) -> None:
    page = look("/jobs")
    for name, tree in many.items():
        view = api.client.get(f"/v1/trees/{tree}/view", params={"max_nodes": 4000}).json()
        n_leaves = view["nodes"][0]["n_leaves"]
        heights = sorted({node["height"] for node in view["nodes"]})[-12:]
        cuts: list[dict[str, float]] = [{"k": k} for k in range(1, n_leaves + 1)]
        cuts += [{"height": h + more} for h in heights for more in (0, 0.25)] + [{"height": -1}]
        results = page.evaluate(
            """async ([view, cuts]) => {
              const {Store} = await import("/dashboard/js/tree/model/store.js");
              const {cutter, cutHere, heightOf} = await import("/dashboard/js/tree/model/cut.js");
              const store = new Store();
              store.graft(view);
              const own = cutter(store);
              return cuts.map(cut => {
                const answer = cutHere(own, cut);
                return {...answer, middle: heightOf(answer)};
              });
            }""",
            [view, cuts],
        )
        for cut, here in zip(cuts, results, strict=True):
            same_as_the_service(api, tree, f"{name} {cut}", cut, here)


def same_as_the_service(
    api: Api, tree: str, what: str, cut: dict[str, float], here: dict[str, Any]
) -> None:
    path = f"/v1/trees/{tree}/cut"
    served = api.client.get(path, params={**cut, "limit": 10_000}).json()
    for name in ("n_clusters", "smallest", "median", "largest"):
        assert here[name] == served[name], (what, name)
    mine, theirs = (
        {(cluster["node"], cluster["size"], cluster["category"]) for cluster in answer["clusters"]}
        for answer in (here, served)
    )
    assert mine == theirs, what
    assert bool(here["warnings"]) == bool(served["warnings"]), what
    if "k" in cut and here["middle"] is not None:
        again = api.client.get(path, params={"height": here["middle"], "limit": 0}).json()
        assert again["n_clusters"] == here["n_clusters"], what


#        life (9)
#      /    |     \
# plants (5) noise  animals (4)
#   / \              /    \
# rose oak         cat    dog
NOISY = {
    "nodes": [
        {"id": 0, "parent": None, "name": None, "height": 9.0, "noise": False},
        {"id": 1, "parent": 0, "name": "plants", "height": 5.0, "noise": False},
        {"id": 2, "parent": 1, "name": "rose", "height": 0.0, "noise": False},
        {"id": 3, "parent": 1, "name": "oak", "height": 0.0, "noise": False},
        {"id": 4, "parent": 0, "name": "far away", "height": 0.0, "noise": True},
        {"id": 5, "parent": 0, "name": "animals", "height": 4.0, "noise": False},
        {"id": 6, "parent": 5, "name": "cat", "height": 0.0, "noise": False},
        {"id": 7, "parent": 5, "name": "dog", "height": 0.0, "noise": False},
    ]
}


def test_noise_is_grey_and_no_cluster(look: Open, api: Api) -> None:
    tree = imported(api, json.dumps(NOISY), "Noisy", "application/json")
    page = look(f"/trees/{tree}?cut=k:2")
    settled(page)
    assert summary(page).startswith("2 clusters of 2 points each")
    assert summary(page).endswith(", and 1 point of noise")
    entries = [entry.strip() for entry in page.locator(".tree-key").all_inner_texts()]
    assert sorted(entries) == ["animals\n2", "noise\n1", "plants\n2"]
    assert entries[-1] == "noise\n1"
    slide(page, 1000)
    until(page, lambda: summary(page).startswith("4 clusters"))
    slide(page, 0)
    until(page, lambda: summary(page).startswith("1 cluster"))
    assert "noise" not in page.locator(".tree-legend-place").inner_text()
    page.get_by_text("1 row(s) of noise are in the clusters").wait_for()


def test_the_clusters_as_tables(look: Open, api: Api, small: str) -> None:
    page = look(f"/trees/{small}?cut=k:2")
    until(page, lambda: "2 clusters" in summary(page))
    page.get_by_role("button", name="Table", exact=True).click()
    dialog = page.get_by_role("dialog", name="Clusters as a table")
    clusters = dialog.get_by_role("region", name="Clusters", exact=True).locator("tbody tr")
    clusters.first.wait_for()
    assert clusters.count() == 2
    leaves = dialog.get_by_role("region", name="The cluster of each leaf").locator("tbody tr")
    answer = api.client.get(f"/v1/trees/{small}/assignments.json?k=2&of=leaves").json()
    named = [leaf["leaf_name"] for leaf in answer["leaves"] if leaf["leaf_name"] is not None]
    assert leaves.locator("th").all_inner_texts() == named
    with page.expect_download() as waiting:
        dialog.get_by_role("button", name="Clusters as CSV").click()
    lines = waiting.value.path().read_text().splitlines()
    assert lines[0] == "cluster,node,name,size,share,support,n_leaves,leaves"
    assert len(lines) == 3
