"""Mixtures on the sphere on the page: their clusters, metrics, curves, and new rows."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from models.numerics.sphere import draw_vmf
from tests.dashboard.conftest import Axe, Open
from tests.dashboard.forms_kit import finished
from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator, Page

NAMES = ["<script>alert(1)</script>", "=SUM(A1)", "engine", "brake"]


@pytest.fixture(scope="module")
def mixture(api: Api) -> dict[str, Any]:
    """Rows in three clusters of 60, 36 and 24, and a finished job on them."""
    rng = np.random.default_rng(0)
    rows = np.concatenate(
        [
            draw_vmf(np.tile(np.eye(4)[k], (size, 1)), kappa, rng)
            for k, (size, kappa) in enumerate([(60, 60.0), (36, 30.0), (24, 120.0)])
        ]
    )
    features = api.upload(npy(rows), role="features", name="directions.npy")
    narrow = api.upload(npy(np.eye(3)), role="features", name="narrow.npy")
    job = api.run(
        "bvmf",
        {"features": features, "feature_names": NAMES},
        params={"n_clusters": 3, "n_init": 2, "held_out": 0.2},
        name="Directions & <b>",
    )
    assert job["status"] == "succeeded", job
    tree = api.client.get(f"/v1/trees/{job['result']['tree']}.json").json()
    return {"job": job, "features": features, "narrow": narrow, "nodes": tree["nodes"][1:]}


def clusters(page: Page) -> Locator:
    region = page.get_by_role("region", name="Clusters", exact=True)
    region.locator("tbody tr").first.wait_for()
    return region


def saved(page: Page, name: str) -> tuple[str, Path]:
    with page.expect_download() as begun:
        page.get_by_role("button", name=name).click()
    return begun.value.suggested_filename, begun.value.path()


def test_the_clusters_as_a_table(look: Open, mixture: dict[str, Any]) -> None:
    page = look(f"/jobs/{mixture['job']['id']}")
    card = clusters(page)
    nodes = mixture["nodes"]
    low, high = min(node["kappa"] for node in nodes), max(node["kappa"] for node in nodes)
    assert f"3 clusters of {nodes[-1]['size']} to {nodes[0]['size']} points" in card.inner_text()
    assert f"concentration κ {low:.4g} to {high:.4g}" in card.inner_text()
    row = card.locator("tbody tr").first
    for value in (nodes[0]["kappa"], nodes[0]["kappa_low"], nodes[0]["kappa_high"]):
        assert f"{value:.4g}" in row.inner_text()
    assert NAMES[0] in row.inner_text()
    card.get_by_role("button", name="Concentration κ").click()
    titles = card.locator("tbody td[data-label='Concentration κ'] > span").evaluate_all(
        "spans => spans.map(one => Number(one.title))"
    )
    assert titles == sorted((node["kappa"] for node in nodes), reverse=True)
    name, path = saved(page, "Clusters as CSV")
    assert name == "Directions-b-clusters.csv"
    rows = list(csv.DictReader(path.read_text().splitlines()))
    for saved_row, node in zip(rows, nodes, strict=True):
        assert int(saved_row["node"]) == node["id"]
        assert float(saved_row["kappa_high"]) == node["kappa_high"]
        assert float(saved_row["share"]) == node["size"] / 120
    # Text that a spreadsheet would run as a formula is escaped.
    assert any(row["features"].startswith("'=SUM(A1)") for row in rows)
    name, path = saved(page, "Rows with their cluster as CSV")
    assert name == "Directions-b-rows.csv"
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert len(rows) == 120
    assert {row["in_sample"] for row in rows} <= {"0.0", "1.0"}
    row.get_by_role("link").click()
    page.get_by_role("heading", name="Node", exact=True).wait_for()
    page.locator(".node-facts", has_text="95%").wait_for()
    page.locator(".cut-summary", has_text="3 clusters").wait_for()


@pytest.mark.slow
def test_a_hierarchy_in_the_dark_on_a_phone(
    open_page: Open, api: Api, mixture: dict[str, Any], axe: Axe
) -> None:
    job = api.run("hvmf", {"features": mixture["features"]}, params={"branching": 2, "n_init": 1})
    requests: list[str] = []
    page = open_page("/jobs", theme="dark", width=390)
    page.on("request", lambda request: requests.append(request.url))
    page.evaluate("id => { location.hash = `#/jobs/${id}`; }", job["id"])
    card = clusters(page)
    assert card.locator("tbody tr").count() == 7
    assert "root" in card.locator("tbody tr").nth(1).inner_text()
    page.get_by_role("button", name="Place them").wait_for()
    page.locator("img.preview-picture").wait_for()
    assert any(".svg" in url and "theme=dark" in url for url in requests)
    axe(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_new_rows(look: Open, api: Api, mixture: dict[str, Any]) -> None:
    page = look(f"/jobs/{mixture['job']['id']}")
    go = page.get_by_role("button", name="Place them")
    go.click()
    card = page.get_by_role("region", name="Place new rows")
    card.get_by_text("this input is required").wait_for()
    model = api.client.get(f"/v1/models/{mixture['job']['result']['model']}").json()
    assert f"{model['stages'][0]['facts']['threshold']:.4g} nats or more" in card.inner_text()
    chosen = card.locator("select[name=features]")
    assert chosen.get_attribute("aria-invalid") == "true"
    chosen.select_option(mixture["features"])
    # It has another width than the model's rows.
    assert chosen.locator(f"option[value='{mixture['narrow']}']").count() == 0
    go.click()
    card.get_by_role("status").filter(has_text="120 rows").wait_for()
    assert card.locator("tbody tr").count() == 100
    expected = api.client.post(
        f"/v1/models/{model['id']}/predictions",
        json={"inputs": {"features": mixture["features"]}},
        headers={"Prefer": "wait=60"},
    ).json()["items"]
    _, path = saved(page, "Save as CSV")
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [int(row["leaf"]) for row in rows] == [item["leaf"] for item in expected]
    assert float(rows[0]["probability"]) == expected[0]["probabilities"][-1]
    # Clusters are called by their names, not by their bare numbers.
    shown = card.locator("tbody tr td:nth-of-type(1)").all_inner_texts()
    # A spreadsheet takes no name for a formula.
    assert [row["name"].removeprefix("'") for row in rows[:100]] == shown
    assert not any(name.isdigit() for name in shown)
    assert len(set(shown)) > 1


def test_new_rows_as_a_job(look: Open, api: Api, mixture: dict[str, Any]) -> None:
    answer = api.client.post(
        f"/v1/models/{mixture['job']['result']['model']}/predictions",
        json={"inputs": {"features": mixture["features"]}},
        headers={"Prefer": "wait=0"},
    )
    assert answer.status_code == 202, answer.text
    job = api.ended(answer.json()["id"])
    page = look(f"/jobs/{job['id']}")
    card = page.get_by_role("region", name="Where the rows lie")
    card.get_by_role("status").filter(has_text="120 rows").wait_for()
    assert mixture["nodes"][0]["name"] in card.inner_text()
    _, path = saved(page, "Download as JSON")
    assert len(json.loads(path.read_text())["items"]) == 120


def test_metrics_and_curves_have_units(look: Open, api: Api, mixture: dict[str, Any]) -> None:
    inputs = {"features": mixture["features"]}
    choose = {"choose": "held-out", "min_clusters": 2, "max_clusters": 4, "n_init": 1}
    job = api.run("vmf", inputs, params={**choose, "held_out": 0.2})
    page = look(f"/jobs/{job['id']}")
    metrics = page.get_by_role("region", name="Metrics", exact=True)
    held = metrics.locator("tr", has_text="held_out_log_likelihood")
    assert held.count() == 1
    assert "nats a row" in held.inner_text()
    assert "±" in held.inner_text()
    total_likelihood = job["result"]["metrics"]["log_likelihood"]
    total = metrics.locator("tr").nth(1)
    assert "all fitted rows" in total.inner_text()
    assert total.locator("td span").get_attribute("title") == str(total_likelihood)
    curves = page.get_by_role("region", name="Curves")
    assert curves.locator("figure").count() == 1
    assert curves.locator(".chart .error").count() == 3
    job = api.run("vmf", inputs, params={"n_clusters": 3, "batch_size": 20, "n_init": 1})
    page = look(f"/jobs/{job['id']}")
    page.locator(".chart .axis", has_text="epoch").wait_for()


def test_rarely_changed_parameters_are_folded(look: Open) -> None:
    page = look("/?method=bvmf")
    fold = page.locator("details", has_text="Fine tuning")
    fold.wait_for()
    assert not fold.evaluate("one => one.open")
    assert page.get_by_label("Restarts").is_visible()
    fold.locator("summary").click()
    page.get_by_label("Tolerance").fill("little")
    fold.locator("summary").click()
    page.get_by_role("button", name="Run Bayesian").click()
    page.get_by_label("Tolerance").wait_for()
    assert page.get_by_label("Tolerance").get_attribute("aria-invalid") == "true"
    page = look("/?method=bvmf&p.tol=0.01")
    assert page.get_by_label("Tolerance").input_value() == "0.01"
    assert page.get_by_label("Tolerance").is_visible()


def test_csv_survives_a_round_trip(look: Open) -> None:
    page = look("/jobs")
    rows = [["a", "b"], ['say "x"', "1,5"], ["two\nlines", ""], ["", "ש"]]
    parsed = page.evaluate(
        """async rows => {
          const { csvOf, rowsOf } = await import(`${location.origin}/dashboard/js/ui/csv.js`);
          return rowsOf(await csvOf(rows).text());
        }""",
        rows,
    )
    assert parsed == rows


def test_rows_that_must_be_of_length_1(look: Open, api: Api, blobs: dict[str, Any]) -> None:
    job = api.run("vmf", {"features": blobs["features"]}, params={"n_clusters": 3})
    assert job["status"] == "failed"
    page = look(f"/jobs/{job['id']}")
    page.get_by_role("link", name="Bring the rows to length 1").click()
    page.get_by_role("button", name="Run Mixture").wait_for()
    assert page.get_by_label("Number of clusters").input_value() == "3"
    page.get_by_role("button", name="Run Mixture").click()
    finished(page)
    clusters(page)
    page.locator("dd", has_text="Bring rows to length 1").wait_for()


def test_documents(look: Open, api: Api) -> None:
    texts = [f"{a} {b} {a}" for a in ("cat", "dog", "cow") for b in ("fur", "milk", "fur", "milk")]
    lines = "\n".join(json.dumps(document) for document in texts).encode()
    documents = api.upload(lines, media="application/jsonl", role="documents", name="tales.jsonl")
    page = look("/?method=vmf&p.n_clusters=3&p.n_init=1")
    page.get_by_role("button", name="Begin with documents").click()
    assert page.locator(".step strong").count() == 3
    page.locator("select[name=documents]").wait_for()
    assert page.locator("select[name=features]").count() == 0
    page.locator("select[name=documents]").select_option(documents)
    page.get_by_role("button", name="Run Mixture").click()
    finished(page)
    text = clusters(page).inner_text()
    assert all(word in text for word in ("cat", "dog", "cow"))
    card = page.get_by_role("region", name="Place new rows")
    steps = "count the words of documents, then weigh terms (tf-idf), then bring rows to length 1"
    card.get_by_text(f"prepared as the fitted rows were: {steps}").wait_for()
    assert card.locator("select[name=documents]").count() == 1
    # A run can begin with documents that are already uploaded.
    page = look(f"/?documents={documents}")
    page.locator(".method-card", has_text="kmeans").first.click()
    page.locator(f"select[name=documents] option[value={documents}]:checked").wait_for(
        state="attached"
    )
    # Without the step "words" the method takes features again.
    page = look(f"/?method=vmf&preprocess={json.dumps([{'step': 'words'}])}&documents={documents}")
    page.locator("select[name=documents]").wait_for()
    page.get_by_role("button", name="Remove step 1, words").click()
    page.locator("select[name=features]").wait_for()
