"""Names given to the nodes of a tree, on its page."""

from __future__ import annotations

from typing import Any

from tests.dashboard.conftest import Axe, Open


def test_nodes_are_named_and_get_their_own_names_back(
    look: Open, open_page: Open, blobs: dict[str, Any], axe: Axe
) -> None:
    page = look(f"/trees/{blobs['tree']}?node=1")
    names = page.get_by_role("combobox", name="Names", exact=True)
    # Clusters that have only numbers lead there, too.
    page.locator(".cut-summary strong").wait_for()
    page.get_by_role("button", name="Table", exact=True).click()
    page.get_by_role("button", name="Name them…").click()
    dialog = page.get_by_role("dialog", name="Name nodes")
    dialog.get_by_role("button", name="Cancel").click()
    names.select_option(label="Name nodes…")
    dialog = page.get_by_role("dialog", name="Name nodes")
    axe(page)
    # No model is offered where the service has none.
    assert dialog.get_by_label("Phrased by a language model").count() == 0
    dialog.get_by_label("By", exact=True).select_option("labels")
    submit = dialog.get_by_role("button", name="Name nodes")
    page.watch.expected.append("422")  # type: ignore[attr-defined]
    submit.click()
    # The fit had no labels.
    dialog.locator(".field.is-wrong").get_by_text("needs the input 'labels'").wait_for()
    dialog.locator("[data-role=labels] select").select_option(blobs["labels"])
    submit.click()
    dialog.wait_for(state="detached")
    page.get_by_text("nodes have names").wait_for()
    page.wait_for_url("**names=nm_*")
    node = page.locator(".tree-node .node-name")
    node.get_by_text("group").wait_for()
    assert names.locator("option:checked").inner_text() == "By labels"
    page.locator(".tree-key", has_text="group").first.wait_for()
    axe(page)

    again = open_page(page.evaluate("location.hash.slice(1)"), width=390, height=844)
    again.locator(".tree-node .node-name").get_by_text("group").wait_for()
    assert again.evaluate("document.documentElement.scrollWidth") <= 390

    names.select_option(label="Own")
    node.get_by_text("Node 1").wait_for()
    page.wait_for_url(lambda url: "names=" not in url)
    page.go_back()
    node.get_by_text("group").wait_for()
    page.wait_for_url("**names=nm_*")
