"""The features that a model's transformation stretches, over HTTP."""

from __future__ import annotations

import csv
import io
import struct
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load

from app.http.environment_keys import new_key
from app.http.forms import Form
from app.resources.models.stretches.forms import FORMS, StretchesExport
from tests.app.conftest import Start, Working, problem_of
from tests.app.labelled_kit import NAMES, ROWS, learn
from tests.app.tree_kit import fit, model_of

# The same rows in other units, so that stretch and reach rank them differently.
UNITS = np.array([100.0, 1.0, 0.5])


@pytest.fixture
def model(working: Working) -> str:
    inputs = {"features": (ROWS * UNITS).tolist(), "feature_names": NAMES}
    return str(learn(working, inputs=inputs)["result"]["model"])


def get(working: Working, model_id: str, suffix: str = "", **query: Any) -> Any:
    return working.client.get(f"/v1/models/{model_id}/features{suffix}", params=query)


def test_the_farthest_first(working: Working, model: str) -> None:
    body = get(working, model).json()
    assert (body["model"], body["method"], body["by"]) == (model, "fda", "stretch")
    assert (body["n_features"], body["n_components"]) == (3, 1)
    arrays = load(working.client.get(f"/v1/models/{model}/content").content)
    stretch = np.linalg.norm(arrays["0.projection"], axis=1)
    spread = (ROWS * UNITS).std(axis=0)
    for by, values in (("stretch", stretch), ("reach", stretch * spread)):
        items = get(working, model, by=by).json()["items"]
        columns = np.argsort(-values)
        assert [item["rank"] for item in items] == [1, 2, 3]
        assert [item["column"] for item in items] == columns.tolist()
        assert [item["feature"] for item in items] == [NAMES[column] for column in columns]
        assert [item["stretch"] for item in items] == pytest.approx(stretch[columns])
        assert [item["spread"] for item in items] == pytest.approx(spread[columns])
        assert [item["reach"] for item in items] == pytest.approx((stretch * spread)[columns])
    assert get(working, model, by="reach").json()["items"][0]["feature"] == "height"
    assert len(get(working, model, limit=2).json()["items"]) == 2


def test_features_without_names_have_numbers(working: Working) -> None:
    body = get(working, learn(working)["result"]["model"]).json()
    assert {item["feature"] for item in body["items"]} == {0, 1, 2}


def test_the_first_step_of_a_chain(working: Working) -> None:
    alone, chained = learn(working), learn(working, then="l2h")
    items, others = (get(working, job["result"]["model"]).json() for job in (alone, chained))
    assert items["items"] == others["items"]


def test_a_table_and_pictures(working: Working, model: str) -> None:
    items = get(working, model).json()["items"]
    rows = list(csv.DictReader(io.StringIO(get(working, model, ".csv").text)))
    assert [{**row, "rank": int(row["rank"])}["rank"] for row in rows] == [1, 2, 3]
    assert [(row["feature"], float(row["stretch"])) for row in rows] == [
        (item["feature"], item["stretch"]) for item in items
    ]
    picture = get(working, model, ".svg", title="Why <these>?")
    assert picture.headers["content-type"].startswith("image/svg+xml")
    texts = [element.text for element in ET.fromstring(picture.content).iter() if element.text]
    assert {"Why <these>?", *NAMES} <= set(texts)
    drawn = get(working, model, ".png", px=300)
    assert drawn.content[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">I", drawn.content[16:20]) == (300,)


@pytest.mark.parametrize(
    "form",
    [pytest.param(form, id=form.suffix, marks=pytest.mark.needs(*form.needs)) for form in FORMS],
)
def test_every_form(working: Working, model: str, form: Form[StretchesExport]) -> None:
    address = f"/v1/models/{model}/features"
    answer = working.client.get(address, headers={"Accept": form.media})
    assert answer.headers["content-type"].startswith(form.media)
    headers = {"Accept": form.media, "If-None-Match": answer.headers["etag"]}
    assert working.client.get(address, headers=headers).status_code == 304


def test_what_is_refused(working: Working, model: str, start: Start) -> None:
    for query in ({"by": "x"}, {"limit": 0}, {"px": 99}, {"palette": "rainbow"}):
        problem_of(get(working, model, **query), 422, "invalid-request")
    problem_of(get(working, model, ".gif"), 406, "not-acceptable")
    for strange in ("md_" + "0" * 26, "md_x"):
        problem_of(get(working, strange), 404, "not-found")
    plain = fit(working, "kmeans", {"features": ROWS.tolist()}, params={"n_clusters": 2})
    for suffix in ("", ".png"):
        refused = problem_of(get(working, model_of(plain), suffix), 404, "not-found")
        assert "'kmeans' transforms no features" in refused["detail"]
    key, line = new_key("other")
    keyed = start(api_keys=(line,))
    theirs = keyed.client.get(
        f"/v1/models/{model}/features", headers={"Authorization": f"Bearer {key}"}
    )
    problem_of(theirs, 404, "not-found")
    assert working.client.delete(f"/v1/models/{model}").status_code == 204
    problem_of(get(working, model), 404, "not-found")
