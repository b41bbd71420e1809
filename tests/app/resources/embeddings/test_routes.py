"""Texts and images embedded over HTTP, and the tree, names and map of their vectors."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.app.conftest import Working, problem_of
from tests.workers.embedding.endpoint_kit import WIDTH, EmbeddingServer, embedding
from tests.workers.embedding.onnx_kit import (
    described,
    image_folder,
    model_folder,
    stand_ins,
)

TEXTS = ["red fox", "grey fox", "deep sea", "the sea", "grey fox"]


def change(working: Working, **changed: Any) -> None:
    settings = working.service.settings.model_copy(update=changed)
    object.__setattr__(working.service, "settings", settings)


@pytest.fixture
def server(working: Working) -> Iterator[EmbeddingServer]:
    with embedding() as server:
        own = (ip_network("127.0.0.0/8"),)
        change(working, embedding_url=server.url, embedding_model="small", webhook_allow=own)
        yield server


def embed(working: Working, **inputs: Any) -> Any:
    headers = {"Prefer": "wait=60"}
    return working.client.post("/v1/embeddings", json={"inputs": inputs}, headers=headers)


def test_texts_become_a_named_tree(working: Working, server: EmbeddingServer) -> None:
    client = working.client
    assert client.get("/v1/usage").json()["embeds"] == ["documents"]
    csv = "id,text\n" + "".join(f"t{row},{text}\n" for row, text in enumerate(TEXTS))
    media = {"Content-Type": "text/csv"}
    uploaded = client.post("/v1/datasets?name=fox.csv", content=csv, headers=media)
    working.work.join()
    made = embed(working, documents=uploaded.json()["id"])
    assert made.status_code == 201, made.text
    own = made.json()
    assert (own["name"], own["shape"], own["role"]) == ("fox.csv, embedded", [5, WIDTH], "features")
    assert [column["role"] for column in own["columns"]] == ["id", "text", "feature"]
    assert server.batches == [["red fox", "grey fox", "deep sea", "the sea"]]
    (job,) = client.get("/v1/jobs?kind=embed").json()["items"]
    sent = client.get(f"/v1/jobs/{job['id']}").json()["result"]["sent"]
    assert (sent["n_items"], sent["to"]) == (4, f"127.0.0.1:{server.receiver.port}")
    fit = {"method": "hac", "inputs": {"features": own["id"]}}
    fitted = client.post("/v1/jobs", json=fit).json()
    working.work.join()
    tree = client.get(f"/v1/jobs/{fitted['id']}").json()["result"]["tree"]
    terms = {"by": "terms", "inputs": {"documents": own["id"]}}
    naming = client.post(f"/v1/trees/{tree}/namings", json=terms)
    assert naming.status_code == 201, naming.text
    assert naming.json()["result"]["n_named"] > 0
    laid = client.post(f"/v1/trees/{tree}/maps", json={"by": "pca"})
    assert laid.status_code == 201, laid.text


def uploaded_images(working: Working) -> str:
    """The id of a zip of three."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(3):
            image = io.BytesIO()
            Image.new("RGB", (2, 2), (number, 0, 0)).save(image, "png")
            archive.writestr(f"{number}.png", image.getvalue())
    media = {"Content-Type": "application/zip"}
    answer = working.client.post(
        "/v1/datasets?role=items", content=packed.getvalue(), headers=media
    )
    working.work.join()
    return str(answer.json()["id"])


def test_a_zip_of_images(working: Working, server: EmbeddingServer) -> None:
    uploaded = uploaded_images(working)
    answer = embed(working, items=uploaded)
    assert "UMBEL_EMBEDDING_IMAGE_MODEL" in problem_of(answer, 422, "invalid-request")["detail"]
    change(working, embedding_image_model="clip")
    made = embed(working, items=uploaded)
    assert made.status_code == 201, made.text
    assert made.json()["shape"] == [3, WIDTH]
    assert all(item.startswith("data:image/png;base64,") for item in server.batches[0])


def test_what_is_refused(working: Working, server: EmbeddingServer) -> None:
    for inputs in ({}, {"features": [[1.0]]}, {"documents": ["a"], "items": "ds_x"}):
        assert "Either" in problem_of(embed(working, **inputs), 422, "wrong-input")["detail"]
    problem_of(embed(working, documents="ds_01kamjx5w0n5zr4v8cqe2t7h3f"), 422, "unknown-input")
    blank = problem_of(embed(working, documents=["a", " "]), 422, "missing-value")
    assert "row 1" in blank["detail"]
    assert server.batches == []
    server.next({"data": []})
    failed = problem_of(embed(working, documents=["a"]), 422, "not-embedded")
    assert "0 vectors for 1" in failed["detail"]
    change(working, embedding_url="")
    refused = problem_of(embed(working, documents=["a"]), 422, "invalid-request")
    assert "UMBEL_EMBEDDING_URL" in refused["detail"]
    assert working.client.get("/v1/usage").json()["embeds"] == []


def test_models_in_folders(
    working: Working, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{stand_ins(tmp_path)}:{':'.join(sys.path)}")
    change(working, embedding_model=str(model_folder(tmp_path / "small", described())))
    assert working.client.get("/v1/usage").json()["embeds"] == ["documents"]
    made = embed(working, documents=["a red fox", "the sea"])
    assert made.status_code == 201, made.text
    assert made.json()["shape"] == [2, 6]
    images = problem_of(embed(working, items="ds_x"), 422, "invalid-request")
    assert "UMBEL_EMBEDDING_IMAGE_MODEL" in images["detail"]
    folder = image_folder(tmp_path / "seeing", described(inputs=["pixel_values"]))
    change(working, embedding_image_model=str(folder))
    assert working.client.get("/v1/usage").json()["embeds"] == ["documents", "items"]
    seen = embed(working, items=uploaded_images(working))
    assert seen.status_code == 201, seen.text
    assert seen.json()["shape"] == [3, 3]
    (tmp_path / "small" / "model.onnx").unlink()
    failed = problem_of(embed(working, documents=["a red fox"]), 422, "not-embedded")
    assert "no file model.onnx" in failed["detail"]
