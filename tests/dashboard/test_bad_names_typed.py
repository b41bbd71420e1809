"""Names that a user types into the page's dialogs and forms, at 390 pixels: long, of other scripts,
turned, of stacked marks, with controls, written as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.dashboard.conftest import Open
from tests.dashboard.planted import SMALL, imported
from tests.e2e.client import Api

if TYPE_CHECKING:
    from playwright.sync_api import Page

TYPED = {
    "long": "W" * 1000,
    "words": "many words " * 90,
    "right to left": "مرحبا بالعالم שלום עולם " * 20,
    "turned": "abc\u202egnp.exe\u2066iso",
    "marks": "Z" + "\u0301\u0323\u0489" * 300,
    "controls": "a\u0007b\u001bc\u007fd\u0000e",
    "html": "<img src=x onerror='window.HACK = 1'><script>window.HACK = 1</script>&amp;",
}
REFUSED = ("turned", "controls")
"""Not a tag; of controls not a name either."""
FAULTS = """() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  const faults = scrollWidth > clientWidth ? [`${scrollWidth} of ${clientWidth} px`] : [];
  if ("HACK" in window) faults.push("executed");
  const shown = [...document.querySelectorAll("dialog[open], main")];
  for (const place of shown) {
    if (/[\\u202a-\\u202e]/.test(place.innerText)) faults.push("reversed");
    const all = place.querySelectorAll("button, a, input, textarea, h1, h2, h3, p, li, td, span");
    for (const each of all) {
      const { left, right, width, height } = each.getBoundingClientRect();
      let at = each;
      while (at && getComputedStyle(at).overflowX === "visible") at = at.parentElement;
      const inside = at && at !== document.body && at !== document.documentElement
        && at.tagName !== "DIALOG" && at.tagName !== "MAIN";
      if (width && height && !inside && (right > innerWidth + 1 || left < -1)) {
        faults.push(`${each.tagName}.${each.className} ${left} to ${right}`);
      }
    }
  }
  for (const each of document.querySelectorAll("dialog[open], dialog[open] *")) {
    const isField = ["INPUT", "TEXTAREA", "SELECT"].includes(each.tagName);
    const isOpen = ["auto", "scroll"].includes(getComputedStyle(each).overflowX);
    if (isOpen && !isField && each.scrollWidth > each.clientWidth + 1) {
      faults.push(`${each.tagName}.${each.className} scrolls ${each.scrollWidth}`);
    }
  }
  return faults.slice(0, 8);
}"""


def check(page: Page, where: str) -> None:
    assert page.evaluate(FAULTS) == [], where


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if kind == "marks" else pytest.mark.slow) for kind in TYPED],
)
def test_bad_names_that_are_typed_break_no_dialog(open_page: Open, api: Api, kind: str) -> None:
    text = TYPED[kind]
    tree = imported(api, SMALL, f"typed {kind}")
    page = open_page(f"/trees/{tree}?node=1&tab=edit", width=390, height=844)
    page.set_default_timeout(20_000)
    panel = page.get_by_role("region", name="Edit and share")

    # Renaming a node, which begins an edition.
    name = panel.get_by_label("Name", exact=True)
    name.fill(text)
    panel.get_by_label("Note").fill(text)
    if kind in REFUSED:
        page.watch.expected.append("422")  # type: ignore[attr-defined]
    panel.get_by_role("button", name="Save").click()
    if kind == "controls":
        page.get_by_text("control character").or_(page.get_by_role("alert")).first.wait_for()
        check(page, "a name refused")
    else:
        panel.get_by_text("Saved", exact=True).wait_for()
        check(page, "a node renamed")
        panel.get_by_role("button", name="Edition", exact=True).click()
        page.get_by_role("menuitem", name="History").click()
        history = page.get_by_role("dialog", name="History")
        history.get_by_role("listitem").first.wait_for()
        check(page, "history")
        page.keyboard.press("Escape")

    # Another edition, called so.
    panel.get_by_role("combobox", name="Edition").select_option(label="New edition…")
    dialog = page.get_by_role("dialog", name="New edition")
    dialog.get_by_label("Name").fill(text)
    check(page, "a new edition")
    dialog.get_by_role("button", name="Begin").click()
    dialog.wait_for(state="detached")
    check(page, "an edition begun")

    # A link.
    panel.get_by_role("button", name="Share…").click()
    dialog = page.get_by_role("dialog", name="Share")
    for label in ("For", "Title", "Note"):
        dialog.get_by_label(label).fill(text)
    dialog.get_by_role("button", name="Make a link").click()
    link = dialog.get_by_label("Link", exact=True)
    link.wait_for()
    check(page, "a link")
    address = link.input_value()
    page.keyboard.press("Escape")

    # The tree's name and tags, and a list of trees.
    page.goto(page.url.split("#")[0] + "#/trees")
    page.get_by_role("button", name=f"Name and tags of typed {kind}", exact=True).click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name").fill(text)
    form.get_by_label("Notes").fill(text)
    form.get_by_label("Tags").fill(text[:100])
    check(page, "name and tags")
    form.get_by_role("button", name="Save").click()
    if kind in REFUSED:
        form.get_by_role("alert").wait_for()
        check(page, "tags refused")
        form.get_by_label("Tags").fill("")
        form.get_by_label("Name").fill("plain")
        form.get_by_label("Notes").fill("")
        form.get_by_role("button", name="Save").click()
    form.wait_for(state="detached")
    check(page, "a list")

    # Two trees beside each other, and whoever has the link.
    page.goto(page.url.split("#")[0] + f"#/compare?left={tree}&right={tree}")
    page.locator(".tangle-stage").wait_for()
    check(page, "two trees")
    page.goto("about:blank")
    page.goto(address.replace("/embed#", "/shared#"))
    page.locator(".tree-stage").wait_for()
    check(page, "a shared tree")
