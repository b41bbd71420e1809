"""Namings over HTTP, and forms of trees that show them."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, UNKNOWN, fit, get, post
from tests.workers.phrasing.chat_kit import chatting

FEATURES = [[0.0, 5.0], [0.1, 5.1], [0.2, 5.0], [9.0, 5.1], [9.1, 5.0], [9.2, 5.1]]
DOCUMENTS = [
    *("goal goal league", "goal striker league", "league goal"),
    *("atom atom quark", "quark atom lepton", "quark atom"),
]
ITEMS = ["match", "cup", "derby", "proton", "muon", "gluon"]


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    """Rows 0 to 2, and 3 to 5, below the root."""
    return fit(working, "hac", {"features": FEATURES}, params={"linkage": "average"})


def name(working: Working, tree: dict[str, Any], **body: Any) -> Any:
    return working.client.post(
        f"/v1/trees/{tree['id']}/namings", json=body, headers={"Prefer": "wait=60"}
    )


def halves(working: Working, tree: dict[str, Any], naming: dict[str, Any]) -> dict[int, str]:
    """The names of the two children of the root, by the smallest row below."""
    names = working.client.get(f"/v1/namings/{naming['id']}/names").json()["items"]
    of_node = {item["node"]: item["name"] for item in names}
    children = [node for node in tree["nodes"] if node["parent"] == 0]
    below = {}
    for child in children:
        waiting, leaves = [child["id"]], []
        while waiting:
            at = waiting.pop()
            own = [node["id"] for node in tree["nodes"] if node["parent"] == at]
            waiting += own
            leaves += [] if own else [int(tree["nodes"][at]["name"])]
        below[min(leaves)] = of_node[child["id"]]
    return below


def test_names_by_terms_items_features_and_labels(working: Working, tree: dict[str, Any]) -> None:
    made = name(working, tree, by="terms", inputs={"documents": DOCUMENTS}, name="words")
    assert made.status_code == 201, made.text
    body = made.json()
    assert body["id"].startswith("nm_")
    assert made.headers["location"].endswith(f"/v1/namings/{body['id']}")
    assert body["tree"] == tree["id"]
    assert body["result"]["sent"] is None
    assert halves(working, tree, body) == {0: "goal, league", 3: "atom, quark"}
    routed = body["result"]["routed"]
    assert 0 <= routed["low"] <= routed["share"] <= routed["high"] <= 1
    assert routed["n_rows"] == 6
    listed = working.client.get("/v1/namings", params={"name": "words"}).json()["items"]
    assert [each["id"] for each in listed] == [body["id"]]
    job = working.client.get(f"/v1/jobs/{body['job']}").json()
    assert job["result"] == {"tree": tree["id"], "naming": body["id"]}

    # The features of the fit are used.
    body = name(working, tree, by="items", inputs={"names": ITEMS}).json()
    found = halves(working, tree, body)
    assert {frozenset(text.split(", ")) for text in found.values()} == {
        frozenset(ITEMS[:3]),
        frozenset(ITEMS[3:]),
    }
    assert found[0].startswith("cup")
    body = name(working, tree, by="features", inputs={"feature_names": ["speed", "mass"]}).json()
    assert {0: "low speed", 3: "high speed"}.items() <= {
        row: text.partition(", ")[0] for row, text in halves(working, tree, body).items()
    }.items()
    body = name(working, tree, by="labels", inputs={"labels": ["a", "a", "b", *"ccc"]}).json()
    assert body["result"]["routed"] is None
    assert halves(working, tree, body) == {0: "a (66%)", 3: "c"}
    csv = working.client.get(f"/v1/namings/{body['id']}/names.csv").text
    assert csv.startswith("node,parent,size,name,by,evidence,n_routed,routed,question,answered\r\n")

    plain = get(working, tree, ".nwk").text
    shown = get(working, tree, ".nwk", params={"names": body["id"]})
    assert "'a (66%)'" in shown.text
    assert "c" in shown.text
    assert "'a (66%)'" not in plain
    nodes = get(working, tree, ".json", params={"names": body["id"]}).json()["nodes"]
    assert {node["name"] for node in nodes if node["parent"] == 0} == {"a (66%)", "c"}
    svg = get(working, tree, ".svg", params={"names": body["id"], "shape": "icicle"}).text
    assert "a (66%)" in svg
    for own, params in ((True, {}), (False, {"names": body["id"]})):
        view = get(working, tree, "/view", params=params).json()["nodes"]
        hits = get(working, tree, "/search", params={"q": "a (", **params}).json()["items"]
        cut = get(working, tree, "/cut", params={"k": 2, **params}).json()["clusters"]
        named = next((node["id"] for node in view if node["name"] == "a (66%)"), None)
        assert [hit["node"] for hit in hits] == ([] if own else [named])
        assert ({each["name"] for each in cut} == {"a (66%)", "c"}) is not own
        assert (named is None) is own
        if not own:
            node = get(working, tree, f"/nodes/{named}", params=params).json()
            assert node["name"] == "a (66%)"
    assert working.client.delete(f"/v1/namings/{body['id']}").status_code == 204
    gone = get(working, tree, ".nwk", params={"names": body["id"]})
    problem_of(gone, 422, "unknown-input")


def test_a_question_tells_a_node_from_its_siblings(working: Working, tree: dict[str, Any]) -> None:
    """In the table of names, and in forms of the tree that show the naming."""
    for body, questions in (
        ({"by": "terms", "inputs": {"documents": DOCUMENTS}}, {"mentions goal?", "mentions atom?"}),
        ({"by": "features", "inputs": {"feature_names": ["speed", "mass"]}},
         {"speed over 5?", "speed under 5?"}),
        ({"by": "labels", "inputs": {"labels": list("aaabbb")}}, {None}),
    ):  # fmt: skip
        made = name(working, tree, **body).json()
        rows = working.client.get(f"/v1/namings/{made['id']}/names").json()["items"]
        halves = [row for row in rows if row["parent"] == 0]
        assert {row["question"] for row in halves} == questions
        answered = made["result"]["answered"]
        assert (answered is None) == (None in questions)
        node = get(working, tree, f"/nodes/{halves[0]['node']}", params={"names": made["id"]})
        assert node.json().get("question") == halves[0]["question"]


def test_an_imported_tree_and_names_that_stay(working: Working) -> None:
    tree = post(working, NEWICK)
    body = name(working, tree, by="labels", inputs={"labels": ["soft", "soft", "hard"]}).json()
    text = get(working, tree, ".nwk", params={"names": body["id"]}).text
    assert text == "((rose:1.0,tulip:2.0)soft:1.0,oak:3.0)'soft (66%)';\n"


def test_what_cannot_be_named(working: Working, tree: dict[str, Any]) -> None:
    few = ["a", "b"]
    wrong: list[tuple[dict[str, Any], str, str]] = [
        ({"by": "model"}, "invalid-request", "UMBEL_NAMING_URL"),
        ({"by": "terms"}, "wrong-input", "needs the input 'feature_names'"),
        ({"by": "labels"}, "wrong-input", "needs the input 'labels'"),
        ({"by": "labels", "inputs": {"labels": few}}, "wrong-shape", "the tree has 6"),
        ({"by": "items", "inputs": {"names": few}}, "wrong-shape", "the tree has 6"),
        ({"by": "features", "inputs": {"logits": [[1.0]]}}, "wrong-input", "'logits'"),
        ({"by": "features", "inputs": {"feature_names": few * 2}}, "wrong-shape", "4 names"),
        ({"by": "labels", "evidence": "terms"}, "invalid-request", "by` model"),
        ({"by": "taste"}, "invalid-request", "by"),
        ({"by": "labels", "n_clusters": 1}, "invalid-request", "n_clusters"),
        ({}, "invalid-request", "by"),
    ]
    for body, code, detail in wrong:
        assert detail in problem_of(name(working, tree, **body), 422, code)["detail"], body
    problem_of(name(working, {"id": UNKNOWN}, by="labels"), 404, "not-found")
    for unknown in ("nm_" + "0" * 26, "nm_x", tree["id"]):
        problem_of(working.client.get(f"/v1/namings/{unknown}"), 404, "not-found")
        problem_of(working.client.get(f"/v1/namings/{unknown}/names"), 404, "not-found")
        for form in (".nwk", "/view", "/cut", "/nodes/0", "/search"):
            params = {"names": unknown} | ({"q": "a"} if form == "/search" else {})
            answer = get(working, tree, form, params=params)
            problem_of(answer, 422, "unknown-input")
    assert not working.client.get("/v1/usage").json()["phrases"]
    other = post(working, NEWICK)
    naming = name(working, other, by="labels", inputs={"labels": ["a", "a", "b"]}).json()
    answer = get(working, tree, ".nwk", params={"names": naming["id"]})
    assert "is of tree" in problem_of(answer, 422, "wrong-input")["detail"]


def test_names_by_a_language_model(working: Working, tree: dict[str, Any]) -> None:
    settings = working.service.settings
    with chatting(lambda evidence: f"about {evidence[:4]}") as chat:
        changed = {
            "naming_url": chat.url,
            "naming_model": "small",
            "webhook_allow": (ip_network("127.0.0.0/8"),),
        }
        object.__setattr__(working.service, "settings", settings.model_copy(update=changed))
        body = {"by": "model", "evidence": "terms", "inputs": {"documents": DOCUMENTS}}
        made = name(working, tree, **body)
        assert made.status_code == 201, made.text
        assert working.client.get("/v1/usage").json()["phrases"]
        result = made.json()["result"]
        assert result["sent"]["to"] == f"127.0.0.1:{chat.receiver.port}"
        assert "terms" in result["sent"]["what"]
        assert halves(working, tree, made.json()) == {0: "about goal", 3: "about atom"}
        # Questions answered before are not sent again.
        again = name(working, tree, **body).json()["result"]["sent"]
        assert (again["n_nodes"], again["n_kept"]) == (0, result["sent"]["n_nodes"])
        assert len(chat.questions) == 1
        # A question that is not answered leaves the names that there are.
        chat.next(500)
        labels = {"by": "model", "evidence": "labels", "inputs": {"labels": ITEMS}}
        failed = name(working, tree, **labels).json()
        assert "named by labels. It answered with HTTP 500" in failed["warnings"][-1]
        assert halves(working, tree, failed)[0].endswith("(33%)")
