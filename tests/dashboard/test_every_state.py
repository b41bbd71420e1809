"""Each page, and each state of a tree's page, in three windows and both themes: readable by all."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.dashboard.conftest import Axe, Open
from tests.e2e.client import Api

if TYPE_CHECKING:
    from playwright.sync_api import Page

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
