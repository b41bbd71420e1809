"""A job on the page, while it runs and once it has ended."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from tests.dashboard.conftest import Open
from tests.dashboard.forms_kit import finished
from tests.e2e.client import Api
from tests.needs_kit import lacking

if TYPE_CHECKING:
    from tests.e2e.conftest import Service


def submit(service: Service, body: dict[str, Any]) -> str:
    return service.submit(body)


def slow(blobs: dict[str, Any], n_init: int = 400) -> dict[str, Any]:
    """A job that reports progress for half a minute, or with `n_init` of 40 for some seconds."""
    return {
        "method": "kmeans",
        "inputs": {"features": blobs["features"]},
        "params": {"n_clusters": 20, "n_init": n_init},
        "support": {"replicates": 20},
        "name": "A slow one",
    }


def test_progress_and_cancel(open_page: Open, service: Service, blobs: dict[str, Any]) -> None:
    job = submit(service, slow(blobs))
    page = open_page(f"/jobs/{job}")
    bar = page.get_by_role("progressbar")
    bar.wait_for()
    page.wait_for_function(
        "() => Number(document.querySelector('[role=progressbar]')?.ariaValueNow) > 0",
        polling=50,
    )
    assert page.locator(".progress-card strong").inner_text()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("The job was cancelled").wait_for()
    assert "Cancelled" in page.locator("h1").inner_text()
    assert service.client.get(f"/v1/jobs/{job}").json()["status"] == "cancelled"


def test_a_failed_job_shows_its_problem(open_page: Open, api: Api, blobs: dict[str, Any]) -> None:
    job = api.run("kmeans", {"features": blobs["features"]}, params={"n_clusters": 500})
    page = open_page(f"/jobs/{job['id']}")
    alert = page.get_by_role("alert").inner_text()
    assert job["error"]["title"] in alert
    assert job["error"]["detail"] in alert
    assert job["error"]["request_id"] in alert


def test_what_the_service_failed_at_is_first_offered_again(
    open_page: Open, api: Api, blobs: dict[str, Any]
) -> None:
    failed = api.run("kmeans", {"features": blobs["features"]}, params={"n_clusters": 500})
    other = api.run("kmeans", {"features": blobs["features"]}, params={"n_clusters": 2})
    # Given in place of a fault of the service.
    failed["error"] = {**failed["error"], "status": 500, "type": "/problems/internal"}
    failed["inputs"]["hierarchy"] = other["result"]["tree"]
    page = open_page("/jobs")
    path = f"/v1/jobs/{failed['id']}"
    page.route(f"**{path}", lambda route: route.fulfill(json=failed))
    page.route(f"**{path}/retry", lambda route: route.fulfill(status=202, json=other))
    page.goto(f"{page.url.partition('#')[0]}#/jobs/{failed['id']}")
    steps = page.get_by_role("region", name="What to do next").locator(".button, button")
    steps.first.wait_for()
    names = ["Run the same again", "Change and run again", "Back to the tree"]
    assert steps.all_inner_texts() == names
    steps.first.click()
    page.wait_for_url(re.compile(other["id"]))


def test_why_a_job_was_tried_again(
    open_page: Open, service: Service, blobs: dict[str, Any]
) -> None:
    job = submit(service, {**slow(blobs, 1), "support": None})
    page = open_page(f"/jobs/{job}")
    page.get_by_role("link", name="Open the tree").wait_for(timeout=60_000)
    assert "was given up" not in page.locator("main").inner_text()
    shown = service.client.get(f"/v1/jobs/{job}").json()
    retry = {
        "attempt": 1,
        "error": {"title": "The job lost its worker", "detail": "The worker <ended>."},
        "counted": True,
        "at": shown["finished_at"],
    }
    page.route(
        f"**/v1/jobs/{job}",
        lambda route: route.fulfill(json={**shown, "attempt": 2, "retry": retry}),
    )
    page.reload()
    page.get_by_text("Attempt 1 was given up: The worker <ended>.").wait_for()


def test_warnings_are_shown(open_page: Open, api: Api) -> None:
    job = api.run(
        "l2h", {"logits": [[4.0, 1.0], [0.5, 3.0], [2.0, 3.5]], "names": ["twice", "twice"]}
    )
    assert job["warnings"]
    page = open_page(f"/jobs/{job['id']}")
    text = page.locator("main").inner_text()
    for warning in job["warnings"]:
        assert warning in text


def test_the_status_of_a_webhook(open_page: Open, service: Service, blobs: dict[str, Any]) -> None:
    body = {**slow(blobs, 1), "support": None, "webhook": "http://nobody.invalid/hooks"}
    job = submit(service, body)
    deadline = time.monotonic() + 60
    while not service.client.get(f"/v1/jobs/{job}").json()["webhook"]["attempts"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    facts = open_page(f"/jobs/{job}").locator(".facts").inner_text()
    assert "http://nobody.invalid/hooks" in facts
    assert "not delivered yet, sent once, again" in facts


def test_a_job_deleted_while_open(open_page: Open, service: Service, blobs: dict[str, Any]) -> None:
    job = submit(service, slow(blobs))
    page = open_page(f"/jobs/{job}")
    page.watch.expected.append("404")
    page.get_by_role("progressbar").wait_for()
    service.client.delete(f"/v1/jobs/{job}")
    page.get_by_text("This job no longer exists").wait_for()
    page = open_page(f"/jobs/{job}", heading=False)
    page.watch.expected.append("404")
    page.get_by_role("alert").wait_for()
    assert f"There is no job '{job}'" in page.get_by_role("alert").inner_text()


def test_events_continue_after_a_restart_of_the_api(
    open_page: Open, service: Service, blobs: dict[str, Any]
) -> None:
    job = submit(service, slow(blobs, n_init=80))
    page = open_page(f"/jobs/{job}")
    page.watch.expected += ["ERR_", "Failed to load resource"]
    resumed: list[str] = []
    page.on("request", lambda request: resumed.append(request.headers.get("last-event-id", "")))
    page.wait_for_function(
        "() => Number(document.querySelector('[role=progressbar]')?.ariaValueNow) > 0",
        polling=50,
    )
    # Only the API is killed; the service restarts it, and nothing is lost.
    for process in service.named("app.cli", "api"):
        process.kill()
    page.wait_for_function(
        """() => {
          const now = Number(document.querySelector('[role=progressbar]')?.ariaValueNow ?? 100);
          window.before ??= now;
          return now > window.before || now === 100;
        }""",
        timeout=120_000,
        polling=50,
    )
    page.get_by_role("link", name="Open the tree").wait_for(timeout=120_000)
    assert any(re.fullmatch(r"\d+-\d+", event) for event in resumed)
    page.locator("#banner").wait_for(state="hidden")


def test_an_unreachable_service_shows_a_banner(
    open_page: Open, service: Service, blobs: dict[str, Any]
) -> None:
    page = open_page("/jobs?q=Three+blobs", anew=True)
    page.watch.expected += ["ERR_", "Failed to load resource"]
    page.get_by_role("link", name="Three blobs").first.wait_for()
    # The other pages are loaded when the first one has been in use for a while.
    page.locator("h1").click()
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').some(e => /start.js$/.test(e.name))"
    )
    page.evaluate("import('./dashboard/js/pages/start.js')")
    page.context.set_offline(True)
    page.get_by_label("Status").select_option("failed")
    page.locator("#banner").get_by_text("does not answer").wait_for()
    page.get_by_text("The service does not answer", exact=True).wait_for()
    page.get_by_role("link", name="New run").first.click()  # The page still responds.
    page.get_by_role("alert").wait_for()
    page.get_by_role("button", name="Try now").click()
    assert page.locator("#banner").is_visible()
    page.context.set_offline(False)  # The page also notices without a click.
    page.get_by_role("heading", name="Turn data into a hierarchy").wait_for()
    page.locator("#banner").wait_for(state="hidden")


def test_a_suspended_service(open_page: Open, service: Service) -> None:
    """A request that is never answered does not block the page."""
    processes: list[psutil.Process] = service.named("app.cli", "api")
    page = open_page("/jobs")
    for process in processes:
        process.suspend()
    try:
        page.get_by_role("link", name="Data").click()
        page.get_by_text("Loading…").first.wait_for()
        page.get_by_role("button", name="Copy as code").click()
        page.get_by_role("dialog").wait_for()
        page.keyboard.press("Escape")
    finally:
        for process in processes:
            process.resume()
    page.get_by_role("heading", name="Data").wait_for()


def test_downloads(open_page: Open, service: Service, blobs: dict[str, Any]) -> None:
    page = open_page(f"/jobs/{blobs['job']}")
    page.get_by_role("button", name="Download", exact=True).click()
    with page.expect_download() as begun:
        page.get_by_role("menuitem", name="Newick").click()
    assert begun.value.suggested_filename == "Three-blobs.nwk"
    text = Path(begun.value.path()).read_text()
    assert text == service.client.get(f"/v1/trees/{blobs['tree']}.nwk").text


def test_the_menu_by_keyboard(open_page: Open, blobs: dict[str, Any]) -> None:
    page = open_page(f"/jobs/{blobs['job']}")
    opener = page.get_by_role("button", name="Download", exact=True)
    opener.focus()
    page.keyboard.press("ArrowDown")
    focused = "document.activeElement.textContent"
    assert page.evaluate(focused) == "Newick"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == "JSON"
    page.keyboard.press("End")
    assert page.evaluate(focused) == ("PNG" if lacking(["typst"]) else "PDF")
    page.keyboard.press("Escape")
    assert page.evaluate(focused) == "Download"
    assert opener.get_attribute("aria-expanded") == "false"


def recipe(page: Any, language: str) -> str:
    page.get_by_role("button", name="Copy as code").click()
    page.get_by_role("tab", name=language).click()
    text: str = page.locator("pre.listing").inner_text()
    page.keyboard.press("Escape")
    return text


def test_the_code_of_a_job_opened_by_a_link(open_page: Open, blobs: dict[str, Any]) -> None:
    page = open_page(f"/jobs/{blobs['job']}", anew=True)
    page.get_by_role("link", name="Open the tree").wait_for()
    script = recipe(page, "Python")
    assert '"method": "hac"' in script
    assert '"params": {"linkage": "ward"}' in script
    assert blobs["features"] in script


def test_the_code_repeats_the_run_of_the_page(
    open_page: Open, service: Service, tmp_path: Path
) -> None:
    page = open_page("/")
    page.get_by_role("button", name="Use the sample").click()
    page.locator(".chip.good").nth(3).wait_for()
    page.get_by_role("button", name="Run Logits to hierarchy").click()
    finished(page)
    job_id = page.url.rpartition("/")[2]
    script, shell = recipe(page, "Python"), recipe(page, "curl")
    assert job_id not in script
    assert job_id not in shell
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    mine = service.client.get(f"/v1/jobs/{job_id}").json()
    printed_id = re.search(r"job_\w{26}", done.stdout)
    assert printed_id
    assert printed_id[0] != job_id
    again = service.client.get(f"/v1/jobs/{printed_id[0]}").json()
    assert again["result"]["metrics"] == mine["result"]["metrics"]
    checked = subprocess.run(
        ["bash", "-n"], input=shell, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert f"UMBEL={service.url}" in shell
    if subprocess.run(
        ["bash", "-c", "command -v jq curl"], capture_output=True, check=False
    ).returncode:
        return
    ran = subprocess.run(
        ["bash"], input=shell, capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert ran.returncode == 0, ran.stderr
