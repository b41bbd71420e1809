"""The catalogue."""

from __future__ import annotations

from models.registry import methods
from tests.app.conftest import Api, problem_of


def test_the_catalogue_lists_every_method(api: Api) -> None:
    page = api.client.get("/v1/methods").json()
    assert page["next_cursor"] is None
    assert [item["id"] for item in page["items"]] == list(methods())
    for item in page["items"]:
        method = methods()[item["id"]]
        assert set(item["inputs"]) == set(method.inputs)
        assert set(item["params"]["properties"]) == set(method.Params.model_fields)
        assert item["predicts"] == method.predicts
        assert item["classifies"] == method.classifies
        assert item["outputs"] == list(method.outputs)
        assert item["description"]
        assert item["paper"]["title"]
        single = api.client.get(f"/v1/methods/{item['id']}")
        assert single.json() == item
        etag = single.headers["etag"]
        assert (
            api.client.get(f"/v1/methods/{item['id']}", headers={"If-None-Match": etag}).status_code
            == 304
        )


def test_an_unknown_method_names_the_nearest(api: Api) -> None:
    detail = problem_of(api.client.get("/v1/methods/kmean"), 404, "not-found")["detail"]
    assert "Did you mean" in detail
    assert "'kmeans'" in detail
    for name in ("%E2%80%AE", "x" * 5000, "..", "<script>"):
        assert api.client.get(f"/v1/methods/{name}").status_code in (404, 405, 414)
