"""The picture of a tree: layouts, camera, folding, roots, search, links, unusual trees."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.dashboard.conftest import WITHIN_MS, Axe, Open
from tests.dashboard.forms_kit import held_back
from tests.dashboard.planted import (
    SMALL,
    chained,
    hash_of,
    imported,
    inked,
    joined,
    linkage,
    pixels,
    settled,
    until,
)
from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def small(api: Api) -> str:
    return imported(api, SMALL, "Small")


@pytest.fixture(scope="module")
def large(api: Api) -> str:
    return linkage(api, joined(20_000), "Large")


def walk(page: Page, *keys: str) -> None:
    page.locator(".tree-mirror").focus()
    for key in keys:
        page.keyboard.press(key)


def current(page: Page) -> str:
    """The screen reader's text of the node selected by the keys."""
    tree = page.locator(".tree-mirror")
    return page.locator(f"#{tree.get_attribute('aria-activedescendant')}").inner_text()


def test_first_picture_and_layouts(look: Open, small: str) -> None:
    page = look(f"/trees/{small}")
    page.locator("h1", has_text="Small").wait_for()
    assert page.title() == "Small · Umbel"
    settled(page)
    assert inked(page) > 500
    assert page.evaluate("performance.getEntriesByName('tree:first-picture').length") >= 1
    pictures = {"circular": pixels(page)}
    for label, shape in (("Rectangle", "rectangular"), ("Icicle", "icicle")):
        page.get_by_role("button", name=label).click()
        until(page, lambda shape=shape: hash_of(page).get("layout") == shape)
        settled(page)
        pictures[shape] = pixels(page)
    assert len(set(pictures.values())) == 3
    page.get_by_role("button", name="Circle").click()
    settled(page)
    assert pixels(page) == pictures["circular"]
    assert "layout" not in hash_of(page)


def test_layouts_are_animated_unless_motion_is_reduced(
    chromium: Any, service: Any, small: str
) -> None:
    context = chromium.new_context(reduced_motion="no-preference")
    page = context.new_page()
    page.set_default_timeout(WITHIN_MS)
    page.clock.install()
    page.goto(f"{service.url}/#/trees/{small}")
    settled(page)
    # From here on the page's time passes by steps, however slow the machine is.
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 1)
    page.evaluate("document.querySelectorAll('.segment')[1].click()")
    frames = set()
    for _ in range(30):
        page.clock.run_for(30)
        frames.add(pixels(page))
    assert len(frames) > 3
    context.close()


def test_pointing_at_a_node_shows_its_facts(look: Open, small: str) -> None:
    page = look(f"/trees/{small}?layout=icicle&heights=depth")
    settled(page)
    box = page.locator(".tree-stage").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    tip = page.locator(".tree-tip")
    until(page, lambda: "life" in tip.inner_text())
    assert "7 leaves, 7 points" in tip.inner_text()
    until(page, lambda: inked(page, ".tree-over") > 100)
    page.mouse.move(box["x"] + 40, box["y"] + box["height"] * 0.7)
    until(page, lambda: "rose" in tip.inner_text())
    page.mouse.click(box["x"] + 40, box["y"] + box["height"] * 0.7)
    page.locator(".node-name", has_text="rose").wait_for()
    page.mouse.move(box["x"] + 5, box["y"] - 30)
    until(page, lambda: not tip.is_visible())


def test_a_node_without_a_name_is_described_by_its_own_leaves(look: Open, api: Api) -> None:
    # The root's children are the clusters of the cut: one of a, b, c and d, one of e and f.
    tree = imported(api, "(((a:1,b:1):1,(c:1,d:1):1):1,(e:1,f:1):2);", "Unnamed")
    page = look(f"/trees/{tree}?layout=icicle&heights=depth&cut=k:2")
    settled(page)
    box = page.locator(".tree-stage").bounding_box()
    assert box is not None
    tip = page.locator(".tree-tip")
    seen = set()

    def is_seen() -> bool:
        """By depth: a, b, c and d together, then c and d."""
        for row in range(8):
            y = box["y"] + (row + 0.5) / 8 * box["height"]
            page.mouse.move(box["x"] + 0.4 * box["width"], y)
            page.wait_for_timeout(30)
            if tip.is_visible():
                seen.add(tuple(tip.inner_text().splitlines()))
        return any(lines[0] == "a, b, c, …" for lines in seen) and any(
            (lines[0], lines[-1]) == ("c, d", "in cluster a, b, c, …") for lines in seen
        )

    until(page, is_seen)


def test_zoom_pan_and_back_to_the_whole(look: Open, small: str) -> None:
    page = look(f"/trees/{small}")
    settled(page)
    fitted = pixels(page)
    page.get_by_role("button", name="Zoom in").click()
    until(page, lambda: hash_of(page).get("zoom", "").startswith("1.6,"))
    box = page.locator(".tree-stage").bounding_box()
    assert box is not None
    x, y = box["x"] + 200, box["y"] + 200
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    until(page, lambda: float(hash_of(page)["zoom"].split(",")[0]) > 1.7)
    before = hash_of(page)["zoom"]
    page.mouse.down()
    page.mouse.move(x + 80, y + 30, steps=3)
    page.mouse.up()
    until(page, lambda: hash_of(page)["zoom"] != before)
    assert "node" not in hash_of(page)  # A drag is not a click.
    walk(page, "0")
    until(page, lambda: "zoom" not in hash_of(page))
    page.locator(".tree-mirror").blur()
    settled(page)
    assert pixels(page) == fitted
    walk(page, "+", "+", "-")
    until(page, lambda: hash_of(page).get("zoom", "").startswith("1.5,"))


def test_the_overview_shows_and_moves_the_window(look: Open, small: str, axe: Axe) -> None:
    page = look(f"/trees/{small}")
    settled(page)
    overview = page.locator(".tree-minimap")
    assert overview.is_hidden()
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
    overview.wait_for()
    until(page, lambda: "zoom" in hash_of(page))
    axe(page)
    before = hash_of(page)["zoom"]
    box = overview.bounding_box()
    assert box is not None
    overview.click(position={"x": box["width"] * 0.2, "y": box["height"] * 0.8})
    until(page, lambda: hash_of(page)["zoom"] != before)
    y = float(hash_of(page)["zoom"].split(",")[3])
    assert y > 0.6
    before = hash_of(page)["zoom"]
    overview.focus()
    page.keyboard.press("ArrowUp")
    until(page, lambda: hash_of(page)["zoom"] != before)
    assert float(hash_of(page)["zoom"].split(",")[3]) < y
    page.keyboard.press("0")
    overview.wait_for(state="hidden")


def test_two_fingers_zoom(open_page: Open, small: str) -> None:
    page = open_page(f"/trees/{small}", width=390, height=800, has_touch=True)
    settled(page)
    page.evaluate(
        """() => {
          const stage = document.querySelector(".tree-stage");
          const {left, top} = stage.getBoundingClientRect();
          const send = (type, pointerId, x, y) => stage.dispatchEvent(new PointerEvent(type, {
            pointerId, pointerType: "touch", clientX: left + x, clientY: top + y, bubbles: true}));
          send("pointerdown", 11, 150, 200);
          send("pointerdown", 12, 200, 200);
          for (let at = 0; at <= 50; at += 10) send("pointermove", 12, 200 + at, 200);
          send("pointerup", 12, 250, 200);
          send("pointerup", 11, 150, 200);
        }"""
    )
    until(page, lambda: hash_of(page).get("zoom", "").startswith("2,"))


def test_keys_move_fold_and_set_the_root(look: Open, small: str) -> None:
    page = look(f"/trees/{small}")
    settled(page)
    walk(page, "ArrowRight")
    assert current(page).startswith("plants, 5 leaves")
    walk(page, "ArrowDown")
    assert current(page).startswith("pets")
    walk(page, "ArrowDown")
    assert current(page).startswith("pets")
    walk(page, "ArrowUp", "ArrowRight", "ArrowDown", "Enter")
    assert current(page) == "trees, 3 leaves"
    page.locator(".node-name", has_text="trees").wait_for()
    item = page.locator(".tree-mirror [aria-selected=true]")
    assert item.get_attribute("aria-expanded") == "true"
    assert item.get_attribute("aria-level") == "3"
    assert (item.get_attribute("aria-posinset"), item.get_attribute("aria-setsize")) == ("2", "2")
    walk(page, " ")
    until(page, lambda: "folded" in hash_of(page))
    assert current(page) == "trees, 3 leaves, folded"
    folded = pixels(page)
    walk(page, " ")
    until(page, lambda: "folded" not in hash_of(page))
    assert pixels(page) != folded
    walk(page, "r")
    until(page, lambda: "root" in hash_of(page))
    crumbs = page.get_by_role("navigation", name="Part of the tree")
    crumbs_of = crumbs.get_by_role("listitem").all_inner_texts
    until(page, lambda: crumbs_of() == ["life", "›\nplants", "›\ntrees"])
    trees = hash_of(page)["root"]
    crumbs.get_by_role("button", name="plants").click()
    until(page, lambda: hash_of(page)["root"] != trees)
    assert "trees" not in crumbs.inner_text()
    page.go_back()
    until(page, lambda: "trees" in crumbs.inner_text())
    assert hash_of(page)["root"] == trees
    walk(page, "Backspace", "Backspace")
    until(page, lambda: "root" not in hash_of(page))
    crumbs.wait_for(state="hidden")


def test_search_shows_the_node(look: Open, small: str, large: str) -> None:
    page = look(f"/trees/{small}")
    settled(page)
    walk(page, "/")
    page.keyboard.type("as")
    hit = page.locator(".find-hit", has_text="ash").first
    hit.wait_for()
    assert "plants › trees › ring" in hit.inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(page, lambda: page.locator(".node-name").inner_text() == "ash")
    page.get_by_role("combobox").nth(0).fill("no such")
    page.get_by_text("No node has this in its name.").wait_for()

    page = look(f"/trees/{large}")
    settled(page)
    page.get_by_label("Find a node by its name").fill("19876")
    page.locator(".find-hit").first.wait_for()
    page.keyboard.press("Enter")
    until(page, lambda: page.locator(".node-name").inner_text() == "19876")
    until(page, lambda: float(hash_of(page).get("zoom", "1").split(",")[0]) > 20)
    assert page.locator(".tree-mirror [aria-selected=true]").inner_text() == "19876, 1 point"


def test_a_link_opens_the_same_view(look: Open, open_page: Open, small: str) -> None:
    page = look(f"/trees/{small}?heights=depth&palette=tol-bright")
    settled(page)
    page.get_by_role("button", name="Rectangle").click()
    page.get_by_label("Number of clusters").fill("4")
    page.keyboard.press("Enter")
    walk(page, "ArrowRight", "ArrowRight", " ", "ArrowDown", "Enter")
    page.get_by_role("button", name="Zoom in").click()
    page.mouse.move(5, 5)
    settled(page)
    until(page, lambda: "zoom" in hash_of(page))
    assert set(hash_of(page)) == {"layout", "heights", "palette", "folded", "cut", "node", "zoom"}
    again = open_page(page.evaluate("location.hash.slice(1)"), anew=True)
    settled(again)
    again.locator(".node-name", has_text="trees").wait_for()
    assert again.locator(".cut-summary strong").inner_text() == "4 clusters"
    page.locator("h1").click()
    settled(page)
    assert pixels(again) == pixels(page)
    assert hash_of(again) == hash_of(page)


def test_zooming_in_loads_more_detail(look: Open, large: str) -> None:
    page = look(f"/trees/{large}")
    settled(page)
    much = page.locator(".tree-drawn")
    assert much.inner_text() == "2,999 nodes loaded, more as you go nearer"

    def here() -> int:
        return int(much.inner_text().split()[0].replace(",", ""))

    box = page.locator(".tree-stage").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 40)
    for _ in range(14):
        page.mouse.wheel(0, -400)
        page.wait_for_timeout(30)
    until(page, lambda: here() > 3010)
    settled(page)
    assert here() <= 20_000
    assert inked(page) > 500


def test_nothing_overlaps(look: Open, small: str, large: str) -> None:
    page = look(f"/trees/{small}")
    overlaps = page.evaluate(
        """async ids => {
          const at = name => import(`/dashboard/js/tree/${name}.js`);
          const {Store} = await at("model/store"), {build} = await at("model/scene");
          const {tint} = await at("draw/tint");
          const {frameFor, compose} = await at("draw/composition");
          const {colours} = await at("draw/palettes");
          const {home, zoomed} = await at("draw/camera");
          const {width: measure} = await at("draw/text");
          const theme = colours("light", "okabe-ito");
          let written = 0;
          const bad = [];
          for (const id of ids) {
            const store = new Store();
            store.graft(await (await fetch(`/v1/trees/${id}/view?max_nodes=4000`)).json());
            for (const shape of ["circular", "rectangular", "icicle"])
            for (const near of [1, 3, 40]) {
              const scene = build(store, {root: 0, folded: new Set(), scale: "auto"});
              const room = {shape, width: 900, height: 700, theme, banded: false};
              const frame = frameFor(store, scene, room);
              const camera = near === 1 ? home() : zoomed(frame, home(), near, 450, 60);
              const own = tint(scene, theme, {by: "none"});
              const picture = compose({store, scene, frame, camera, theme, tint: own});
              const boxes = picture.layers.texts.map(t => {
                const w = measure(t.text, t.size, theme.family, t.weight);
                const from = t.align === "right" ? -w : t.align === "center" ? -w / 2 : 0;
                const h = t.size * 0.48;
                const corner = (x, y) => [t.x + x * Math.cos(t.turn) - y * Math.sin(t.turn),
                                          t.y + x * Math.sin(t.turn) + y * Math.cos(t.turn)];
                const to = from + w;
                return [corner(from, -h), corner(to, -h), corner(to, h), corner(from, h)];
              });
              written += boxes.length;
              const apart = (a, b) => [a, b].some(one => one.some((p, k) => {
                const q = one[(k + 1) % 4];
                const n = [q[1] - p[1], p[0] - q[0]];
                const d = box => box.map(c => c[0] * n[0] + c[1] * n[1]);
                const len = Math.hypot(...n);
                const before = (x, y) => Math.max(...d(x)) < Math.min(...d(y)) + 0.3 * len;
                return before(a, b) || before(b, a);
              }));
              for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++)
                if (!apart(boxes[i], boxes[j])) bad.push([shape, near, i, j]);
            }
          }
          return {written, bad: bad.slice(0, 5)};
        }""",
        [small, large],
    )
    assert overlaps["written"] > 100
    assert overlaps["bad"] == []


def test_the_pointer_hits_the_drawn_branch(look: Open, api: Api, small: str) -> None:
    """A point on a branch hits that branch's node, in every shape and for every camera."""
    tree = linkage(api, joined(200, seed=7), "Two hundred")
    page = look("/jobs")
    probes = page.evaluate(
        """async ids => {
          const at = name => import(`/dashboard/js/tree/${name}.js`);
          const {Store} = await at("model/store"), {build} = await at("model/scene");
          const {fit, place} = await at("draw/place"), {pick} = await at("draw/picking");
          const {home, zoomed} = await at("draw/camera");
          const wrong = [];
          let looked = 0;
          for (const id of ids) {
            const store = new Store();
            store.graft(await (await fetch(`/v1/trees/${id}/view?max_nodes=1000`)).json());
            const scene = build(store, {root: 0, folded: new Set(), scale: "depth"});
            for (const shape of ["circular", "rectangular", "icicle"])
            for (const near of [1, 4, 300]) {
              const frame = fit(shape, {width: 900, height: 700, room: 60});
              const camera = near === 1 ? home() : zoomed(frame, home(), near, 500, 500);
              const own = place(frame, camera);
              for (let row = 1; row < scene.n; row += 1) {
                const up = scene.parent[row];
                const apart = (scene.right[row] - scene.left[row]) * own.acrossAt(scene.v[up]);
                if (apart < 2) continue;
                const v = (scene.v[up] + scene.v[row]) / 2;
                looked += 1;
                const hit = pick(scene, own, ...own.at(scene.u[row], v));
                if (hit !== row) wrong.push([shape, near, row, hit]);
              }
            }
          }
          return {looked, wrong: wrong.slice(0, 5)};
        }""",
        [small, tree],
    )
    assert probes["looked"] > 1000
    assert probes["wrong"] == []


HOSTILE = [
    "x" * 2000,
    "שלום עולם",
    "مرحبا",
    "👩‍👩‍👧‍👦 family 🌳",
    "<img src=x onerror=alert(1)>",
    "‮evil",
    "a\nb",
    "]]><script>alert(2)</script>",
]


def test_hostile_names_are_text(look: Open, api: Api) -> None:
    quoted = ["'" + name.replace("'", "''") + "':1" for name in HOSTILE]
    newick = f"(({','.join(quoted[:4])}),({','.join(quoted[4:])}));"
    tree = imported(api, newick, "<script>alert(1)</script>")
    page = look(f"/trees/{tree}?node=1")
    for layout in ("Circle", "Rectangle", "Icicle"):
        page.get_by_role("button", name=layout).click()
        settled(page)
        assert inked(page) > 500
    page.locator("h1", has_text="<script>alert(1)</script>").wait_for()
    page.get_by_label("Find a node by its name").fill("<img")
    page.locator(".find-hit").first.wait_for()
    page.keyboard.press("Enter")
    until(page, lambda: page.locator(".node-name").inner_text() == HOSTILE[4])
    assert page.locator("main img").count() == 0
    clipped = page.evaluate(
        """async names => {
          const {clip, line, width} = await import("/dashboard/js/tree/draw/text.js");
          return names.map(name => {
            const text = clip(name, 12, 60, "sans-serif");
            return [text, width(text, 12, "sans-serif"), line(name)];
          });
        }""",
        HOSTILE,
    )
    assert all(wide <= 60 for _, wide, _ in clipped)
    assert clipped[0][0].endswith("…")
    assert clipped[6][2] == "a b"
    assert clipped[5][2] == "evil"
    assert not any(text[-2:-1] == "\ud83d" for text, _, _ in clipped)


@pytest.mark.parametrize(
    ("newick", "text"),
    [
        ("lonely;", "1 leaf"),
        ("((a:0,b:0):0,(c:0,(d:0,e:0):0):0);", "5 leaves"),
        ("(((a)));", "1 leaf"),
    ],
)
def test_unusual_trees(look: Open, api: Api, newick: str, text: str) -> None:
    tree = imported(api, newick, "Odd")
    page = look(f"/trees/{tree}")
    settled(page)
    page.locator(".tree-title", has_text=f"{text} ·").wait_for()
    assert inked(page) > 50
    for label in ("Rectangle", "Icicle"):
        page.get_by_role("button", name=label).click()
        page.wait_for_timeout(50)
        assert inked(page) > 50
    walk(page, "ArrowRight", "Enter", "r", "0", "+", "Escape")


def test_a_chain_and_a_star(look: Open, api: Api) -> None:
    chain = linkage(api, chained(100_000), "Chain")
    page = look(f"/trees/{chain}")
    settled(page)
    page.locator(".tree-title", has_text="100,000 leaves").wait_for()
    page.get_by_role("button", name="Rectangle").click()
    settled(page)
    page.get_by_label("Find a node by its name").fill("99999")
    page.locator(".find-hit").first.wait_for()
    page.keyboard.press("Enter")
    until(page, lambda: page.locator(".node-name").inner_text() == "99999")
    page.get_by_label("Find a node by its name").fill("1")
    page.locator(".find-hit").first.click()  # 100,000 steps below the root.
    until(page, lambda: page.locator(".node-name").inner_text() == "1")
    assert page.locator(".tree-mirror [aria-selected=true]").inner_text() == "1, 1 point"

    star = imported(api, "(" + ",".join(f"s{i}" for i in range(30_000)) + ");", "Star")
    page = look(f"/trees/{star}")
    settled(page)
    assert page.locator(".tree-drawn").is_visible()
    walk(page, "ArrowRight")
    assert current(page).endswith("1 point")


def test_a_tree_deleted_while_open(look: Open, api: Api) -> None:
    tree = imported(api, SMALL, "Gone soon")
    page = look(f"/trees/{tree}")
    settled(page)
    page.watch.expected.append("404")
    assert api.client.delete(f"/v1/trees/{tree}").status_code == 204
    before = pixels(page)
    walk(page, "ArrowRight", "Enter")
    page.locator(".tree-node .notice").wait_for()
    walk(page, "r")
    page.get_by_role("button", name="Icicle").click()
    until(page, lambda: pixels(page) != before)
    page.reload()
    page.locator("main .notice").wait_for()
    assert "Try again" not in page.locator("main .notice").inner_text()


def test_an_unreachable_service(open_page: Open, large: str) -> None:
    page = open_page(f"/trees/{large}")
    settled(page)
    page.watch.expected.append("Failed to load resource")
    page.route("**/v1/**", lambda route: route.abort())
    page.route("**/livez", lambda route: route.abort())
    walk(page, "ArrowRight", "Enter")
    page.get_by_text("Waiting for the service").wait_for()
    for _ in range(8):
        page.mouse.move(400, 300)
        page.mouse.wheel(0, -300)
    page.get_by_role("button", name="Rectangle").click()
    page.wait_for_timeout(400)
    assert inked(page) > 500
    assert page.locator(".tree-trouble").inner_text() == ""
    # Click during the outage: afterwards the page may recover by itself before the click.
    with page.expect_request("**/livez"):
        page.get_by_role("button", name="Try now").click()
    page.unroute("**/v1/**")
    page.unroute("**/livez")
    page.locator(".node-facts").wait_for()


def test_invalid_addresses(look: Open, small: str) -> None:
    page = look(f"/trees/{small}?layout=spiral&zoom=a,b&root=zz&folded=x.y&cut=k:0&node=-4&only=q")
    settled(page)
    assert inked(page) > 500
    page = look(f"/trees/{small}?root=99", heading=False)
    page.watch.expected.append("422")
    page.locator("h1", has_text="Small").wait_for()
    page.get_by_text("Shown without what the link named").wait_for()


@pytest.mark.parametrize(
    ("theme", "width"), [("light", 1280), pytest.param("dark", 390, marks=pytest.mark.slow)]
)
def test_accessibility(
    open_page: Open, axe: Callable[[Page], None], small: str, theme: str, width: int
) -> None:
    page = open_page(f"/trees/{small}?node=2", theme=theme, width=width)
    settled(page)
    page.locator(".node-facts").wait_for()
    axe(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".tree-mirror").focus()
    shadow = page.evaluate("getComputedStyle(document.querySelector('.tree-mirror')).boxShadow")
    assert "inset" in shadow
    page.get_by_label("Find a node by its name").fill("o")
    page.locator(".find-hit").first.wait_for()
    axe(page)


def test_the_layout_equals_the_services(look: Open, api: Api, small: str) -> None:
    """The same v for every scale, and the same order across where nothing is folded."""
    page = look(f"/trees/{small}")
    tree = linkage(api, joined(300, seed=5), "Even")
    for tree_id in (small, tree):
        for scale in ("height", "sqrt", "rank", "depth", "level"):
            view = api.client.get(
                f"/v1/trees/{tree_id}/view", params={"max_nodes": 2000, "scale": scale}
            ).json()
            nodes = page.evaluate(
                """async ([view, scale]) => {
                  const {Store} = await import("/dashboard/js/tree/model/store.js");
                  const {build} = await import("/dashboard/js/tree/model/scene.js");
                  const store = new Store();
                  store.graft(view);
                  const scene = build(store, {root: 0, folded: new Set(), scale});
                  return {id: [...scene.id], u: [...scene.u], v: [...scene.v]};
                }""",
                [view, scale],
            )
            assert nodes["id"] == [node["id"] for node in view["nodes"]]
            assert nodes["v"] == pytest.approx([node["y"] for node in view["nodes"]], abs=1e-6)
            assert nodes["u"] == pytest.approx([node["x"] for node in view["nodes"]], abs=1e-6)


def test_the_colours_chosen_last_stay(open_page: Open, api: Api, small: str) -> None:
    """An answer to an earlier choice that comes later changes nothing."""
    labels = api.upload(npy(np.arange(7) % 2), role="labels", name="parity")
    page = open_page(f"/trees/{small}")
    settled(page)
    by = page.get_by_role("region", name="Colour").get_by_label("By", exact=True)
    until(page, lambda: by.locator(f"option[value={labels}]").count() == 1)
    with held_back(page, re.compile(r"/view\?"), "GET") as held:
        by.select_option(labels)
        until(page, lambda: held)
        by.select_option("none")
        until(page, lambda: hash_of(page).get("color") == "none")
        arrives = page.expect_event("requestfinished", lambda sent: sent == held[0].request)
        arrives.__enter__()
    arrives.__exit__(None, None, None)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    assert hash_of(page)["color"] == "none"
    assert by.input_value() == "none"
