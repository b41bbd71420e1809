"""Each type of problem has a page that explains it."""

from __future__ import annotations

import re

import pytest

from app.http.problems import KINDS
from app.resources.problems.table import explained
from scripts.write_client import _codes
from tests.app.conftest import Api, problem_of

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def test_every_code_that_the_code_uses_has_a_page() -> None:
    # The code of an error that says none of itself.
    assert set(explained()) == {*KINDS, *_codes(), "invalid-tree"}


def test_the_type_of_a_problem_resolves(api: Api) -> None:
    refused = api.client.get("/v1/jobs/job_x").json()
    page = api.client.get(refused["type"])
    assert page.headers["content-type"] == "application/json"
    assert page.json()["type"] == refused["type"]
    assert page.json()["title"] == refused["title"]
    shown = api.client.get(refused["type"], headers={"Accept": BROWSER})
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert shown.headers["vary"].startswith("Accept")
    assert shown.headers["etag"] != page.headers["etag"]
    headers = {"Accept": BROWSER, "If-None-Match": shown.headers["etag"]}
    assert api.client.get(refused["type"], headers=headers).status_code == 304
    assert api.client.head(refused["type"]).status_code == 200
    problem_of(
        api.client.get(refused["type"], headers={"Accept": "image/png"}), 406, "not-acceptable"
    )


def test_all_pages_and_the_list_of_them(api: Api) -> None:
    listed = api.client.get("/problems").json()["items"]
    assert [each["type"] for each in listed] == [f"/problems/{code}" for code in explained()]
    page = api.client.get("/problems", headers={"Accept": BROWSER}).text
    links = re.findall(r'href="([^"]*)"', page)
    assert len(links) == len(listed)
    for each, link in zip(listed, links, strict=True):
        one = api.client.get(link).json()
        assert one == each
        assert one["example"]["type"] == one["type"]
        assert one["meaning"].endswith(".")
        assert one["remedy"].endswith(".")
        text = api.client.get(link, headers={"Accept": "text/html"}).text
        assert "`" not in text.partition("<pre>")[0]


@pytest.mark.parametrize("code", ["nope", "<script>alert(1)</script>", "%E2%80%AE", "x" * 3000])
def test_another_code_is_not_found(api: Api, code: str) -> None:
    answer = api.client.get(f"/problems/{code}", headers={"Accept": BROWSER})
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_pages_need_no_key_and_are_in_no_document(api: Api) -> None:
    assert not [
        path for path in api.client.get("/openapi.json").json()["paths"] if "problem" in path
    ]
