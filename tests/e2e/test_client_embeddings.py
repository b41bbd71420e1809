"""Texts and images embedded by the client and by the command line, with an endpoint beside it.

Last comes kill -9 of the worker that embeds, between two answers of the endpoint.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import numpy as np
import pytest

from app.cli import main
from tests.e2e.conftest import Service, running
from tests.workers.embedding.endpoint_kit import WIDTH, EmbeddingServer, embedding, vector
from umbel_client import InputError, ProblemError, Umbel, UmbelWarning

TEXTS = [
    *("red fox in the forest", "fox and wolf in the forest", "grey wolf in the forest"),
    *("whale in the deep sea", "shark and whale at sea", "shark in the deep sea"),
]


def png(width: int) -> bytes:
    """A black picture of one row."""
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, 1, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(bytes(width + 1))),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


IMAGES = {"fox.png": png(2), "whale.png": png(3)}


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingServer]:
    with embedding() as server:
        yield server


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, server: EmbeddingServer) -> Iterator[Service]:
    settings = {
        "UMBEL_EMBEDDING_URL": server.url,
        "UMBEL_EMBEDDING_MODEL": "small",
        "UMBEL_EMBEDDING_IMAGE_MODEL": "clip",
        # A request for each text: the worker is killed between two of them.
        "UMBEL_EMBEDDING_BATCH": "1",
        "UMBEL_WEBHOOK_ALLOW": "127.0.0.0/8",
        "UMBEL_LEASE_S": "15",
    }
    folder = tmp_path_factory.mktemp("service") / "data"
    with running(folder, workers=1, **settings) as service:
        yield service


@pytest.fixture
def umbel(service: Service) -> Iterator[Umbel]:
    with Umbel(service.url) as umbel:
        yield umbel


def test_texts_of_every_kind(umbel: Umbel, tmp_path: Path) -> None:
    vectors = [vector(text) for text in TEXTS]
    rows = [{"number": f"n{at}", "review": text, "x": at} for at, text in enumerate(TEXTS)]
    path = tmp_path / "texts.csv"
    path.write_text("\n".join(["number,review", *(f"n{at},{t}" for at, t in enumerate(TEXTS))]))
    table = {"id_column": "number", "text_column": "review"}
    ids = [f"n{at}" for at in range(len(TEXTS))]
    for content, options, known in (
        (TEXTS, {}, None),
        (np.array(TEXTS), {}, None),
        (rows, table, ids),
        ({name: [row[name] for row in rows] for name in rows[0]}, table, ids),
        (path, table, ids),
    ):
        dataset = umbel.embed(content, name="tales", tags=["t"], **options)
        np.testing.assert_array_equal(dataset.array(), np.float32(vectors))
        assert dataset.ids() == known
        assert (dataset.body["name"], dataset.body["tags"]) == ("tales", ["t"])
    stored = umbel.upload(path, role="documents", **table)
    for content in (stored, stored.id):
        assert umbel.embed(content).ids() == ids
    tree = umbel.run("hac", features=dataset)
    assert tree.name_nodes("terms", documents=dataset).nodes


def test_frames(umbel: Umbel) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS}, index=[f"t{at}" for at in range(len(TEXTS))])
    dataset = umbel.embed(frame)
    assert dataset.ids() == list(frame.index)
    with pytest.raises(InputError, match="numbers alone"):
        umbel.embed(pandas.DataFrame(np.ones((3, 2))))


def test_images_of_a_zip_and_of_a_folder(
    umbel: Umbel, server: EmbeddingServer, tmp_path: Path
) -> None:
    folder = tmp_path / "pictures"
    (folder / "more").mkdir(parents=True)
    (folder / "notes.txt").write_text("no image")
    for name, content in IMAGES.items():
        (folder / "more" / name).write_bytes(content)
    with zipfile.ZipFile(tmp_path / "pictures.zip", "w") as archive:
        for name, content in IMAGES.items():
            archive.writestr(name, content)
    zipped = umbel.embed(tmp_path / "pictures.zip")
    assert zipped.ids() == list(IMAGES)
    assert zipped.dimensions == (2, WIDTH)
    with pytest.warns(UmbelWarning, match="1 other files in .* such as 'notes.txt'"):
        found = umbel.embed(folder).ids()
    assert found is not None
    assert [Path(name).name for name in found] == list(IMAGES)
    assert server.receiver.requests[-1].content["model"] == "clip"
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="there are no images"):
        umbel.embed(tmp_path / "none")


def test_texts_of_a_zip_and_of_a_folder(umbel: Umbel, tmp_path: Path) -> None:
    folder = tmp_path / "tales"
    (folder / "sea").mkdir(parents=True)
    names = [f"{'sea/' if 'sea' in text else ''}{at}.txt" for at, text in enumerate(TEXTS)]
    for name, text in zip(names, TEXTS, strict=True):
        (folder / name).write_text(text)
    (folder / ".hidden").mkdir()
    with zipfile.ZipFile(tmp_path / "tales.zip", "w") as archive:
        for name, text in zip(names, TEXTS, strict=True):
            archive.writestr(name, text)
    for content in (folder, tmp_path / "tales.zip"):
        dataset = umbel.embed(content)
        assert dataset.ids() == names
        np.testing.assert_array_equal(dataset.array(), np.float32(list(map(vector, TEXTS))))
    (folder / "sea" / "6").write_text(" ")
    with pytest.raises(InputError, match="'sea/6' is blank"):
        umbel.embed(folder)


def test_what_is_refused(umbel: Umbel, server: EmbeddingServer) -> None:
    with pytest.raises(InputError, match="it is a list: leave out text_column"):
        umbel.embed(TEXTS, text_column="review")
    with pytest.raises(ProblemError, match="blank"):
        umbel.embed(["a", " "])
    server.next(401)
    with pytest.raises(ProblemError, match="HTTP 401"):
        umbel.embed(["refused"])


Call = Callable[..., tuple[str, str]]


@pytest.fixture
def call(
    service: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Call:
    """Runs a command; gives its standard output and error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UMBEL_URL", service.url)

    def called(*arguments: str, status: int = 0) -> tuple[str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        output, error = capsys.readouterr()
        assert ended.value.code == status, error
        return output, error

    return called


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("texts.csv", "\n".join(["text", *TEXTS])),
        ("texts.txt", "\n".join(TEXTS)),
        ("texts.json", json.dumps(TEXTS)),
        ("texts.jsonl", "\n".join(json.dumps({"text": text}) for text in TEXTS)),
    ],
)
def test_one_line_from_texts_to_a_named_tree_and_a_map(call: Call, name: str, content: str) -> None:
    Path(name).write_text(content)
    files = ("--map", "map.svg", "--out", "tree.json", "--out", "a.npy", "--cut", "k=2")
    call("run", "hac", name, "--embed", "--linkage", "ward", *files)
    nodes = json.loads(Path("tree.json").read_text())["nodes"]
    names = " ".join(node["name"] or "" for node in nodes)
    # The two subtrees of the root: the forest's three texts, the sea's three.
    assert "forest" in names
    assert "sea" in names
    clusters = np.load("a.npy").ravel().tolist()
    assert len(set(clusters[:3])) == len(set(clusters[3:])) == 1
    assert clusters[0] != clusters[3]
    assert "6 points by pca" in Path("map.svg").read_text()


def test_a_tree_on_the_terminal(call: Call) -> None:
    Path("texts.txt").write_text("\n".join(TEXTS))
    output, _ = call("run", "hac", "texts.txt", "--embed")
    assert "forest" in output


def test_commands_that_are_refused(call: Call) -> None:
    Path("texts.txt").write_text("\n".join(TEXTS))
    for arguments, why in (
        (("hac", "--embed"), "one file of texts"),
        (("hac", "texts.txt", "--features", "texts.txt", "--embed"), "not 2"),
        (("l2h", "texts.txt", "--embed"), "takes logits"),
        (("hac", "texts.txt", "--embed", "--map", "map.doc"), "accepted are"),
        (("hac", "texts.txt", "--embed", "--map-by", "umap"), "give that too"),
    ):
        _, error = call("run", *arguments, status=2)
        assert why in error


def test_after_a_kill_the_next_attempt_sends_only_what_is_missing(
    service: Service, umbel: Umbel, server: EmbeddingServer
) -> None:
    def kill(request: BaseHTTPRequestHandler) -> None:
        for worker in service.workers():
            worker.kill()

    def first(request: BaseHTTPRequestHandler) -> None:
        server._answer(request)

    texts = ["a red fox", "a grey wolf", "the sea", "the deep sea"]
    n_sent, n_datasets = len(server.batches), len(umbel.datasets())
    server.next(first, first, kill)
    body = {"inputs": {"documents": texts}}
    accepted = service.client.post("/v1/embeddings", json=body, headers={"Prefer": "wait=0"})
    assert accepted.status_code == 202, accepted.text
    job = service.ended(accepted.json()["id"])
    assert (job["status"], job["attempt"]) == ("succeeded", 2), job
    assert server.batches[n_sent:] == [[text] for text in [*texts[:3], *texts[2:]]]
    dataset = umbel.dataset(job["result"]["dataset"])
    assert dataset.array().tolist() == [vector(text) for text in texts]
    assert len(umbel.datasets()) == n_datasets + 1
