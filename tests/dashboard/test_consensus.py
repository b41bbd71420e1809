"""One tree from several, on the page."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tests.dashboard.conftest import Axe, Open
from tests.e2e.client import Api


def test_chosen_trees_become_one_that_tells_which_agree(
    open_page: Open, api: Api, axe: Axe
) -> None:
    rows = np.random.default_rng(0).normal(size=(12, 3)) + 9.0 * np.eye(3)[np.arange(12) % 3]
    trees: list[Any] = []
    for linkage in ("average", "complete", "single"):
        job = api.run(
            "hac",
            {"features": rows.tolist()},
            params={"linkage": linkage},
            name=f"Linkage {linkage}",
        )
        trees.append(job["result"]["tree"])
    page = open_page("/trees?q=Linkage")
    for linkage in ("average", "complete", "single"):
        page.get_by_role("checkbox", name=f"Choose Linkage {linkage}").check()
    page.get_by_label("Clusters").select_option(label="that all have")
    axe(page)
    page.get_by_role("button", name="Consensus").click()
    # Where it takes long, the job is shown.
    page.wait_for_url(re.compile("#/(trees/tr_|jobs/job_)"))
    shown = page.url.rpartition("/")[2]
    tree = shown if shown.startswith("tr_") else api.ended(shown)["result"]["tree"]
    assert tree not in trees
    # The root has all rows: every tree has it.
    page = open_page(f"/trees/{tree}?node=0")
    section = page.locator(".tree-node section").filter(has_text="Which trees agree")
    section.get_by_text("3 trees have it").wait_for()
    addresses = [link.get_attribute("href") for link in section.get_by_role("link").all()]
    assert sorted(map(str, addresses)) == sorted(f"#/trees/{one}" for one in trees)
