"""Each page, and each state of a tree's page, in three windows and both themes: readable by all."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.dashboard.conftest import Axe, Open
from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SIZES = [(390, 844), (820, 1180), (1440, 900)]
Arrive = Callable[["Page"], None]


@pytest.fixture(scope="module")
def living(api: Api) -> str:
    """A tree with a calibration and a drift."""
    rng = np.random.default_rng(0)
    own = np.arange(200) % 4
    logits = rng.normal(size=(200, 4)) + 6.0 * np.eye(4)[own]
    logits[::20] = logits[::20, ::-1]
    rows, labels = logits.tolist(), own.tolist()
    job = api.run("l2h", {"logits": rows, "names": ["cat", "dog", "oak", "rose"]}, name="Living")
    tree = job["result"]["tree"]
    moved = logits[(own != 0) | (np.arange(200) % 40 == 0)].tolist()
    made(api, f"/v1/trees/{tree}/calibrations", {"inputs": {"logits": rows}, "labels": labels})
    samples = {"reference": {"inputs": {"logits": rows}}, "batch": {"inputs": {"logits": moved}}}
    made(api, f"/v1/trees/{tree}/drifts", samples)
    return str(tree)


def classes(seed: int, moved: bool = False) -> tuple[bytes, bytes]:
    """Logits of new rows, and their labels, as files."""
    own = np.arange(160) % 4
    if moved:
        own = np.where(own == 0, 1, own)
    logits = np.random.default_rng(seed).normal(size=(160, 4)) + 4.0 * np.eye(4)[own]
    return npy(logits), npy(own)


def give(place: Locator, role: str, name: str, content: bytes) -> None:
    """Drop a file as an input, and wait until it is chosen."""
    row = place.locator(f"[data-role={role}]").first
    row.locator("input[type=file]").set_input_files(
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    )
    row.locator("select option:checked", has_text=name).first.wait_for(state="attached")


def opened(place: Locator, summary: str) -> Locator:
    """A form that is folded once something has been made by it."""
    folded = place.locator("details", has=place.page.locator("summary", has_text=summary)).first
    folded.wait_for()
    folded.evaluate("each => { each.open = true; }")
    return folded


def calibrated(page: Page) -> None:
    form = opened(page.get_by_role("region", name="Trust", exact=True), "A new calibration")
    logits, labels = classes(11)
    give(form, "logits", "held-out.npy", logits)
    give(form, "labels", "held-out-labels.npy", labels)
    form.get_by_role("button", name="Calibrate").click()
    page.locator(".tree-trust summary", has_text="Place new rows").wait_for()


def placed(page: Page) -> None:
    calibrated(page)
    form = opened(page.get_by_role("region", name="Trust", exact=True), "Place new rows")
    give(form, "logits", "new-rows.npy", classes(12)[0])
    form.get_by_role("button", name="Place them").click()
    form.locator("tbody tr").first.wait_for()


def moved(page: Page) -> None:
    form = opened(page.get_by_role("region", name="Drift", exact=True), "A new comparison")
    for name, rows in (("Reference", classes(13)), ("Batch", classes(14, moved=True))):
        sample = form.get_by_role("group", name=name)
        give(sample, "logits", f"{name}.npy", rows[0])
        give(sample, "labels", f"{name}-labels.npy", rows[1])
    form.get_by_role("button", name="Compare").click()
    page.locator(".tree-drift").get_by_text("160 rows of the batch").first.wait_for()


def attached(page: Page) -> None:
    card = page.get_by_role("region", name="Items")
    card.get_by_label("Items", exact=True).select_option(label="Attach items…")
    dialog = page.get_by_role("dialog", name="Attach items")
    lines = "".join(f"row {at},{at / 3}\n" for at in range(60))
    dialog.get_by_label("File").set_input_files(
        {"name": "notes.csv", "mimeType": "text/csv", "buffer": f"note,weight\n{lines}".encode()}
    )
    dialog.get_by_role("button", name="Attach", exact=True).click()
    dialog.wait_for(state="detached")
    page.wait_for_url("**items=at_*")


def labelled(page: Page) -> None:
    names = json.dumps([("ant", "bee", "owl")[at // 20] for at in range(60)]).encode()
    page.get_by_label("File of Labels").first.set_input_files(
        {"name": "kinds.json", "mimeType": "application/json", "buffer": names}
    )
    page.wait_for_url("**color=*ds_*")
    page.get_by_text("owl").first.wait_for(state="attached")


def compared(page: Page) -> None:
    rng = np.random.default_rng(3)
    own = np.repeat(np.arange(3), 20)
    give(
        page.locator("main"),
        "features",
        "points.npy",
        npy(rng.normal(size=(60, 3)) + 9 * own[:, None]),
    )
    give(page.locator("main"), "labels", "kinds.npy", npy(own))


def made(api: Api, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = api.client.post(path, json=body, headers={"Prefer": "wait=60"})
    assert answer.status_code in (201, 202), answer.text
    if answer.status_code == 202:
        assert api.ended(answer.json()["job"])["status"] == "succeeded"
    return dict(answer.json())


@pytest.fixture(scope="module")
def states(api: Api, blobs: dict[str, Any], living: str) -> dict[str, tuple[str, Arrive]]:
    """The address of each state, and what waits until it is there."""
    tree, features = blobs["tree"], blobs["features"]
    logits = npy(np.random.default_rng(8).normal(size=(80, 4)) + 5.0 * np.eye(4)[np.arange(80) % 4])
    body = {"logits": api.upload(logits, role="logits", name="fitted.npy")}
    fitted = api.run("l2h", body | {"names": ["cat", "dog", "oak", "rose"]}, name="From files")
    bare = fitted["result"]["tree"]
    second = api.run("hac", {"features": features}, params={"linkage": "single"}, name="Single")
    rows = [{"kind": ("plant", "animal", "stone")[at // 20], "weight": at / 2} for at in range(60)]
    table = api.upload(json.dumps(rows).encode(), media="application/json", role="items")
    items = made(api, f"/v1/trees/{tree}/attachments", {"items": table, "name": "Kinds"})["id"]
    edition = made(api, f"/v1/trees/{tree}/editions", {"name": "for the paper"})["id"]
    share = made(api, f"/v1/trees/{tree}/shares", {})
    runs = [{"method": "kmeans", "params": {"n_clusters": n}} for n in (2, 3)]
    body = {"inputs": {"features": features}, "labels": blobs["labels"], "runs": runs}
    comparison = made(api, "/v1/comparisons", body)
    pair = f"left={tree}&right={second['result']['tree']}"
    shown = f"items={items}&strips=0.1&where=column%3D1%26low%3D2&color={items}.0&node=0"

    def sees(selector: str, **options: Any) -> Arrive:
        return lambda page: page.locator(selector, **options).first.wait_for()

    def with_files(page: Page) -> None:
        content = "a,b\n" + "".join(f"{at},{at * at % 7}\n" for at in range(30))
        page.locator(".drop input[type=file]").set_input_files(
            {"name": "rows.csv", "mimeType": "text/csv", "buffer": content.encode()}
        )
        page.locator(".file-card[data-use]").wait_for()
        page.locator(".method-card.is-chosen").wait_for()

    def drawn(*further: Arrive) -> Arrive:
        def arrive(page: Page) -> None:
            page.locator(".cut-summary strong").wait_for(state="attached")
            for each in further:
                each(page)

        return arrive

    def printing(page: Page) -> None:
        page.get_by_role("button", name="Save", exact=True).first.click()
        page.get_by_role("menuitem", name="Figure for print").click()
        page.get_by_role("dialog").get_by_label("Size").wait_for()

    def shared(page: Page) -> None:
        page.locator(".tree-mirror [role=treeitem]").first.wait_for(state="attached")

    gains = sees("section[aria-labelledby] >> text=What merging classes would gain")
    return {
        "start": ("/", sees(".drop")),
        "run with files": ("/?method=hac", with_files),
        "jobs": ("/jobs", sees("tbody tr")),
        "job": (f"/jobs/{blobs['job']}", sees("main h1", has_text="Three blobs")),
        "datasets": ("/datasets", sees("tbody tr")),
        "dataset": (f"/datasets/{blobs['labels']}", sees("main h1", has_text="groups.json")),
        "trees": ("/trees", sees("tbody tr")),
        "circle": (f"/trees/{tree}", drawn()),
        "rectangle": (f"/trees/{tree}?layout=rectangular", drawn()),
        "map": (f"/trees/{tree}?map=pca", drawn(sees(".map-facts", has_text="60 points"))),
        "heatmap": (f"/trees/{tree}?cut=k:3&heatmap=mean.cut", drawn(sees("text=3 rows × 4"))),
        "items": (f"/trees/{tree}?{shown}", drawn(sees("text=56 of 60 items match"))),
        "edition": (f"/trees/{tree}?edition={edition}&node=1&tab=edit", drawn(sees(".edition"))),
        "confusions": (f"/trees/{living}?tab=confusions", drawn(sees(".matrix-canvas"))),
        "trust": (f"/trees/{living}?tab=trust", drawn(gains)),
        "drift": (f"/trees/{living}?tab=drift", drawn(sees("text=What moved, the surest first"))),
        "comparison": (f"/comparisons/{comparison['id']}", sees("table.comparison")),
        "two trees": (f"/compare?{pair}", sees(".tangle-facts dd")),
        "print dialog": (f"/trees/{tree}", drawn(printing)),
        "shared": (share["page"], shared),
        "labels of a file": (f"/trees/{tree}", drawn(labelled)),
        "items of a file": (f"/trees/{tree}?node=0", drawn(attached)),
        "calibration of files": (f"/trees/{bare}?tab=trust", drawn(calibrated)),
        "predictions of a file": (f"/trees/{bare}?tab=trust", drawn(placed)),
        "drift of files": (f"/trees/{bare}?tab=drift", drawn(moved)),
        "comparison of files": ("/comparisons/new", compared),
    }  # fmt: skip


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_every_state_can_be_read_by_all(
    open_page: Open,
    states: dict[str, tuple[str, Arrive]],
    axe: Axe,
    width: int,
    height: int,
    theme: str,
) -> None:
    page = open_page("/jobs", theme=theme, width=width, height=height, fresh=True)
    origin = page.url.partition("/#")[0]
    # What is not of colours does not depend on the theme.
    rules = () if theme == "light" else ("color-contrast",)
    wrong = []
    for name, (address, arrive) in states.items():
        if address.startswith("/shared"):
            page.goto(origin + address)
        else:
            page.evaluate("location.hash = '#/nowhere'")
            page.locator("main h1", has_text="There is nothing").wait_for()
            page.evaluate("to => { location.hash = `#${to}`; }", address)
        arrive(page)
        try:
            axe(page, *rules)
        except AssertionError as error:
            wrong.append(f"{name}: {error}")
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            wrong.append(f"{name}: it is {wide} px wide")
        page.keyboard.press("Escape")
    assert not wrong, "\n\n".join(wrong)
