"""How far the answers of a tree can be trusted, on its page."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.forms_kit import choose
from tests.dashboard.planted import SMALL, imported
from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

NAMES = ["<b>cat</b>", "dog", "oak", "rose"]
LABELLED = [*np.arange(199) % 4, 2, 0, 1, 2, 3]
"""Row 199 looks like a rose (3), and is labelled oak."""


@pytest.fixture(scope="module")
def tree(api: Api) -> str:
    rng = np.random.default_rng(0)
    own = np.arange(204) % 4
    logits = rng.normal(size=(204, 4)) + 6.0 * np.eye(4)[own]
    logits[own == 0, 1] += 4.0
    logits[own == 1, 0] += 2.0
    # Half of the oaks are surely taken for roses.
    logits[2:100:8, 3] += 12.0
    job = api.run("l2h", {"logits": logits.tolist(), "names": NAMES}, name="Living")
    assert job["status"] == "succeeded", job
    api.upload(npy(logits), role="logits", name="held out")
    api.upload(npy(np.array(LABELLED, dtype=np.int64)), role="labels", name="their classes")
    api.upload(npy(np.zeros(3, dtype=np.int64)), role="labels", name="three labels")
    return str(job["result"]["tree"])


def panel(page: Page) -> Locator:
    region = page.get_by_role("region", name="Trust", exact=True)
    region.get_by_text("What merging classes would gain").wait_for()
    return region


def saved(region: Locator, opener: str, item: str) -> list[dict[str, str]]:
    """The rows of the CSV file that a menu saves."""
    button = region.get_by_role("button", name=opener)
    button.scroll_into_view_if_needed()
    # Scrolling would close the menu, so wait until it ends.
    region.page.evaluate(
        "() => new Promise(on => requestAnimationFrame(() => requestAnimationFrame(on)))"
    )
    button.click()
    with region.page.expect_download() as waiting:
        region.page.get_by_role("menuitem", name=item).click()
    return list(csv.DictReader(waiting.value.path().read_text().splitlines()))


def test_a_tree_is_calibrated_and_tells_what_was_found(look: Open, tree: str, axe: Axe) -> None:
    page = look(f"/trees/{tree}?tab=trust")
    region = panel(page)
    region.get_by_text("Nothing is known yet").wait_for()
    go = region.get_by_role("button", name="Calibrate")
    go.wait_for()
    choose(region, "logits", "held out")
    # The only labels of as many rows, which no other test has, are chosen with the reason.
    labels = region.locator("[data-role=labels]")
    labels.get_by_text("The only labels of 204 rows").wait_for()
    assert "their classes" in labels.locator("option:checked").inner_text()
    choose(region, "labels", "three labels")
    assert not labels.get_by_text("The only labels").count()
    page.watch.expected.append("422")  # type: ignore[attr-defined]
    go.click()
    region.locator(".field.is-wrong").get_by_text("3 labels for 204 rows").wait_for()
    choose(region, "labels", "their classes")
    go.click()
    region.get_by_text("with a probability of at least 90").wait_for()
    placing = region.locator("details", has_text="Place new rows")
    choose(placing, "logits", "held out")
    placing.get_by_role("button", name="Place them").click()
    placed = region.get_by_role("region", name="New rows and where they lie")
    placed.get_by_role("columnheader", name="As promised").wait_for()
    # What every row has alike stands once.
    region.get_by_text("Promise: Holds the class").wait_for()
    assert not placed.get_by_role("columnheader", name="Promise", exact=True).count()
    suspects = region.get_by_role("region", name="Rows whose labels look wrong")
    assert "199" in suspects.inner_text()
    pairs = region.get_by_role("region", name="Pairs that need more data")
    first = pairs.locator("tbody tr").first
    assert set(first.locator("button").all_inner_texts()) == {"oak", "rose"}
    axe(page)
    rows = saved(region, "Save what the calibration found", "Pairs that need more data (CSV)")
    assert {rows[0]["node_name"], rows[0]["other_name"]} == {"oak", "rose"}
    assert saved(region, "Save what merging", "All steps (CSV)")[0]["n_classes"] == "4"
    first.get_by_role("button", name="oak").click()
    page.locator(".tree-node").get_by_text("oak").first.wait_for()


def fitted_file() -> bytes:
    """The rows of `blobs` once more."""
    points = np.random.default_rng(0).normal(size=(60, 4))
    return npy(points + 20 * np.repeat(np.arange(3), 20)[:, None])


def test_files_in_place_are_used_where_they_fit(look: Open, blobs: dict[str, Any]) -> None:
    page = look(f"/trees/{blobs['tree']}?tab=trust")
    region = page.get_by_role("region", name="Trust", exact=True)
    # The leaves are clusters, no classes: rows are placed in them without a calibration.
    region.get_by_role("button", name="Place them").wait_for()
    region.get_by_text("A new calibration", exact=True).click()
    forms = region.locator("details")
    row = forms.filter(has_text="A new calibration").locator("[data-role=features]")
    row.wait_for()
    assert not row.locator("option", has_text="blobs.npy").count()
    status = row.get_by_role("status")
    rng = np.random.default_rng(2)

    def give(name: str, body: bytes) -> None:
        row.locator("input[type=file]").set_input_files(
            {"name": name, "mimeType": "application/octet-stream", "buffer": body}
        )

    give("wide.npy", npy(rng.normal(size=(6, 9))))
    status.filter(has_text="It has 9 columns; the model takes 4.").wait_for()
    assert not row.locator("option", has_text="wide.npy").count()
    give("again.npy", fitted_file())
    status.filter(has_text="The model was fitted to these rows.").wait_for()
    give("new.npy", npy(rng.normal(size=(6, 4))))
    status.filter(has_text="6 rows of 4 numbers").wait_for()
    row.locator("option:checked", has_text="new.npy").wait_for(state="attached")


@pytest.mark.slow
def test_it_fits_a_phone_and_the_dark(open_page: Open, api: Api, tree: str, axe: Axe) -> None:
    body = {
        "inputs": {"logits": (6.0 * np.eye(4)[np.arange(100) % 4]).tolist()},
        "labels": [NAMES[each] for each in np.arange(100) % 4],
        "alpha": 0.2,
        "per": "class",
    }
    api.client.post(f"/v1/trees/{tree}/calibrations", json=body).raise_for_status()
    page = open_page(f"/trees/{tree}?tab=trust", theme="dark", width=390, height=844)
    region = panel(page)
    region.get_by_text("for the rows of each of 4 classes").wait_for()
    axe(page, "color-contrast")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390


def test_a_tree_that_places_no_rows_has_no_panel(look: Open, api: Api) -> None:
    page = look(f"/trees/{imported(api, SMALL, 'Life')}?tab=trust")
    page.get_by_role("heading", name="Life").wait_for()
    page.wait_for_load_state("networkidle")
    assert page.get_by_role("region", name="Trust", exact=True).count() == 0


def test_nodes_are_coloured_by_their_support(look: Open, api: Api) -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(24, 3)) + 30.0 * np.eye(3)[np.arange(24) % 3]
    support = {"replicates": 10, "resample": "noise"}
    job = api.run("hac", {"features": points.tolist()}, support=support, name="Three groups")
    page = look(f"/trees/{job['result']['tree']}")
    colours = page.get_by_role("region", name="Colour", exact=True)
    colours.get_by_label("By").select_option(label="Support")
    best = colours.get_by_role("button", name="95–100 %")
    best.wait_for()
    # The three groups come back whatever the noise.
    assert int(best.locator(".tree-key-size").inner_text()) >= 3
    page.wait_for_url("**color=support**")
    page = look(f"/trees/{job['result']['tree']}?color=support")
    page.get_by_role("button", name="95–100 %").wait_for()


def test_a_form_that_ends_takes_the_focus_from_nobody(look: Open) -> None:
    """A calibration may take a minute, in which its user types elsewhere."""
    page = look("/jobs")
    found = page.evaluate(
        """async () => {
          const {foldedForm} = await import("/dashboard/js/tree/panels/folded_form.js");
          const [go, other] = ["button", "input"].map((name) => document.createElement(name));
          let end;
          const form = foldedForm("New", async (done) => ((end = done), go), () => {});
          document.body.append(form, other);
          form.open = true;
          while (!go.isConnected) await new Promise(requestAnimationFrame);
          other.focus();
          end();
          const elsewhere = document.activeElement.localName;
          form.open = true;
          go.focus();
          end();
          return [elsewhere, document.activeElement.localName];
        }"""
    )
    assert found == ["input", "summary"]
