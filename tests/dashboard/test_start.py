"""From a dropped file to a running job."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import openpyxl
import pytest

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.forms_kit import finished, held_back
from tests.dashboard.planted import imported, until
from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.conftest import Service

HOSTILE = "<img src=x onerror=alert(1)>"

# Drops a file on the page as a user does.
DROP = """([name, type, bytes]) => {
  const data = new DataTransfer();
  const content = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
  data.items.add(new File([content], name, {type}));
  const zone = document.querySelector('.drop');
  for (const kind of ['dragenter', 'dragover', 'drop']) {
    const event = new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer: data});
    zone.dispatchEvent(event);
  }
}"""


# The values in the form, by name of the parameter.
VALUES = """() => Object.fromEntries(
  [...document.querySelectorAll('[data-param]')].map((row) => {
    const control = row.querySelector('input, select');
    const value = control.type === 'checkbox' ? control.checked : control.value;
    return [row.dataset.param, value];
  })
)"""


def drop(page: Page, name: str, content: bytes, media: str = "") -> None:
    import base64

    page.locator(".drop").wait_for()
    page.evaluate(DROP, [name, media, base64.b64encode(content).decode()])
    page.locator(".file-card[data-use]").last.wait_for()


def guess(page: Page) -> str | None:
    return page.locator(".file-card").get_attribute("data-use")


def points(n: int = 30) -> bytes:
    return npy(np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32))


def param(page: Page, name: str) -> Any:
    return page.locator(f'[data-param="{name}"] :is(input, select)')


def error_at(page: Page, place: str) -> str:
    return page.locator(f"{place} .field-wrong").inner_text()


def test_the_first_load_is_small(open_page: Open) -> None:
    """Less than 150 kB arrive, compressed and with headers, and nothing more while nobody acts."""
    page = open_page("/", fresh=True)
    page.get_by_role("heading", name="Turn data into a hierarchy").wait_for()
    page.wait_for_timeout(2500)
    parts = page.evaluate(
        """() => [
          ...performance.getEntriesByType('navigation'),
          ...performance.getEntriesByType('resource'),
        ].map((part) => [part.name, part.transferSize])"""
    )
    sizes = dict(parts)
    assert any(name.endswith("/js/pages/start.js") for name in sizes)
    assert all(size > 0 for size in sizes.values()), sizes
    assert sum(sizes.values()) < 150_000, sorted(sizes.items(), key=lambda part: -part[1])
    assert not any("/vendor/" in name for name in sizes)


def test_from_a_dropped_file_to_the_tree(open_page: Open, service: Service) -> None:
    page = open_page("/jobs")
    # What other tests uploaded may fit any input.
    nothing = {"items": [], "next_cursor": None}
    page.route(
        "**/v1/datasets?*",
        lambda route: (
            route.fulfill(json=nothing) if route.request.method == "GET" else route.continue_()
        ),
    )
    page.evaluate("location.hash = '#/'")
    drop(page, "points.npy", points())
    assert guess(page) == "features"
    page.get_by_text("Ready").wait_for()
    assert "30 × 3" in page.locator(".file-card").inner_text()
    # Points begin with a tree of all of them; what nothing fits is folded.
    page.get_by_role("heading", name="Settings").wait_for()
    assert page.locator('[data-role="must_link"] select').is_hidden()
    assert "points.npy" in page.locator('[data-role="features"] select').inner_text()
    assert page.locator('[data-role="features"] select').input_value().startswith("ds_")
    param(page, "linkage").select_option(label="ward")
    page.get_by_label("Name of this run").fill("From a drop")
    page.get_by_role("button", name="Run Agglomerative clustering").click()
    finished(page)
    assert "From a drop" in page.locator("h1").inner_text()
    job = service.client.get(f"/v1/jobs/{page.url.rpartition('/')[2]}").json()
    assert job["params"]["linkage"] == "ward"
    assert job["name"] == "From a drop"
    address = page.get_by_role("link", name="Open the tree").get_attribute("href")
    assert address == f"#/trees/{job['result']['tree']}"


def test_a_page_that_waits_says_so(open_page: Open, service: Service) -> None:
    page = open_page("/jobs")
    page.goto("about:blank")
    with held_back(page, re.compile(r"/v1/methods\?"), "GET") as held:
        page.goto(service.url)
        until(page, lambda: held)
        page.locator("main").get_by_text("Loading…").wait_for()
    page.get_by_role("heading", name="Turn data into a hierarchy").wait_for()
    assert page.get_by_text("Loading…").count() == 0


@pytest.mark.parametrize("path", ["/trees", "/datasets", "/trees/{tree}"])
def test_a_page_that_came_late_has_no_sign_of_waiting(
    open_page: Open, service: Service, api: Api, path: str
) -> None:
    tree = imported(api, "((a,b),c);", "Late")
    page = open_page("/jobs")
    page.goto("about:blank")
    with held_back(page, re.compile(r"/v1/version"), "GET") as held:
        page.goto(f"{service.url}/#{path.format(tree=tree)}")
        until(page, lambda: held)
        page.locator("main").get_by_text("Loading…").wait_for()
    page.locator("main h1").first.wait_for()
    assert page.locator("main > .page > .waiting").count() == 0


def test_the_sample(open_page: Open) -> None:
    page = open_page("/")
    page.get_by_role("button", name="Use the sample").click()
    page.get_by_role("button", name="Run Logits to hierarchy").wait_for()
    page.locator(".chip.good").nth(3).wait_for()
    page.get_by_role("button", name="Run Logits to hierarchy").click()
    finished(page)
    text = page.locator("main").inner_text()
    assert "Modularity" in text
    assert page.locator("svg.chart path.line").count() >= 1


def npz() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, first=np.zeros((4, 2)), second=np.ones((4, 2)))
    return buffer.getvalue()


def softmax(shape: tuple[int, int]) -> Any:
    scores = np.exp(np.random.default_rng(1).normal(size=shape))
    return scores / scores.sum(1, keepdims=True)


GUESSES = [
    ("x.npy", lambda: npy(np.zeros((9, 4)) + np.arange(4)), "features"),
    ("p.npy", lambda: npy(softmax((9, 4))), "logits"),
    ("p.npy", lambda: npy(np.log(softmax((9, 4))).astype(np.float16)), "logits"),
    ("train_logits.npy", lambda: npy(np.ones((9, 4))), "logits"),
    ("y.npy", lambda: npy(np.arange(9)), "labels"),
    ("y.npy", lambda: npy(np.arange(9).reshape(9, 1)), "labels"),
    ("d.npy", lambda: npy(np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))), ""),
    ("a.csv", lambda: b"x,y\n1,2\n3,4\n", "features"),
    ("a.csv", lambda: b"species\nrose\ntulip\n", "names"),
    ("groups.csv", lambda: b"species\nrose\ntulip\n", "labels"),
    ("a.json", lambda: b"[[1, 2], [3, 4]]", "features"),
    ("names.json", lambda: b'["rose", "tulip"]', "names"),
    ("a.json", lambda: b"[0, 1, 0]", "labels"),
    ("a.json", lambda: b'{"nodes": []}', "tree"),
    ("a.nwk", lambda: b"(a:1,b:1);", "tree"),
    ("a.txt", lambda: b"animal/cat\nanimal/dog\n", "tree"),
    ("a.arff", lambda: b"@relation a\n@attribute x real\n@data\n1\n", "features"),
    ("a.json", lambda: b'[["rose", "tulip"], []]', "labels"),
    ("a.svm", lambda: b"1 1:0.5 3:2\n", "features"),
    ("embeddings.parquet", lambda: b"PAR1....PAR1", "features"),
]


def test_the_role_of_a_file_is_guessed(open_page: Open) -> None:
    page = open_page("/")
    page.watch.expected.append("422")  # The service refuses the object without a tree.
    for name, content, use in GUESSES:
        drop(page, name, content())
        assert guess(page) == use, (name, use)
        page.get_by_role("button", name="Remove").click()


def test_a_run_waits_for_its_uploads(open_page: Open) -> None:
    page = open_page("/?method=hac")
    run = page.get_by_role("button", name="Run Agglomerative clustering")
    run.wait_for()
    with held_back(page, re.compile(r"/v1/datasets\?"), "POST") as held:
        drop(page, "points.npy", points())
        run.click()
        page.get_by_text("Waiting for 1 upload…").wait_for()
        until(page, lambda: held)
    finished(page)


def test_a_tree_is_imported(open_page: Open) -> None:
    page = open_page("/")
    drop(page, "mine.nwk", b"((rose:1,tulip:1):1,oak:2);")
    address = page.get_by_role("link", name="Open the tree").get_attribute("href")
    assert re.fullmatch(r"#/trees/tr_\w+", address or "")


def test_an_array_of_several_is_selected(open_page: Open) -> None:
    page = open_page("/")
    drop(page, "two.npz", npz())
    page.get_by_text("holds several arrays").or_(page.get_by_text("first, second")).first.wait_for()
    page.get_by_role("button", name="Upload it differently").click()
    page.get_by_label("Array in the file").fill("second")
    page.get_by_role("button", name="Upload", exact=True).click()
    page.get_by_text("Ready").wait_for()


def test_the_page_shows_the_services_refusal_of_a_pickle(open_page: Open) -> None:
    page = open_page("/")
    page.watch.expected.append("415")
    drop(page, "model.pkl", b"\x80\x04\x95" + bytes(100))
    page.get_by_role("button", name="Upload", exact=True).click()
    notice = page.get_by_role("alert")
    notice.wait_for()
    assert "Unsupported format" in notice.inner_text()


@pytest.mark.parametrize("after_leaving", [False, True])
def test_an_upload_is_cancelled(open_page: Open, api: Api, after_leaving: bool) -> None:
    page = open_page("/", fresh=True)
    wire = page.context.new_cdp_session(page)
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 400_000}
    wire.send("Network.emulateNetworkConditions", slow)
    before = api.count("datasets")
    page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(20e6)], 'big.bin'));
          const event = new DragEvent('drop', {bubbles: true, dataTransfer: data});
          document.querySelector('.drop').dispatchEvent(event);
        }"""
    )
    page.get_by_role("button", name="Upload", exact=True).click()
    page.get_by_text(re.compile(r"of 20 MB")).wait_for()
    if after_leaving:
        page.get_by_role("link", name="Jobs").first.click()
        page.get_by_text("big.bin is still being sent.").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text(re.compile("ancelled; nothing was kept.")).wait_for()
    assert page.get_by_text("still being sent").count() == 0
    assert api.count("datasets") == before
    page.watch.expected.append("ERR_ABORTED")


def test_invalid_values_are_reported_before_submission(
    open_page: Open, blobs: dict[str, Any]
) -> None:
    page = open_page(f"/?method=kmeans&features={blobs['features']}")
    run = page.get_by_role("button", name="Run k-means")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.method + request.url))
    for value, why in (
        ("0", "whole number from 1"),
        ("2.5", "whole number"),
        ("many", "whole"),
        ("", "default is 8"),
    ):
        param(page, "n_clusters").fill(value)
        run.click()
        assert why in error_at(page, '[data-param="n_clusters"]')
        assert param(page, "n_clusters").get_attribute("aria-invalid") == "true"
        assert page.evaluate("document.activeElement.name") == "n_clusters"
    assert not [request for request in requests if request.startswith("POST")]
    param(page, "n_clusters").fill("1,000")  # A thousands separator is accepted.
    param(page, "tol").fill("1e-3")
    page.get_by_label("Search").count()
    run.click()
    page.get_by_role("alert").wait_for()  # The job fails: there are 60 points.
    assert "n_clusters" in page.get_by_role("alert").inner_text()


def test_an_error_of_the_service_is_shown_at_its_field(
    open_page: Open, service: Service, api: Api
) -> None:
    deleted = api.upload(points(), role="features", name="gone.npy")
    page = open_page(f"/?method=kmeans&features={deleted}")
    page.watch.expected.append("422")
    page.get_by_role("button", name="Run k-means").wait_for()
    service.client.delete(f"/v1/datasets/{deleted}")
    page.get_by_role("button", name="Run k-means").click()
    page.get_by_role("alert").wait_for()
    assert f"there is no dataset '{deleted}'" in error_at(page, '[data-role="features"]')
    assert page.evaluate("document.activeElement.name") == "features"


def test_one_of_several_inputs(open_page: Open, api: Api, blobs: dict[str, Any]) -> None:
    page = open_page("/?method=hac")
    page.get_by_role("button", name="Run Agglomerative clustering").click()
    assert "Exactly one of" in error_at(page, '[data-role="features"]')
    square = api.upload(npy(np.eye(4)))
    page = open_page(f"/?method=hac&features={blobs['features']}&similarity={square}")
    page.get_by_role("button", name="Run Agglomerative clustering").click()
    assert "Exactly one of" in error_at(page, '[data-role="similarity"]')


def test_a_link_opens_the_same_form(open_page: Open, blobs: dict[str, Any]) -> None:
    page = open_page(f"/?method=gmm&features={blobs['features']}")
    page.get_by_text("More: prepare, then, support, names").click()
    page.get_by_label("Prepare the features").select_option("pca")
    page.locator('.step [data-param="n"] input').fill("2")
    page.get_by_label("Then, on the result").select_option("l2h")
    page.get_by_label("Bootstrap support").check()
    param(page, "replicates").fill("5")
    param(page, "covariance").select_option(label="diag")
    param(page, "n_clusters").fill("3")
    page.get_by_label("Name of this run").fill("All of it")
    page.get_by_label("Name of this run").blur()
    address = page.url
    again = open_page(address.partition("#")[2], anew=True)
    again.get_by_role("button", name="Run Gaussian mixture").click()
    finished(again)
    text = again.locator("main").inner_text()
    assert "covariance: diag" in text
    assert "pca" in text
    assert "l2h" in text
    assert "support" not in listed_params(text)
    # The job leads back to the form.
    again.get_by_role("link", name="Change and run again").click()
    again.get_by_role("heading", name="Settings").wait_for()
    assert param(again, "covariance").input_value() == '"diag"'
    assert again.get_by_label("Then, on the result").input_value() == "l2h"


def listed_params(text: str) -> str:
    match = re.search(r"Parameters\n(.*)", text)
    return match[1] if match else ""


def test_names_can_be_typed_and_nodes_named_by_labels(
    open_page: Open, service: Service, blobs: dict[str, Any]
) -> None:
    page = open_page(f"/?method=kmeans&features={blobs['features']}&p.n_clusters=3")
    page.locator('[data-role="names"] select').select_option("typed")
    page.locator('[data-role="names"] textarea').fill(f"{HOSTILE}\nבדיקה\n🌱 three\n")
    page.get_by_role("button", name="Run k-means").click()
    finished(page)
    tree = service.client.get(f"/v1/trees/tr_{page.url.rpartition('_')[2]}").json()
    assert {node["name"] for node in tree["nodes"]} >= {HOSTILE, "בדיקה", "🌱 three"}
    page = open_page(f"/?method=hac&features={blobs['features']}")
    page.get_by_text("More: prepare, then, support, names").click()
    page.get_by_label("Name the nodes by").select_option("labels")
    page.locator('[data-role="labels"] select').select_option(blobs["labels"])
    page.get_by_role("button", name="Run Agglomerative clustering").click()
    finished(page)
    tree = service.client.get(f"/v1/trees/tr_{page.url.rpartition('_')[2]}").json()
    assert any(str(node["name"]).startswith("group 1") for node in tree["nodes"])


@pytest.fixture
def hostile(api: Api) -> dict[str, str]:
    dataset = api.upload(points(), role="features", name=HOSTILE)
    job = api.run("hac", {"features": dataset}, name=HOSTILE)
    return {"dataset": dataset, "job": job["id"], "tree": job["result"]["tree"]}


def test_hostile_names_are_text(open_page: Open, hostile: dict[str, str], axe: Axe) -> None:
    page = open_page("/")
    drop(page, f"{HOSTILE}.npy", points())
    assert HOSTILE in page.locator(".file-card").inner_text()
    page.get_by_text("Ready").wait_for()
    for path in (
        "/jobs",
        "/datasets",
        "/trees",
        f"/jobs/{hostile['job']}",
        f"/datasets/{hostile['dataset']}",
        f"/evaluations?trees={hostile['tree']}",
        f"/?method=hac&features={hostile['dataset']}&name={HOSTILE}",
        f"/{HOSTILE}",
        f"/?method={HOSTILE}&p.x={HOSTILE}&preprocess={HOSTILE}",
    ):
        page.goto(page.url.partition("#")[0] + "#" + path)
        page.locator("main h1").wait_for()
        page.wait_for_timeout(100)
        assert page.locator("main img[onerror]").count() == 0
    page.goto(page.url.partition("#")[0] + "#/jobs")
    page.get_by_role("link", name=HOSTILE).first.wait_for()
    axe(page)


@pytest.mark.slow
def test_names_of_any_length_and_direction(open_page: Open, api: Api) -> None:
    for name in ("W" * 1000, "שלום \u202e עולם", "🌲" * 40):
        dataset = api.upload(points(), role="features", name=name)
        job = api.run("hac", {"features": dataset}, name=name)
        page = open_page(f"/jobs/{job['id']}", width=360)
        # Nothing is shown reversed; the browser shows a run of spaces as one.
        name = " ".join(name.replace("\u202e", "").split())
        assert name in page.locator("h1").inner_text()
        for path in (f"/jobs/{job['id']}", "/jobs", "/datasets", "/trees", "/evaluations"):
            page.evaluate("address => { location.hash = address }", f"#{path}")
            page.get_by_text(name).first.wait_for(state="attached")
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, path


def test_the_form_is_generated_from_the_catalogue(open_page: Open, service: Service) -> None:
    """Every method's form has a control with the default for each parameter."""
    page = open_page("/")
    for method in service.client.get("/v1/methods").json()["items"]:
        page.evaluate("address => { location.hash = address }", f"#/?method={method['id']}")
        page.get_by_role("button", name=f"Run {method['title']}", exact=True).wait_for()
        values = page.evaluate(VALUES)
        properties = method["params"]["properties"]
        assert set(values) == set(properties), method["id"]
        for name, schema in properties.items():
            default = schema["default"]
            kinds = [kind for kind in schema.get("anyOf", []) if kind.get("type") != "null"]
            if isinstance(default, bool):
                assert values[name] is default
            elif isinstance(default, list):
                assert values[name] == ", ".join(map(str, default))
            elif isinstance(default, str) and len(kinds) > 1:
                # Typed, not chosen: a number or a word.
                assert values[name] == default
            elif isinstance(default, str) or (default is None and values[name]):
                assert json.loads(values[name]) == default
            elif default is None:
                assert values[name] == ""
            else:
                assert float(values[name]) == default


def test_a_method_without_its_package_cannot_be_chosen(open_page: Open, service: Service) -> None:
    listed = service.client.get("/v1/methods").json()
    for item in listed["items"]:
        if item["needs"]:
            item["available"] = False
    page = open_page("/jobs")
    page.route("**/v1/methods?*", lambda route: route.fulfill(json=listed))
    page.goto(f"{service.url}/#/")
    page.reload()
    page.get_by_label("Search the methods").fill("turtle")
    card = page.locator(".method-card", has_text="turtle").first
    card.get_by_text("torch is not installed").wait_for()
    assert card.is_disabled()
    page.get_by_label("Search the methods").fill("k-means")
    assert page.locator(".method-card", has_text="kmeans").first.is_enabled()


TABLE = (
    b"Unnamed: 0,name,species,born,width,height\n"
    b"0,ann,cat,2020-01-01,0,0\n1,bob,cat,2020-01-02,0,1\n"
    b"2,cyd,dog,2020-02-01,9,0\n3,dan,dog,2021-01-01,9,1\n"
)


def test_the_columns_of_a_table_are_shown_and_chosen_once(
    open_page: Open, service: Service
) -> None:
    page = open_page("/")
    drop(page, "pets.csv", TABLE)
    card = page.locator(".file-card")
    used = card.get_by_label("Use Unnamed: 0 as")
    used.wait_for()
    assert used.input_value() == ""
    assert card.get_by_label("Use name as").input_value() == "id"
    assert card.get_by_label("Use species as").input_value() == "label"
    assert "ann · bob · cyd" in card.inner_text()
    used.select_option(label="Id of the row")
    card.get_by_role("button", name="Use it so").click()
    assert "Only one column can be the id." in card.inner_text()
    card.get_by_label("Use name as").select_option(label="Not used")
    with page.expect_request(lambda request: "/v1/datasets?" in request.url) as sent:
        card.get_by_role("button", name="Use it so").click()
    page.get_by_text("Ready").wait_for()
    # The file is not sent again.
    assert "from=ds_" in sent.value.url
    assert not sent.value.post_data_buffer
    newest = service.client.get("/v1/datasets?limit=1").json()["items"][0]
    roles = {column["name"]: column["role"] for column in newest["columns"]}
    assert (roles["name"], roles["Unnamed: 0"], roles["width"]) == (None, "id", "feature")
    page.get_by_role("link", name="Details").click()
    page.get_by_role("heading", name="Columns").wait_for()
    assert "Id of the row" in page.locator("main").inner_text()


def workbook() -> bytes:
    """The same table as an Excel file."""
    book, file = openpyxl.Workbook(), io.BytesIO()
    for line in TABLE.decode().splitlines():
        cells = line.split(",")
        book.active.append([float(c) if c.replace(".", "").isdigit() else c for c in cells])
    book.save(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content"), [("pets.csv", lambda: TABLE), ("pets.xlsx", workbook)], ids=["csv", "xlsx"]
)
def test_from_a_table_to_its_tree_in_two_steps(
    name: str, content: Callable[[], bytes], open_page: Open, service: Service
) -> None:
    """The columns are confirmed, and the method run that begins."""
    page = open_page("/")
    drop(page, name, content())
    assert guess(page) == "features"
    page.get_by_role("button", name="Use it so").click()
    page.get_by_text("Ready").wait_for()
    page.get_by_role("button", name="Run Agglomerative clustering").click()
    finished(page)
    job = service.client.get(f"/v1/jobs/{page.url.rpartition('/')[2]}").json()
    newick = service.client.get(f"/v1/trees/{job['result']['tree']}.nwk").text
    assert all(pet in newick for pet in ("ann", "bob", "cyd", "dan"))


WIDE = "\n".join(
    [",".join(["id", *(f"width {column}" for column in range(14)), "species"])]
    + [",".join([f"p{row}", *["1.5"] * 14, "ab"[row % 2]]) for row in range(20)]
).encode()


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_a_table_and_its_button_are_on_the_screen(
    width: int, height: int, open_page: Open, axe: Axe
) -> None:
    """The first columns are seen with the button below them; the others scroll in their place, and
    the rest of the form follows."""
    page = open_page("/", width=width, height=height)
    drop(page, "wide.csv", WIDE)
    use = page.get_by_role("button", name="Use it so")
    use.wait_for()
    assert page.evaluate("scrollY") == 0
    place = page.get_by_role("region", name="Columns of the table")
    shown, confirmed = place.bounding_box(), use.bounding_box()
    assert shown
    assert confirmed
    assert confirmed["y"] + confirmed["height"] <= height
    assert shown["height"] >= height / 4
    last = page.get_by_label("Use species as")
    last.scroll_into_view_if_needed()
    inside = last.bounding_box()
    assert inside
    assert shown["x"] <= inside["x"]
    assert inside["x"] + inside["width"] <= shown["x"] + shown["width"]
    axe(page)
    use.click()
    page.get_by_text("Ready").wait_for()
    run = page.get_by_role("button", name="Run Agglomerative clustering")
    run.wait_for()
    below = run.bounding_box()
    assert below
    assert below["y"] + below["height"] <= height


def test_images_are_offered_to_methods_that_take_them(open_page: Open, axe: Axe) -> None:
    page = open_page("/")
    images = np.random.default_rng(0).integers(0, 255, size=(12, 28, 28)).astype(np.uint8)
    drop(page, "digits.npy", npy(images))
    others = page.locator(".other-methods")
    others.get_by_text("methods for other data").click()
    refused = others.locator(".method-card", has_text="hac").first
    assert refused.is_disabled()
    assert "It takes rows of numbers, not images of 28 × 28." in refused.inner_text()
    axe(page)
    fitting = page.locator(".family:not(.other-methods) .method-card code")
    assert set(fitting.all_inner_texts()) == {"deepect", "treevae"}
    # A matrix besides is something that they take.
    drop(page, "points.npy", points())
    page.locator(".file-card .chip.good").nth(1).wait_for()
    others.wait_for(state="detached")
    page.get_by_role("button", name="Change the method").click()
    page.locator(".file-card").nth(1).get_by_role("button", name="Remove").click()
    others.wait_for()
    page.locator(".file-card").first.get_by_role("button", name="Remove").click()
    others.wait_for(state="detached")
