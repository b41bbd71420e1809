"""Labels from statements about a tree, and contradictions between these."""

from __future__ import annotations

from typing import Any

import pytest

from app.http.environment_keys import new_key
from app.resources.statements import routes, submission
from tests.app.conftest import Start, Working, problem_of
from tests.app.tree_kit import UNKNOWN, post

#                  0
#        /         |       \
#     1 animal  5 plant    8 stone   (rows 0, 1, 2 | 3, 4 | 5)
#    /   |  \     /  \
#  2 cat 3  4   6     7
#   0    1  2   3     4        5
NEWICK = "((cat:1,dog:1,cow:1)animal:1,(oak:1,elm:1)plant:1,stone:2)all;"


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return post(working, NEWICK, name="things")


def label(working: Working, tree: dict[str, Any], *statements: Any, **more: Any) -> Any:
    headers = more.pop("headers", {})
    body = {"statements": list(statements), **more}
    return working.client.post(f"/v1/trees/{tree['id']}/labels", json=body, headers=headers)


def labels_of(working: Working, answer: Any) -> list[str | None]:
    assert answer.status_code == 201, answer.text
    content = working.client.get(f"/v1/datasets/{answer.json()['id']}/content")
    return list(content.json())


def test_the_labels_are_a_dataset_that_remembers_the_statements(
    working: Working, tree: dict[str, Any]
) -> None:
    statements = [{"known": 1, "name": "animal"}, {"together": [6, {"rows": [5]}]}]
    answer = label(working, tree, *statements)
    assert labels_of(working, answer) == ["animal"] * 3 + ["cluster 1", None, "cluster 1"]
    body = answer.json()
    assert answer.headers["location"].endswith(f"/v1/datasets/{body['id']}")
    assert (body["name"], body["role"], body["status"]) == ("things, known", "labels", "ready")
    assert (body["format"], body["shape"], body["dtype"]) == ("json", [6], "str")
    assert body["tree"] == tree["id"]
    assert working.client.get(f"/v1/datasets/{body['id']}").json() == body
    kept = working.client.get(f"/v1/datasets/{body['id']}/statements").json()
    assert kept.pop("next_cursor") is None
    assert kept.pop("count") is None
    assert kept == {"tree": tree["id"], "items": statements}
    only = working.client.get(f"/v1/datasets/{body['id']}/statements?kind=together&limit=1").json()
    assert only["items"] == statements[1:]
    assert working.client.delete(f"/v1/datasets/{body['id']}").status_code == 204
    problem_of(working.client.get(f"/v1/datasets/{body['id']}/statements"), 404, "not-found")
    folder = f"/{body['id']}/"
    assert not [key for key in working.service.blobs.keys("") if folder in key]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        # Two nodes that are one; one of them inside a known one is known with it.
        ([{"known": 1, "name": "a"}, {"together": [2, 8]}], ["a", "a", "a", None, None, "a"]),
        # One name is one cluster.
        ([{"known": 2, "name": "a"}, {"known": 7, "name": "a"}], ["a", *3 * [None], "a", None]),
        # Nodes apart are known, and what is known inside another one under its name is no more.
        (
            [{"apart": [1, 5]}, {"known": 3, "name": "dog"}],
            ["dog", "dog", "dog", "cluster 1", "cluster 1", None],
        ),
        ([{"together": [5], "name": "p"}, {"together": [5, 6]}], [*3 * [None], "p", "p", None]),
        ([{"apart": [2, 3, {"rows": [5]}]}], ["cluster 1", "cluster 2", *3 * [None], "cluster 3"]),
        ([{"known": {"rows": [4, 0, 0]}, "name": "-1"}], ["-1", *3 * [None], "-1", None]),
    ],
)
def test_what_statements_make(
    working: Working, tree: dict[str, Any], statements: Any, expected: list[str | None]
) -> None:
    assert labels_of(working, label(working, tree, *statements)) == expected


@pytest.mark.parametrize(
    ("statements", "places", "rows", "detail"),
    [
        (
            [{"known": 1, "name": "a"}, {"known": 5, "name": "b"}, {"known": 3, "name": "b"}],
            [0, 2],
            [1],
            "Statement 0 (node 1 is 'a') contradicts statement 2 (node 3 is 'b'): row(s) 1 in "
            "common.",
        ),
        (
            [{"known": 1, "name": "a"}, {"known": 5, "name": "b"}, {"together": [2, 6, 7, 8, 8]}],
            [0, 2, 1],
            [0, 3, 4],
            "Statement 0 (node 1 is 'a') contradicts statements 2 (node 2, node 6, node 7 and 2 "
            "more are one) and 1 (node 5 is 'b'): row(s) 0, 3 and 4 in common.",
        ),
        (
            [{"apart": [1, 5]}, {"together": [0]}],
            [0, 1],
            [0, 1, 2, 3, 4],
            "Statement 0 (node 1 and node 5 are apart) contradicts statement 1 (node 0 is one "
            "cluster): 5 rows, such as 0, 1 and 2, in common.",
        ),
        (
            [{"apart": [1, {"rows": [2]}]}],
            [0],
            [2],
            "Statement 0 (node 1 and 1 row(s) are apart) contradicts itself: row(s) 2 in common.",
        ),
        (
            [
                {"known": 2, "name": "a"},
                {"known": 6, "name": "a"},
                {"apart": [{"rows": [0]}, {"rows": [3]}]},
            ],
            [2, 0, 1],
            [0, 3],
            "Statement 2 (1 row(s) and 1 row(s) are apart) contradicts statements 0 (node 2 is "
            "'a') and 1 (node 6 is 'a'): row(s) 0 and 3 in common.",
        ),
    ],
)
def test_contradictions_are_listed(
    working: Working,
    tree: dict[str, Any],
    statements: Any,
    places: list[int],
    rows: list[int],
    detail: str,
) -> None:
    body = problem_of(label(working, tree, *statements), 422, "contradiction")
    assert body["detail"] == detail
    expected = {"statements": places, "detail": detail, "n_rows": len(rows), "rows": rows}
    assert body["contradictions"] == [expected]
    assert body["n_contradictions"] == 1
    assert [error["pointer"] for error in body["errors"]] == [f"/statements/{at}" for at in places]
    assert working.client.get("/v1/datasets").json()["items"] == []


def test_every_contradiction_is_counted(working: Working, tree: dict[str, Any]) -> None:
    body = problem_of(
        label(
            working, tree, {"known": 1, "name": "a"}, {"known": 2, "name": "b"}, {"apart": [0, 6]}
        ),
        422,
        "contradiction",
    )
    assert [each["statements"] for each in body["contradictions"]] == [[0, 1], [2]]
    assert body["n_contradictions"] == 2
    assert body["detail"].endswith("There are 2 contradictions in all.")


@pytest.mark.parametrize(
    ("statement", "code", "pointer"),
    [
        ({"known": 9, "name": "a"}, "wrong-input", "/statements/0/known"),
        ({"together": [1, {"rows": [6]}]}, "wrong-input", "/statements/0/together/1/rows"),
        ({"known": 1}, "invalid-request", "/statements/0"),
        ({"known": 1, "name": " "}, "invalid-request", "/statements/0"),
        ({"known": 1, "apart": [1, 2], "name": "a"}, "invalid-request", "/statements/0"),
        ({"apart": [1, 2], "name": "a"}, "invalid-request", "/statements/0"),
        ({"apart": [1]}, "invalid-request", "/statements/0/apart"),
        ({"name": "a"}, "invalid-request", "/statements/0"),
        ({"known": True, "name": "a"}, "invalid-request", None),
        ({"known": -1, "name": "a"}, "invalid-request", None),
        ({"known": {"rows": []}, "name": "a"}, "invalid-request", None),
        ({"known": 1, "name": "a", "who": 1}, "invalid-request", "/statements/0/who"),
    ],
)
def test_what_is_no_statement(
    working: Working, tree: dict[str, Any], statement: Any, code: str, pointer: str | None
) -> None:
    body = problem_of(label(working, tree, statement), 422, code)
    if pointer is not None:
        assert body["errors"][0]["pointer"] == pointer


def test_a_name_that_is_no_text(working: Working, tree: dict[str, Any]) -> None:
    body = b'{"statements": [{"known": 1, "name": "\\ud800"}]}'
    answer = working.client.post(
        f"/v1/trees/{tree['id']}/labels", content=body, headers={"Content-Type": "application/json"}
    )
    problem_of(answer, 422, "invalid-request")


def test_statements_that_name_too_many_rows(
    working: Working, tree: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission, "MOST_ROWS", 8)
    body = problem_of(
        label(working, tree, {"together": [0]}, {"together": [1]}), 422, "wrong-input"
    )
    assert "up to number 1" in body["detail"]


def test_no_statement_and_no_tree(working: Working, tree: dict[str, Any]) -> None:
    problem_of(label(working, tree), 422, "invalid-request")
    problem_of(label(working, {"id": UNKNOWN}, {"together": [0]}), 404, "not-found")
    plain = working.client.post("/v1/datasets", json=["a", "b"]).json()
    assert plain["tree"] is None
    problem_of(working.client.get(f"/v1/datasets/{plain['id']}/statements"), 404, "not-found")


def test_the_same_key_makes_one_dataset(working: Working, tree: dict[str, Any]) -> None:
    statement, headers = {"together": [1]}, {"Idempotency-Key": "a"}
    first = label(working, tree, statement, headers=headers)
    again = label(working, tree, statement, headers=headers)
    assert first.json() == again.json()
    assert again.headers["idempotent-replayed"] == "true"
    other = label(working, tree, {"together": [2]}, headers=headers)
    problem_of(other, 422, "idempotency-mismatch")


def test_another_tenants_tree_is_not_there(
    working: Working, tree: dict[str, Any], start: Start
) -> None:
    made = label(working, tree, {"together": [1]}).json()["id"]
    key, line = new_key("other")
    client, headers = start(api_keys=(line,)).client, {"Authorization": f"Bearer {key}"}
    body = {"statements": [{"together": [1]}]}
    answer = client.post(f"/v1/trees/{tree['id']}/labels", json=body, headers=headers)
    problem_of(answer, 404, "not-found")
    problem_of(client.get(f"/v1/datasets/{made}/statements", headers=headers), 404, "not-found")


def test_long_labels_are_json_lines(
    working: Working, tree: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MAX_JSON", 20)
    answer = label(working, tree, {"known": 1, "name": 'a "b"\n'}).json()
    assert answer["format"] == "jsonl"
    content = working.client.get(f"/v1/datasets/{answer['id']}/content").text
    assert content == '"a \\"b\\"\\n"\n' * 3 + "null\n" * 3


def test_a_method_learns_from_them(working: Working) -> None:
    features = [[0.0, 9.0], [1.0, 0.0], [0.5, 5.0], [9.0, 0.0], [8.0, 8.0], [9.5, 3.0]] + [
        [20.0 + at % 2, 1.0 * at] for at in range(6)
    ]
    body: dict[str, Any] = {"method": "hac", "inputs": {"features": features}}
    wait = {"Prefer": "wait=60"}
    tree = working.client.post("/v1/jobs", json=body, headers=wait).json()["result"]["tree"]
    statement = {"apart": [{"rows": [0, 1, 2]}, {"rows": [3, 4, 5]}]}
    labels = label(
        working, {"id": tree}, statement, {"known": {"rows": [0]}, "name": "left"}
    ).json()
    body = {
        "method": "fda",
        "inputs": {"features": features, "labels": labels["id"]},
        "params": {"n_clusters": 1, "n_init": 2},
    }
    job = working.client.post("/v1/jobs", json=body, headers=wait).json()
    assert job["status"] == "succeeded", job
    made = working.client.get(f"/v1/trees/{job['result']['tree']}").json()
    assert [node["name"] for node in made["nodes"][1:]] == ["cluster 1", "left", "new 1"]
    assert [node["size"] for node in made["nodes"][1:]] == [3, 3, 6]


def test_pairs_and_none_at_all_in_a_job(working: Working) -> None:
    features = [[float(at), at % 3.0] for at in range(12)]
    body: dict[str, Any] = {"method": "fda", "inputs": {"features": features}}
    answer = problem_of(working.client.post("/v1/jobs", json=body), 422, "wrong-input")
    assert "at least one of the inputs 'labels', 'must_link'" in answer["detail"]
    body["inputs"]["must_link"] = [[0, 1], ["a", 2]]
    answer = problem_of(working.client.post("/v1/jobs", json=body), 422, "wrong-input")
    assert "all text or all numbers" in answer["detail"]
    body["inputs"] |= {"must_link": [[0, 1], [1, 2], [4, 5]], "cannot_link": [[0, 2]]}
    wait = {"Prefer": "wait=60"}
    job = working.client.post("/v1/jobs", json=body, headers=wait).json()
    assert job["status"] == "failed"
    assert "rows 0 and 2 are apart ('cannot_link', pair 0)" in job["error"]["detail"]


def test_an_error_is_where_the_body_has_it(working: Working, tree: dict[str, Any]) -> None:
    errors = label(working, tree, {"known": -1}).json()["errors"]
    assert {entry["pointer"] for entry in errors} == {"/statements/0/known"}
