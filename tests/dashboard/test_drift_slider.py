"""Drifts of a tree over time, as a slider."""

from __future__ import annotations

import numpy as np

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import until
from tests.e2e.client import Api


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
