"""The path of each cluster over time: as JSON, as a table and as a picture."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load

from app.http.environment_keys import new_key
from app.resources.models.paths import clusters as paths_module
from models.numerics.sphere import draw_vmf
from tests.app.conftest import Start, Working, problem_of

N_PERIODS, N_CLUSTERS = 5, 3
DATES = ["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01", "2024-06-01"]
NAMES = ["engine", "=brake", "<script>", "שלום", "e", "f"]


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Points of three moving clusters, with shares of 1/2, 1/3 and 1/6, and their periods."""
    rng = np.random.default_rng(0)
    period = np.repeat(np.arange(N_PERIODS), 36)
    own = np.tile(np.repeat([0, 1, 2], [18, 12, 6]), N_PERIODS)
    path = [np.eye(6)[:3]]
    for _ in range(N_PERIODS - 1):
        path.append(draw_vmf(path[-1], 60.0, rng))
    return draw_vmf(np.array(path)[period, own], 300.0, rng), period


def fitted(working: Working, **body: Any) -> dict[str, Any]:
    points, period = rows()
    stamps = [DATES[at] for at in period]
    answer = working.client.post(
        "/v1/jobs",
        json={
            "method": "tvmf",
            "inputs": {
                "features": points.tolist(),
                "timestamps": stamps,
                "feature_names": NAMES,
            },
            "params": {"n_clusters": N_CLUSTERS, "n_init": 1, "max_iter": 15},
            **body,
        },
        headers={"Prefer": "wait=60"},
    )
    job: dict[str, Any] = answer.json()
    assert job["status"] == "succeeded", job
    return job


@pytest.fixture
def ids(working: Working) -> dict[str, Any]:
    return dict(fitted(working)["result"])


def get(working: Working, ids: dict[str, Any], form: str = "json", **params: Any) -> Any:
    return working.client.get(f"/v1/models/{ids['model']}/paths.{form}", params=params)


def test_paths_are_those_of_the_model(working: Working, ids: dict[str, Any]) -> None:
    body = get(working, ids).json()
    arrays = load(working.client.get(f"/v1/models/{ids['model']}/content").content)
    psi, weights = arrays["0.psi"], arrays["0.weights"]
    nodes = working.client.get(f"/v1/trees/{ids['tree']}.json").json()["nodes"]
    assert (body["model"], body["tree"]) == (ids["model"], ids["tree"])
    assert (body["n_periods"], body["n_clusters"]) == (N_PERIODS, N_CLUSTERS)
    assert (body["dated"], body["binned"], body["next_cursor"]) == (True, False, None)
    assert [item["label"] for item in body["items"]] == [f"{day}T00:00:00Z" for day in DATES]
    assert [item["n_rows"] for item in body["items"]] == [36] * N_PERIODS
    assert [item["until"] for item in body["items"]] == [None] * N_PERIODS
    for cluster, described in enumerate(body["clusters"]):
        node = nodes[described["node"]]
        assert (described["cluster"], described["name"]) == (cluster, node["name"])
        for name in ("kappa", "kappa_low", "kappa_high"):
            assert described[name] == node[name] == arrays[f"0.{name}"][cluster]
    for t, period in enumerate(body["items"]):
        assert period["period"] == t
        for k, cluster_path in enumerate(period["clusters"]):
            assert cluster_path["cluster"] == k
            assert cluster_path["weight"] == pytest.approx(weights[t, k], abs=1e-6)
            turned = np.rad2deg(np.arccos(np.clip(psi[t, k] @ psi[max(t - 1, 0), k], -1, 1)))
            far = np.rad2deg(np.arccos(np.clip(psi[t, k] @ psi[0, k], -1, 1)))
            assert cluster_path["from_first"] == pytest.approx(far, abs=1e-4)
            if t:
                assert cluster_path["drift"] == pytest.approx(turned, abs=1e-4)
            else:
                assert cluster_path["drift"] is None
            adds = psi[t, k] * (psi[t, k] - weights[t] @ psi[t])
            best = [column for column in np.argsort(-adds)[:5] if adds[column] > 0]
            assert [f["feature"] for f in cluster_path["features"]] == [
                NAMES[column] for column in best
            ]
            assert [f["weight"] for f in cluster_path["features"]] == pytest.approx(
                psi[t, k][best], abs=1e-6
            )


def test_pages_clusters_and_fields(
    working: Working, ids: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = get(working, ids).json()
    listed: list[Any] = []
    address: str | None = f"/v1/models/{ids['model']}/paths?limit=2"
    while address:
        answer = working.client.get(address)
        listed += answer.json()["items"]
        assert len(answer.json()["items"]) <= 2
        address = answer.links.get("next", {}).get("url")
    assert listed == everything["items"]
    # A page holds a bounded number of values of each kind, however many clusters there are.
    monkeypatch.setattr(paths_module, "MOST_ENTRIES", 7)
    page = get(working, ids).json()
    assert (len(page["items"]), page["next_cursor"]) == (2, "2")
    assert get(working, ids, cursor="4").json()["items"] == everything["items"][4:]
    assert get(working, ids, cursor="99").json()["items"] == []
    assert get(working, ids, "csv").text.count("\r\n") == 1 + N_PERIODS * N_CLUSTERS
    part = get(working, ids, clusters="2,0", fields="weight").json()
    assert [described["cluster"] for described in part["clusters"]] == [2, 0]
    assert set(part["clusters"][0]) == {"cluster", "node", "name"}
    assert part["items"][1]["clusters"] == [
        {name: everything["items"][1]["clusters"][k][name] for name in ("cluster", "weight")}
        for k in (2, 0)
    ]


def test_as_csv(working: Working, ids: dict[str, Any]) -> None:
    answer = get(working, ids, "csv")
    assert answer.headers["content-type"].startswith("text/csv")
    table = list(csv.DictReader(io.StringIO(answer.text)))
    items = get(working, ids).json()["items"]
    expected = [(cluster, period) for period in items for cluster in period["clusters"]]
    assert len(table) == len(expected)
    for row, (cluster, period) in zip(table, expected, strict=True):
        assert (row["label"], row["n_rows"]) == (period["label"], "36")
        assert int(row["cluster"]) == cluster["cluster"]
        assert float(row["weight"]) == cluster["weight"]
        assert row["drift"] == ("" if cluster["drift"] is None else str(cluster["drift"]))
        assert float(row["kappa_low"]) < float(row["kappa"]) < float(row["kappa_high"])
        distinctive = "; ".join(f["feature"] for f in cluster["features"])
        assert row["features"].removeprefix("'") == distinctive
        # A spreadsheet must not run a name as a formula.
        assert not row["features"].startswith("=")
        assert not row["name"].startswith("=")
    short = get(working, ids, "csv", fields="drift").text.splitlines()[0]
    assert short == "period,label,until,n_rows,cluster,name,drift"


def test_bins_and_numbers_without_names(working: Working) -> None:
    points, period = rows()
    inputs = {"timestamps": (period + 2000).tolist()}
    job = working.client.post(
        "/v1/jobs",
        json={
            "method": "tvmf",
            "inputs": {"features": points.tolist(), **inputs},
            "params": {"n_clusters": 2, "n_init": 1, "max_iter": 15, "n_periods": 2},
        },
        headers={"Prefer": "wait=60"},
    ).json()
    body = get(working, job["result"]).json()
    assert (body["dated"], body["binned"], body["n_periods"]) == (False, True, 2)
    assert [(item["label"], item["until"]) for item in body["items"]] == [
        ("2000", "2002"),
        ("2002", "2004"),
    ]
    assert [item["n_rows"] for item in body["items"]] == [72, 108]
    assert {cluster["features"] for period in body["items"] for cluster in period["clusters"]} == {
        None
    }


def test_clusters_of_a_hierarchy_over_them(working: Working) -> None:
    ids = fitted(working, then="l2h")["result"]
    body = get(working, ids).json()
    nodes = working.client.get(f"/v1/trees/{ids['tree']}.json").json()["nodes"]
    for cluster in body["clusters"]:
        assert nodes[cluster["node"]]["name"] == cluster["name"] == str(cluster["cluster"])
    assert len({cluster["node"] for cluster in body["clusters"]}) == N_CLUSTERS


def test_pictures(working: Working, ids: dict[str, Any]) -> None:
    picture = get(working, ids, "svg", title="<b>&", theme="dark", clusters="1")
    assert picture.headers["content-type"] == "image/svg+xml"
    texts = [element.text for element in ET.fromstring(picture.content).iter() if element.text]
    assert "<b>&" in texts
    assert "2 others" in texts
    assert '<rect width="1000" height="' in picture.text
    assert 'fill="#14181d"' in picture.text
    drawn = get(working, ids, "png", px=300, height=200)
    assert drawn.headers["content-type"] == "image/png"
    assert drawn.content[16:24] == (300).to_bytes(4, "big") + (200).to_bytes(4, "big")
    by_accept = working.client.get(
        f"/v1/models/{ids['model']}/paths", headers={"Accept": "image/svg+xml"}
    )
    assert by_accept.content == get(working, ids, "svg").content
    assert by_accept.headers["vary"] == "Accept, Accept-Encoding"


def test_an_unchanged_answer_is_not_sent_again(working: Working, ids: dict[str, Any]) -> None:
    address = f"/v1/models/{ids['model']}/paths"
    tags = set()
    for form, query in (("json", ""), ("csv", ""), ("svg", ""), ("svg", "?theme=dark")):
        first = working.client.get(f"{address}.{form}{query}")
        tags.add(first.headers["etag"])
        again = working.client.get(
            f"{address}.{form}{query}", headers={"If-None-Match": first.headers["etag"]}
        )
        assert (again.status_code, again.content) == (304, b"")
        assert first.headers["cache-control"] == "private, no-cache"
    assert len(tags) == 4


def test_paths_that_are_refused(working: Working, ids: dict[str, Any]) -> None:
    points, _ = rows()
    unmoving = working.client.post(
        "/v1/jobs",
        json={"method": "kmeans", "inputs": {"features": points.tolist()}},
        headers={"Prefer": "wait=60"},
    ).json()["result"]
    for form in ("json", "csv", "svg", "png"):
        problem = problem_of(get(working, unmoving, form), 404, "not-found")
        assert "'kmeans' has no paths over time" in problem["detail"]
    problem_of(get(working, ids, "xls"), 406, "not-acceptable")
    for params, message in (
        ({"clusters": "0,7"}, "no cluster 7; the model has 3"),
        ({"clusters": "a"}, "clusters"),
        ({"clusters": "-1"}, "clusters"),
        ({"fields": "weight,length"}, "no field 'length'"),
        ({"limit": 0}, "limit"),
        ({"cursor": "x"}, "cursor"),
        ({"px": 99}, "px"),
        ({"palette": "rainbow"}, "palette"),
    ):
        problem = problem_of(get(working, ids, **params), 422, "invalid-request")
        assert message in problem["detail"], problem
    for strange in ("md_" + "0" * 26, "md_x", ids["tree"]):
        problem_of(get(working, {"model": strange}), 404, "not-found")
    assert working.client.delete(f"/v1/models/{ids['model']}").status_code == 204
    problem_of(get(working, ids), 404, "not-found")


def test_a_tenant_sees_no_other_tenants_paths(working: Working, start: Start) -> None:
    ids = fitted(working)["result"]
    key, line = new_key("other")
    # The same Redis and store, now with keys; the model belongs to the tenant without a key.
    keyed = start(api_keys=(line,))
    for form in ("json", "png"):
        address = f"/v1/models/{ids['model']}/paths.{form}"
        problem_of(keyed.client.get(address), 401, "unauthenticated")
        theirs = keyed.client.get(address, headers={"Authorization": f"Bearer {key}"})
        problem_of(theirs, 404, "not-found")
