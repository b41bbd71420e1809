"""Forms: how a client chooses one, the pair of routes, and the content sent."""

from __future__ import annotations

import pytest
from fastapi import APIRouter, FastAPI, Request, Response
from starlette.testclient import TestClient

from app.http import streaming
from app.http.forms import Form, by_accept, by_suffix, mount, respond
from app.http.problems import Refused, install, not_found
from app.http.streaming import Turn
from app.resources.predictions import routes as predictions
from app.resources.trees.assignments import routes as assignments
from app.resources.trees.forms import FORMS
from models.running import packages


@pytest.mark.parametrize(
    ("accept", "suffix"),
    [
        (None, "json"),
        ("", "json"),
        ("  ", "json"),
        ("*/*", "json"),
        ("application/*", "json"),
        ("image/*", "svg"),
        ("image/png, image/*;q=0.8", "png"),
        ("image/*;q=0.8, image/svg+xml;q=0.1", "png"),
        ("*/*;q=0.1, text/x-nh", "nwk"),
        ("text/x-nh;q=0.2, text/x-nexus;q=0.3", "nex"),
        ("text/x-nh ; q=1 , application/json; q=0.9", "nwk"),
        ("application/json;q=oops, text/x-nh;q=0.1", "nwk"),
        ("application/json;q=nan, text/x-nh;q=0.1", "nwk"),
        (",,;=,text/x-nh", "nwk"),
        ("application/json;version=1", "json"),
    ],
)
def test_accept(accept: str | None, suffix: str) -> None:
    assert by_accept(accept, FORMS).suffix == suffix


@pytest.mark.parametrize("accept", ["text/html", "image/webp", "*/*;q=0", "text/x-nh;q=-1", "x"])
def test_accept_without_any_known_form(accept: str) -> None:
    with pytest.raises(Refused, match="there are") as refused:
        by_accept(accept, FORMS)
    assert refused.value.status_code == 406


def test_a_form_that_waits_for_a_package_is_chosen_last_and_refused(
    counting: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda module: None)
    for accept in ("application/pdf, image/svg+xml;q=0.1", "application/pdf, image/*;q=0.1"):
        assert by_accept(accept, FORMS).suffix == "svg"
    assert by_accept("application/pdf, text/html", FORMS).suffix == "pdf"
    for path, accept in (("/count/3.rare", "*/*"), ("/count/3", "text/x-rare")):
        answer = counting.get(path, headers={"Accept": accept})
        assert answer.status_code == 406
        assert "'rare' needs the package typst" in answer.json()["detail"]
        assert "pip install 'umbel[pdf]'" in answer.json()["detail"]
    assert counting.get("/count/-3.rare").status_code == 406


def test_suffixes_and_media_types_are_distinct() -> None:
    for forms in (FORMS, assignments.FORMS, predictions.FORMS):
        assert len({form.suffix for form in forms}) == len(forms)
        assert len({form.media for form in forms}) == len(forms)
        for form in forms:
            assert by_suffix(form.suffix, forms) is form


def test_the_problem_shortens_a_long_accept() -> None:
    with pytest.raises(Refused) as refused:
        by_accept("x/" + "y" * 5000, FORMS)
    assert len(str(refused.value.detail)) < 1000


LINES: tuple[Form[int], ...] = (
    Form("txt", "text/plain", lambda n: (b"%d\n" % number for number in range(n))),
    Form("tab.csv", "text/csv", lambda n: iter([b"n\r\n", b"%d\r\n" % n])),
    Form("rare", "text/x-rare", lambda n: iter([b"%d" % n]), needs=("typst",)),
)


@pytest.fixture
def counting() -> TestClient:
    """A client of `/count/{n}` in two forms; a negative `n` is refused only during loading."""
    app, router = FastAPI(), APIRouter(prefix="/count")
    install(app)

    @mount(router, "/{n:stem}", LINES, summary="Count", responses={})
    async def count(request: Request, n: int, form: Form[int]) -> Response:
        """Numbers up to n."""

        def load() -> tuple[int, dict[str, str]]:
            if n < 0:
                raise not_found("number", str(n))
            return n, {"X-Count": str(n)}

        return await respond(request, form, load, Turn("look", waits=n > 10), etag=f'"{n}"')

    app.include_router(router)
    return TestClient(app)


def test_one_endpoint_is_mounted_by_suffix_and_by_accept(counting: TestClient) -> None:
    for path, accept, media in (
        ("/count/3", "*/*", "text/plain"),
        ("/count/3", "text/csv", "text/csv"),
        ("/count/3.txt", "text/csv", "text/plain"),
        ("/count/3.tab.csv", "*/*", "text/csv"),
    ):
        answer = counting.get(path, headers={"Accept": accept})
        assert answer.status_code == 200
        assert answer.headers["content-type"].partition(";")[0] == media
        assert (answer.headers["etag"], answer.headers["vary"]) == ('"3"', "Accept")
        assert answer.headers["x-count"] == "3"
        assert answer.text == ("0\n1\n2\n" if media == "text/plain" else "n\r\n3\r\n")
    assert counting.get("/count/3.pdf").status_code == 406
    assert counting.get("/count/3", headers={"Accept": "image/png"}).status_code == 406
    assert counting.get("/count/-3").status_code == 404


def test_an_unchanged_form_is_not_sent_again(counting: TestClient) -> None:
    answer = counting.get("/count/3", headers={"If-None-Match": '"3"'})
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["vary"] == "Accept"


def test_a_long_form_is_streamed_with_the_same_content(
    counting: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    unstreamed = counting.get("/count/1000")
    assert "content-length" in unstreamed.headers
    monkeypatch.setattr(streaming, "WHOLE_BYTES", 100)
    cut = counting.get("/count/1000")
    assert "content-length" not in cut.headers
    assert cut.content == unstreamed.content
    assert cut.headers["x-count"] == "1000"


def test_the_pair_of_routes_is_documented(counting: TestClient) -> None:
    paths = counting.get("/openapi.json").json()["paths"]
    plain, by_suffix_ = paths["/count/{n}"]["get"], paths["/count/{n}.{form}"]["get"]
    assert (plain["operationId"], by_suffix_["operationId"]) == ("count", "count_as")
    assert plain["description"] == "Numbers up to n."
    assert {parameter["name"] for parameter in plain["parameters"]} == {"n", "accept"}
    assert {parameter["name"] for parameter in by_suffix_["parameters"]} == {"n", "form"}
    assert "`GET /count/{n}`" in by_suffix_["description"]
