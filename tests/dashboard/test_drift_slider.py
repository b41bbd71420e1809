"""Drifts of a tree over time, as a slider."""

from __future__ import annotations

import numpy as np

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import until
from tests.e2e.client import Api
from tests.needs_kit import need


def test_drifts_in_time_are_a_slider(look: Open, api: Api, axe: Axe) -> None:
    rng = np.random.default_rng(0)
    own = np.arange(120) % 3

    def rows(classes: np.ndarray) -> list[list[float]]:
        logits: list[list[float]] = (rng.normal(size=(120, 3)) + 6.0 * np.eye(3)[classes]).tolist()
        return logits

    names = ["cat", "dog", "oak"]
    job = api.run("l2h", {"logits": rows(own), "names": names}, name="Seasons")
    tree = job["result"]["tree"]
    for season, batch in (("spring", own), ("autumn", np.minimum(own, 1))):
        made = api.client.post(
            f"/v1/trees/{tree}/drifts",
            json={
                "reference": {"inputs": {"logits": rows(own)}},
                "batch": {"inputs": {"logits": rows(batch)}},
                "name": season,
            },
            headers={"Prefer": "wait=30"},
        )
        assert made.status_code in (201, 202), made.text
        api.ended(made.json()["job"])
    page = look(f"/trees/{tree}?tab=drift")
    region = page.get_by_role("region", name="Drift", exact=True)
    time = region.get_by_label("In time")
    time.wait_for()
    # It opens with the newest.
    until(page, lambda: time.input_value() == time.get_attribute("max") == "1")
    assert "autumn" in str(time.get_attribute("aria-valuetext"))
    region.locator("tr", has_text="oak").first.wait_for()
    time.focus()
    page.keyboard.press("ArrowLeft")
    region.get_by_text("No change was found").wait_for()
    assert "spring" in str(time.get_attribute("aria-valuetext"))
    axe(page)


def test_a_tree_that_grew_is_a_slider(look: Open, api: Api, axe: Axe) -> None:
    rng = np.random.default_rng(0)
    centres = 20.0 * np.eye(3)
    base: dict[str, str] = {}
    trees = []
    for week, n_known in enumerate((2, 3)):
        points = centres[np.arange(12) % n_known] + rng.normal(size=(12, 3))
        inputs = {"features": points.tolist(), **base}
        job = api.run("perch", inputs, params={"growable": True}, name=f"Week {week + 1}")
        base = {"base": job["id"]}
        trees.append(job["result"]["tree"])
    page = look(f"/trees/{trees[0]}?tab=drift")
    region = page.get_by_role("region", name="How it grew")
    step = region.get_by_label("Step")
    step.wait_for()
    assert (step.input_value(), step.get_attribute("max")) == ("0", "1")
    region.get_by_text("12 points").wait_for()
    step.focus()
    page.keyboard.press("ArrowRight")
    region.get_by_text("Week 2").wait_for()
    region.get_by_text("12 new points.").wait_for()
    region.get_by_role("img", name="The tree of this step").wait_for()
    axe(page)
    region.get_by_role("link", name="Open it").click()
    page.get_by_role("heading", name="Week 2").wait_for()
    until(page, lambda: step.input_value() == "1")
    region.get_by_text("this tree").wait_for()


def test_steps_of_a_learned_tree_are_a_slider_that_plays(look: Open, api: Api, axe: Axe) -> None:
    need("torch")
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(40, 3)) + np.repeat(4.0 * np.eye(4, 3), 10, axis=0)
    params = {"max_iter": 100, "n_init": 1, "batch_size": 256, "keep_steps": 3}
    job = api.run("hyphc", {"features": rows.tolist()}, params=params, name="Learned")
    tree = job["result"]["tree"]
    items = api.client.get(f"/v1/trees/{tree}/steps").json()["items"]
    page = look(f"/trees/{tree}?tab=drift")
    region = page.get_by_role("region", name="How it was learned")
    step = region.get_by_role("slider", name="Step")
    step.wait_for()
    # It opens with the result.
    last = str(len(items) - 1)
    assert (step.input_value(), step.get_attribute("max")) == (last, last)
    region.get_by_text(", the result.").wait_for()
    region.get_by_role("img", name="Cost of the tree by steps").wait_for()
    step.focus()
    page.keyboard.press("Home")
    first = region.get_by_text(f"After {items[0]['step']} step")
    first.wait_for()
    assert "1 of" in str(step.get_attribute("aria-valuetext"))
    region.get_by_role("img", name="The tree after").wait_for()
    axe(page)
    # It plays to the end, and begins anew from there.
    region.get_by_role("button", name="Play").click()
    region.get_by_text(", the result.").wait_for()
    region.get_by_role("button", name="Play").click()
    region.get_by_role("button", name="Pause").click()
    region.get_by_role("button", name="Play").wait_for()
