"""Lists: filters, pages, deletion; and the page of a dataset."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import until
from tests.e2e.client import Api

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from tests.e2e.conftest import Service


def rows(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("tbody th").all_inner_texts()]


def test_jobs_are_filtered(open_page: Open, api: Api, blobs: dict[str, Any]) -> None:
    failed = api.run("kmeans", {"features": blobs["features"]}, params={"n_clusters": 61})
    assert failed["status"] == "failed"
    page = open_page("/jobs")
    until(page, lambda: rows(page) != [])
    search = page.get_by_role("searchbox", name="Search")
    search.fill("three BLOBS")
    until(page, lambda: set(rows(page)) == {"Three blobs"})
    assert "q=three+BLOBS" in page.url
    search.fill("nothing like this")
    page.get_by_text("No jobs found.").wait_for()
    search.fill("")
    page.get_by_label("Status").select_option("failed")
    until(page, lambda: set(page.locator("tbody .chip").all_inner_texts()) == {"Failed"})
    until(page, lambda: "blobs, kmeans" in rows(page))
    address = page.url.partition("#")[2]
    again = open_page(address)
    again.get_by_role("link", name="blobs, kmeans").first.wait_for()
    assert again.get_by_label("Status").input_value() == "failed"


def test_names_notes_and_tags_are_changed_and_found(open_page: Open, api: Api, axe: Axe) -> None:
    for name in ("Whales", "Birds"):
        api.upload(b'["a", "b"]', media="application/json", role="names", name=name)
    page = open_page("/datasets?role=names")
    page.get_by_role("button", name="Name and tags of Whales").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name").fill("Blue whales")
    form.get_by_label("Notes").fill("heard at sea")
    form.get_by_label("Tags").fill("thesis, <b>ocean</b>, thesis")
    axe(page)
    form.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Blue whales").wait_for()
    page.get_by_role("button", name="<b>ocean</b>").click()
    until(page, lambda: [row.splitlines()[0] for row in rows(page)] == ["Blue whales"])
    assert "tag=" in page.url
    axe(page)
    page.get_by_role("button", name="All tags").click()
    page.get_by_role("link", name="Birds").wait_for()
    page.get_by_role("searchbox", name="Search").fill("SEA thes")
    until(page, lambda: len(rows(page)) == 1)
    page.get_by_role("button", name="Name and tags of Blue whales").click()
    form.get_by_label("Tags").fill("x" * 101)
    page.watch.expected.append("422")  # type: ignore[attr-defined]
    form.get_by_role("button", name="Save").click()
    form.get_by_role("alert").wait_for()


def test_a_list_in_pages(open_page: Open, service: Service, api: Api) -> None:
    for number in range(55):
        answer = api.post_dataset(
            b"[0, 1]", media="application/json", role="timestamps", name=f"number {number}"
        )
        assert answer.status_code == 201
    page = open_page("/datasets?role=timestamps")
    page.get_by_text("50 datasets on this page").wait_for()
    assert rows(page)[0] == "number 54"
    assert page.get_by_role("button", name="Newer").is_disabled()
    page.get_by_role("button", name="Older").click()
    page.get_by_text("5 datasets on this page").wait_for()
    assert rows(page) == [f"number {number}" for number in (4, 3, 2, 1, 0)]
    assert page.get_by_role("button", name="Older").is_disabled()
    again = open_page(page.url.partition("#")[2])
    again.get_by_text("5 datasets on this page").wait_for()
    page.get_by_role("button", name="Newer").click()
    page.get_by_text("50 datasets on this page").wait_for()
    page.get_by_label("Order").select_option("oldest")
    until(page, lambda: rows(page)[:2] == ["number 0", "number 1"])
    page.get_by_role("button", name="Newer").click()
    until(page, lambda: rows(page)[-1] == "number 54")
    assert "sort=oldest" in page.url
    page.get_by_label("Order").select_option("newest")
    # All of them are counted.
    page.get_by_label("Uploaded as").select_option("")
    page.get_by_text(re.compile(r"^50 of \d+ datasets on this page")).wait_for()


def test_a_search_of_many_goes_on_to_the_end(open_page: Open, blobs: dict[str, Any]) -> None:
    # The service looks through a thousand for each answer; here the only one found is in the last.
    page = open_page("/jobs")
    tree = page.request.get(page.url.partition("#")[0] + f"v1/trees/{blobs['tree']}.json?depth=0")
    cursors: list[str | None] = []

    def answer(route: Route) -> None:
        query = parse_qs(urlsplit(route.request.url).query)
        cursors.append(query.get("cursor", [None])[0])
        n = len(cursors)
        items = [{**tree.json(), "name": "far below"}] if n == 30 else []
        body = {"items": items, "next_cursor": f"c{n}" if n < 30 else None, "count": None}
        route.fulfill(json=body)

    page.route("**/v1/trees?*q=*", answer)
    page.evaluate("() => { location.hash = '#/trees?q=below'; }")
    page.get_by_role("link", name="far below").wait_for()
    page.get_by_text("1 tree", exact=True).wait_for()
    assert cursors == [None, *(f"c{n}" for n in range(1, 30))]


def test_a_click_on_a_column_head_sorts_rows(open_page: Open, api: Api) -> None:
    for name, content in (("sort b", b"[1]"), ("sort c", b"[1, 2, 3]"), ("sort a", b"[1, 2]")):
        api.post_dataset(content, media="application/json", role="tasks", name=name)
    page = open_page("/datasets?role=tasks&q=sort")
    page.get_by_role("link", name="sort a").wait_for()
    page.get_by_role("button", name="Dataset", exact=True).click()
    assert rows(page) == ["sort a", "sort b", "sort c"]
    page.get_by_role("button", name="Dataset", exact=True).click()
    assert rows(page) == ["sort c", "sort b", "sort a"]
    assert page.locator("thead th[aria-sort]").get_attribute("aria-sort") == "descending"


def test_deletion_asks_for_confirmation(open_page: Open, service: Service, api: Api) -> None:
    dataset = api.upload(b"[0, 1]", media="application/json", role="targets", name="To be deleted")
    page = open_page("/datasets?role=targets")
    page.get_by_role("button", name="Delete To be deleted").click()
    page.get_by_role("button", name="Cancel").click()
    assert service.client.get(f"/v1/datasets/{dataset}").status_code == 200
    assert page.evaluate("document.activeElement.ariaLabel") == "Delete To be deleted"
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_text("The dataset is deleted.").wait_for()
    page.get_by_text("No datasets found.").wait_for()
    assert service.client.get(f"/v1/datasets/{dataset}").status_code == 404


def test_deleting_a_missing_dataset_is_no_error(
    open_page: Open, service: Service, api: Api
) -> None:
    dataset = api.upload(b"[[0, 1], [1, 0]]", media="application/json", role="graph", name="Gone")
    page = open_page("/datasets?role=graph")
    page.watch.expected.append("404")
    page.get_by_role("button", name="Delete Gone").wait_for()
    service.client.delete(f"/v1/datasets/{dataset}")
    page.get_by_role("button", name="Delete Gone").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_text("was gone already").wait_for()
    page.get_by_text("No datasets found.").wait_for()


def test_jobs_and_trees_are_deleted(open_page: Open, service: Service, api: Api) -> None:
    points = api.upload(b"[[0, 1], [1, 1], [5, 5]]", media="application/json", role="features")
    job = api.run("hac", {"features": points}, name="Both go")
    tree = job["result"]["tree"]
    page = open_page("/trees?q=Both+go")
    page.get_by_role("button", name="Delete Both go").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_text("The tree is deleted.").wait_for()
    assert service.client.get(f"/v1/trees/{tree}").status_code == 404
    page = open_page(f"/jobs/{job['id']}")
    page.watch.expected.append("404")
    page.get_by_text("The tree was deleted.").wait_for()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_role("heading", name="Jobs").wait_for()
    assert service.client.get(f"/v1/jobs/{job['id']}").status_code == 404


def test_the_list_follows_a_running_job(
    open_page: Open, service: Service, blobs: dict[str, Any]
) -> None:
    job = service.submit(
        {
            "method": "kmeans",
            "inputs": {"features": blobs["features"]},
            "params": {"n_clusters": 20, "n_init": 400},
            "support": {"replicates": 100},
            "name": "It moves",
        }
    )
    page = open_page("/jobs?q=It+moves")
    page.locator(".chip", has_text=re.compile("Running|Queued")).wait_for()
    service.client.post(f"/v1/jobs/{job}/cancel")
    page.locator(".chip", has_text="Cancelled").wait_for()


def test_a_dataset_and_its_facts(open_page: Open, service: Service, blobs: dict[str, Any]) -> None:
    facts = service.client.get(f"/v1/datasets/{blobs['features']}").json()
    page = open_page(f"/datasets/{blobs['features']}")
    text = page.locator("dl").inner_text()
    for fact in ("60 × 4", "float64", "features", "npy", facts["sha256"], facts["id"]):
        assert fact in text
    with page.expect_download() as begun:
        page.get_by_role("button", name="Download").click()
    assert begun.value.suggested_filename == "blobs.npy"
    page.get_by_role("link", name="Run a method on it").click()
    page.get_by_role("button", name="Agglomerative clustering hac").click()
    chosen = page.locator('[data-role="features"] select')
    assert chosen.input_value() == blobs["features"]


def test_an_invalid_dataset_shows_its_problem(open_page: Open, api: Api) -> None:
    answer = api.post_dataset(b"PAR1 this is none PAR1", media="application/vnd.apache.parquet")
    dataset = api.inspected(answer.json())
    assert dataset["status"] == "invalid"
    page = open_page(f"/datasets/{dataset['id']}")
    assert dataset["problem"]["detail"] in page.get_by_role("alert").inner_text()


def test_two_selected_trees_open_side_by_side(
    open_page: Open, blobs: dict[str, Any], api: Api
) -> None:
    second = api.run("hac", {"features": blobs["features"]}, name="Another of the blobs")
    page = open_page("/trees?q=blobs")
    page.get_by_role("checkbox", name="Choose Another of the blobs").check()
    page.get_by_role("checkbox", name="Choose Three blobs").check()
    address = page.get_by_role("link", name="Side by side").get_attribute("href") or ""
    assert address.startswith("#/compare?left=tr_")
    assert second["result"]["tree"] in address
    assert blobs["tree"] in address
