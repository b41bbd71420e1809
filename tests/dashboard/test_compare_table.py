"""Comparisons of methods, and evaluations side by side."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import until
from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from tests.e2e.conftest import Service


def test_a_comparison_from_form_to_table(
    open_page: Open, service: Service, blobs: dict[str, Any], axe: Axe
) -> None:
    page = open_page(f"/comparisons/new?features={blobs['features']}&labels={blobs['labels']}")
    page.locator(".run").nth(2).wait_for()
    page.locator(".run", has_text="Gaussian mixture").get_by_role("button", name="Remove").click()
    page.locator(".run", has_text="k-means").locator("summary").click()
    page.locator('.run [data-param="n_clusters"] input').fill("0")
    page.locator('[data-param="seeds"] input').fill("3")
    page.get_by_label("Add a run").select_option("kmeans")
    page.locator(".run").nth(2).locator('[data-param="n_clusters"] input').fill("500")
    page.get_by_text("Metrics: all that the inputs allow").click()
    page.get_by_label("Normalized mutual information").check()
    page.get_by_label("Adjusted Rand index").check()
    page.get_by_label("Name of this comparison").fill("Two and a failure")
    page.get_by_role("button", name="Run the comparison").click()
    assert "whole number from 1" in page.locator(".run .is-wrong .field-wrong").inner_text()
    page.locator('.run [data-param="n_clusters"] input').first.fill("3")
    page.get_by_role("button", name="Run the comparison").click()
    page.locator("table.comparison").wait_for()
    page.get_by_role("button", name="Download CSV").wait_for()
    text = page.locator("table.comparison").inner_text()
    assert "500" in text  # The error of the failed run.
    heads = page.locator("thead th").all_inner_texts()
    assert [head.split("\n")[0] for head in heads[2:4]] == [
        "Normalized mutual information",
        "Adjusted Rand index",
    ]
    comparison = service.client.get(f"/v1/comparisons/{page.url.rpartition('/')[2]}").json()
    for column, metric in enumerate(("nmi", "ari")):
        marked = page.locator(f"tbody tr:nth-child({comparison['best'][metric] + 1}) td").nth(
            column + 1
        )
        assert "best" in (marked.get_attribute("class") or "")
    assert page.locator("td.best").count() == 2
    assert "±" in page.locator("tbody tr").nth(1).inner_text()
    with page.expect_download() as begun:
        page.get_by_role("button", name="Download CSV").click()
    lines = list(csv.reader(Path(begun.value.path()).read_text().splitlines()))
    assert len(lines) == 4
    assert "nmi_mean" in lines[0]
    page.goto(page.url.partition("#")[0] + "#/comparisons")
    page.get_by_role("link", name="Two and a failure").wait_for()
    axe(page)
    page.goto(page.url.partition("#")[0] + f"#/trees/{blobs['tree']}?tab=compare")
    others = page.get_by_role("region", name="Other trees of these rows")
    others.get_by_text("What moved").first.click()
    others.get_by_text("of 60 points moved").first.wait_for()
    axe(page)
    # A fit outlives its tree.
    links = others.locator("h3 a")
    n, gone = links.count(), (links.first.get_attribute("href") or "").rpartition("/")[2]
    service.client.delete(f"/v1/trees/{gone}").raise_for_status()
    page.reload()
    until(page, lambda: links.count() == n - 1)
    assert not others.locator(f"a[href*={gone}]").count()


def test_differences_are_in_words(open_page: Open, service: Service, axe: Axe) -> None:
    """Ten classes in pairs that two clusterings tell apart and one that is too coarse does not."""
    rng = np.random.default_rng(0)
    own = np.repeat(np.arange(10), 12)
    points = rng.normal(size=(120, 2)) + 30.0 * np.stack([own, own % 2], axis=1)
    runs = [
        {"method": "kmeans", "params": {"n_clusters": 2}},
        {"method": "hac", "params": {"linkage": "ward"}},
    ]
    body = {"inputs": {"features": points.tolist()}, "labels": own.tolist(), "runs": runs}
    made = service.client.post("/v1/comparisons", json=body).json()
    page = open_page(f"/comparisons/{made['id']}")
    region = page.get_by_role("region", name="Beyond chance?")
    region.wait_for()
    text = region.inner_text()
    assert "Agglomerative clustering has the purest clusters" in text
    assert "is less pure beyond chance: in 120 of the 120 rows that differ" in text
    row = region.locator("tbody tr")
    assert row.locator("td").all_inner_texts()[:2] == ["0", "10"]
    axe(page)


def test_an_error_of_the_service_is_shown_at_its_run(
    open_page: Open, service: Service, blobs: dict[str, Any]
) -> None:
    page = open_page(f"/comparisons/new?features={blobs['features']}&methods=l2h")
    page.watch.expected.append("422")
    page.locator(".run").wait_for()
    page.get_by_role("button", name="Run the comparison").click()
    page.get_by_role("alert").wait_for()
    assert "logits" in page.get_by_role("alert").inner_text()


def test_a_comparison_is_cancelled(
    open_page: Open, service: Service, blobs: dict[str, Any]
) -> None:
    runs = [{"method": "kmeans", "params": {"n_clusters": 20, "n_init": 400}}]
    body = {"inputs": {"features": blobs["features"]}, "runs": runs, "seeds": 100}
    comparison = service.client.post("/v1/comparisons", json=body).json()
    page = open_page(f"/comparisons/{comparison['id']}")
    page.get_by_role("button", name="Cancel").click()
    page.locator(".chip", has_text="Cancelled").wait_for()


def test_evaluations_side_by_side(
    open_page: Open, api: Api, blobs: dict[str, Any], axe: Axe
) -> None:
    worse = api.run(
        "hac", {"features": blobs["features"]}, params={"metric": "cosine"}, name="By cosine"
    )
    trees = f"{blobs['tree']},{worse['result']['tree']}"
    page = open_page(f"/evaluations?trees={trees}&labels={blobs['labels']}")
    page.get_by_role("button", name="Measure").click()
    page.locator("table.results thead th").nth(2).wait_for()
    row = page.locator("tbody tr", has_text="Dendrogram purity")
    assert row.locator("td").first.inner_text().strip().startswith("1")
    assert "best" in (row.locator("td").first.get_attribute("class") or "")
    axe(page)
    page.get_by_label("Clusters for the flat metrics").select_option("k")
    page.get_by_label("Value of the cut").fill("2")
    page.get_by_role("button", name="Measure").click()
    page.locator("table.results thead th").nth(4).wait_for()
    assert "k 2" in page.locator("thead").inner_text()
    page.reload()  # They are stored until the tab is closed.
    page.locator("table.results thead th").nth(4).wait_for()
    assert page.get_by_label("Value of the cut").input_value() == "2"
    with page.expect_download() as begun:
        page.get_by_role("button", name="Save as CSV").click()
    lines = list(csv.reader(Path(begun.value.path()).read_text().splitlines()))
    assert len(lines[0]) == 5
    assert lines[0][0] == "metric"
    page.get_by_role("button", name="Remove column 1").click()
    until(page, lambda: page.locator("table.results thead th").count() == 4)
    page.get_by_role("button", name="Clear").click()
    page.get_by_text("Results stand here side by side").wait_for()


def test_a_refused_evaluation(open_page: Open, blobs: dict[str, Any]) -> None:
    page = open_page(f"/evaluations?trees={blobs['tree']}&labels={blobs['labels']}&k=1000")
    page.watch.expected.append("422")
    page.get_by_role("button", name="Measure").click()
    page.get_by_role("alert").wait_for()
    assert "k must be 1 to 60" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("Value of the cut").get_attribute("aria-invalid") == "true"


def test_an_evaluation_requires_a_choice(open_page: Open, blobs: dict[str, Any]) -> None:
    page = open_page("/evaluations")
    page.get_by_role("button", name="Measure").click()
    text = page.locator("main").inner_text()
    assert "Choose a tree." in text
    assert "Choose what to measure against" in text


def test_an_evaluation_on_new_rows(
    open_page: Open, api: Api, blobs: dict[str, Any], axe: Axe
) -> None:
    rows = np.repeat(np.arange(3), 2)[:, None] * 20.0 + np.zeros((6, 4))
    features = api.upload(npy(rows), role="features", name="new.npy")
    truth = json.dumps([f"group {k}" for k in (0, 0, 1, 1, 2, 0)]).encode()
    labels = api.upload(truth, media="application/json", role="labels", name="new labels")
    page = open_page(f"/evaluations?trees={blobs['tree']}&labels={labels}&k=3")
    page.get_by_text("On new rows").click()
    page.locator("details [data-role=features] select").select_option(features)
    axe(page)
    page.get_by_role("button", name="Measure").click()
    page.locator("table.results th", has_text="new labels, 6 new rows").wait_for()
    assert f"new_features={features}" in page.url
    page.reload()
    chosen = page.locator("details[open] [data-role=features] select")
    until(page, lambda: chosen.input_value() == features)
