"""Nodes found by meaning, by a local server of embeddings."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.app.callers_kit import as_caller
from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import UNKNOWN, get, post
from tests.workers.embedding.endpoint_kit import EmbeddingServer, embedding, vector
from tests.workers.embedding.onnx_kit import described, model_folder, stand_ins
from workers.artifacts.keys import Keys
from workers.embedding import meaning

# all animals - wild foxes - red fox, grey fox
#             - of the sea - grey whale, 7
ANIMALS = (
    "(('red fox':1,'grey fox':1)'wild foxes':1,('grey whale':1,7:1)'of the sea':1)'all animals';"
)
NAMES = ["all animals", "wild foxes", "of the sea", "red fox", "grey fox", "grey whale"]


def change(working: Working, **changed: Any) -> None:
    settings = working.service.settings.model_copy(update=changed)
    object.__setattr__(working.service, "settings", settings)


@pytest.fixture
def server(working: Working) -> Iterator[EmbeddingServer]:
    with embedding() as server:
        own = (ip_network("127.0.0.0/8"),)
        change(working, embedding_url=server.url, embedding_model="small", webhook_allow=own)
        yield server


@pytest.fixture
def tree(working: Working) -> dict[str, Any]:
    return post(working, ANIMALS)


def search(working: Working, tree: dict[str, Any], q: str, **query: Any) -> Any:
    return get(working, tree, "/search", params={"q": q, "by": "meaning", **query})


def cosine(text: str, question: str) -> float:
    """The definition, over the server's vectors."""
    a, b = np.array(vector(text)), np.array(vector(question))
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def test_the_nearest_by_cosine_come_first(
    working: Working, server: EmbeddingServer, tree: dict[str, Any]
) -> None:
    answer = search(working, tree, "fox red")
    assert answer.status_code == 200, answer.text
    hits = answer.json()["items"]
    assert (hits[0]["name"], hits[0]["text"]) == ("red fox", "red fox")
    assert hits[0]["path"][-1] == hits[0]["node"]
    assert sorted(hit["name"] for hit in hits) == sorted(NAMES), "a number has no meaning"
    for hit in hits:
        assert hit["score"] == pytest.approx(cosine(hit["name"], "fox red"), abs=1e-6)
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)
    sent = answer.json()["sent"]
    assert (sent["n_items"], sent["n_kept"]) == (7, 0)
    assert sent["to"] == f"127.0.0.1:{server.receiver.port}"
    assert search(working, tree, "fox red").json()["sent"]["n_items"] == 0
    assert search(working, tree, "fox").json()["sent"]["n_items"] == 1, "the question alone"


def test_pages_have_each_node_once(
    working: Working, server: EmbeddingServer, tree: dict[str, Any]
) -> None:
    whole = search(working, tree, "grey").json()["items"]
    found: list[Any] = []
    cursor: str | None = "0"
    while cursor is not None:
        answer = search(working, tree, "grey", limit=4, cursor=cursor)
        found += answer.json()["items"]
        cursor = answer.json()["next_cursor"]
        assert ("link" in answer.headers) == (cursor is not None)
    assert found == whole


def test_texts_of_items_lead_to_their_leaf(
    working: Working, server: EmbeddingServer, tree: dict[str, Any]
) -> None:
    notes = ["it lives in dens, deep", "it climbs trees, often", "it sings below ice", None]
    rows = [{"note": note} for note in notes]
    uploaded = working.client.post("/v1/datasets?role=items", json=rows)
    attached = working.client.post(
        f"/v1/trees/{tree['id']}/attachments",
        json={"items": uploaded.json()["id"]},
        headers={"Prefer": "wait=60"},
    )
    assert attached.status_code == 201, attached.text
    own = attached.json()["id"]
    hit = search(working, tree, "below ice it sings", items=own).json()["items"][0]
    assert (hit["name"], hit["text"]) == ("grey whale", notes[2])
    answer = search(working, tree, "fox", items="at_" + "0" * 26)
    assert "has no attachment" in problem_of(answer, 422, "unknown-input")["detail"]
    named = get(working, tree, "/search", params={"q": "fox", "items": own})
    assert "by=meaning" in problem_of(named, 422, "invalid-request")["detail"]


def test_by_a_model_in_a_folder(
    working: Working, tree: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{stand_ins(tmp_path)}:{':'.join(sys.path)}")
    monkeypatch.setattr(meaning, "PATIENCE_S", 120.0)
    folder = model_folder(tmp_path / "small", described())
    change(working, embedding_model=str(folder))
    answer = search(working, tree, "red fox")
    assert answer.status_code == 200, answer.text
    first, second = answer.json()["items"][:2]
    assert (first["name"], first["score"]) == ("red fox", pytest.approx(1.0))
    assert second["score"] < 1.0
    assert answer.json()["sent"]["to"] == "this service"
    (folder / "model.onnx").unlink()
    failed = problem_of(search(working, tree, "sea"), 422, "not-embedded")
    assert "no file model.onnx" in failed["detail"]


def test_without_an_embedder_it_is_off(working: Working, tree: dict[str, Any]) -> None:
    detail = problem_of(search(working, tree, "fox"), 422, "invalid-request")["detail"]
    assert "UMBEL_EMBEDDING_URL" in detail
    assert get(working, tree, "/search", params={"q": "fox"}).json()["items"]


def test_what_a_wrong_endpoint_answers_is_a_sentence(
    working: Working, server: EmbeddingServer, tree: dict[str, Any]
) -> None:
    wrong: list[Any] = [{"data": []}, {"data": [{"embedding": ["x"]}]}, b"no JSON", 404]
    for answer in wrong:
        server.next(answer)
        problem_of(search(working, tree, "fox"), 422, "not-embedded")
    server.next({"data": [{"index": 0, "embedding": [1.0, 2.0]}]})
    detail = problem_of(search(working, tree, "owl"), 422, "not-embedded")["detail"]
    assert "vectors of 2 numbers, and of 8" in detail
    for answer in (429, 503):
        server.next(answer)
        refused = search(working, tree, "deer")
        problem_of(refused, 503, "unavailable")
        assert refused.headers["retry-after"]
    assert search(working, tree, "deer").status_code == 200


def test_a_slow_endpoint_is_left_and_the_next_search_goes_on(
    working: Working,
    server: EmbeddingServer,
    tree: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    change(working, embedding_batch=2, embedding_kept_bytes=0)
    first, second = server._answer, server._answer

    def hang(request: BaseHTTPRequestHandler) -> None:
        server.receiver.hang(request)

    server.next(first, second, hang)
    change(working, embedding_timeout_s=0.5)
    answer = search(working, tree, "fox")
    detail = problem_of(answer, 503, "unavailable")["detail"]
    assert "2 of 6 texts have their vectors" in detail
    change(working, embedding_timeout_s=60.0)
    found = search(working, tree, "fox").json()
    assert len(found["items"]) == 6
    assert found["sent"]["n_items"] == 5, "what was had is not sent again"
    monkeypatch.setattr(meaning, "PATIENCE_S", 0.0)
    assert "search again" in problem_of(search(working, tree, "owl"), 503, "unavailable")["detail"]


def test_bounds(
    working: Working,
    server: EmbeddingServer,
    tree: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(meaning, "MOST_TEXTS", 5)
        detail = problem_of(search(working, tree, "fox"), 422, "invalid-request")["detail"]
        assert detail.startswith("There are 6 different texts to search; by meaning 5 are the most")
    with monkeypatch.context() as patch:
        patch.setattr(meaning, "MOST_BYTES", 100)
        detail = problem_of(search(working, tree, "fox"), 422, "invalid-request")["detail"]
        assert "with vectors of 8 numbers 3 are the most" in detail
    numbers = post(working, "((1:1,2:1):1,3:1);")
    detail = problem_of(search(working, numbers, "fox"), 422, "invalid-request")["detail"]
    assert "No name of this tree has a letter" in detail
    assert search(working, {"id": UNKNOWN}, "fox").status_code == 404


def test_another_tenant_and_a_link_find_nothing(
    working: Working, server: EmbeddingServer, tree: dict[str, Any]
) -> None:
    shared = working.client.post(f"/v1/trees/{tree['id']}/shares", json={}).json()
    path = f"/v1/trees/{tree['id']}/search?q=fox"
    link = {"Authorization": f"Bearer {shared['token']}"}
    assert working.client.get(path, headers=link).status_code == 200
    assert working.client.get(f"{path}&by=meaning", headers=link).status_code == 403
    keys = Keys(working.service.blobs)
    secret = keys.add(tenant="bob", role="write", name="bob")[1]
    portal = working.client.portal
    assert portal is not None
    portal.call(working.service.keyring.load, keys)
    assert as_caller(working.client, secret).get(f"{path}&by=meaning").status_code == 404
    assert server.batches == []
