"""Vectors by an endpoint: what is sent, the bounds, and what a failure leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.workers.embedding.endpoint_kit import WIDTH, EmbeddingServer, embedding, vector
from tests.workers.embedding.outcome_kit import Kept, detail, rows
from workers.artifacts import results
from workers.embedding import vectors as module
from workers.embedding.vectors import Attempt, asks_embedder, embedded
from workers.errors import TransientError
from workers.formats.table_writers import save_arrow
from workers.model import Request, now
from workers.settings import WorkerSettings
from workers.work.job import Outcome

TEXTS = ["a red fox", "a grey wolf", "a red fox", "the sea", "the deep sea"]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding() as server:
        yield server


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSES_S", (0.0, 0.0))


def run(
    server: EmbeddingServer,
    folder: Path,
    texts: list[str] | None = None,
    kept: Kept | None = None,
    attempt: Attempt | None = None,
    **changes: Any,
) -> Outcome:
    settings = WorkerSettings(
        **{
            "embedding_url": server.url,
            "embedding_key": "k3y",
            "embedding_model": "small",
            "embedding_batch": 2,
            "webhook_allow": "127.0.0.0/8",
            **changes.pop("settings", {}),
        }
    )
    request = Request(
        id="job_x",
        tenant=changes.get("tenant", "ada"),
        kind="embed",
        method="embed",
        created_at=now(),
    )
    folder.mkdir(exist_ok=True)
    save_arrow(
        pa.table({"text": pa.array(texts or TEXTS, pa.large_string())}), folder / results.TO_EMBED
    )
    own: Any = kept or Kept()
    outcome = Outcome(result={"dataset": "ds_x", "shape": [], "dtype": "float32"})
    lent = attempt or Attempt(folder.parent)
    return embedded(settings, own, request, outcome, folder, lent)


def test_each_text_has_its_vector_and_equal_ones_are_sent_once(
    server: EmbeddingServer, tmp_path: Path
) -> None:
    found = run(server, tmp_path / "own")
    assert rows(tmp_path / "own") == [vector(text) for text in TEXTS]
    assert server.batches == [["a red fox", "a grey wolf"], ["the sea", "the deep sea"]]
    first = server.receiver.requests[0]
    assert first.path == "/v1/embeddings"
    assert first.headers["authorization"] == "Bearer k3y"
    assert first.content["model"] == "small"
    assert found.result is not None
    assert found.result["shape"] == [5, WIDTH]
    sent = found.result["sent"]
    assert (sent["n_items"], sent["n_kept"], sent["n_bytes"]) == (4, 0, 39)
    assert [path.name for path in (tmp_path / "own").iterdir()] == [results.EMBEDDED_TEXTS]


def test_kept_vectors_are_the_tenants_and_within_bounds(
    server: EmbeddingServer, tmp_path: Path
) -> None:
    kept = Kept()
    run(server, tmp_path / "a", kept=kept)
    run(server, tmp_path / "b", [*TEXTS, "new"], kept=kept)
    assert server.batches[2:] == [["new"]]
    run(server, tmp_path / "c", kept=kept, tenant="bob")
    assert len(server.batches) == 5
    small, none = Kept(), {"embedding_kept_bytes": 10}
    run(server, tmp_path / "d", kept=small, settings=none)
    assert not small.values
    small.fails = True
    run(server, tmp_path / "e", kept=small)
    assert rows(tmp_path / "e") == [vector(text) for text in TEXTS]


def test_a_later_attempt_goes_on_from_the_checkpoint(
    server: EmbeddingServer, tmp_path: Path
) -> None:
    stored = tmp_path / "stored"

    def keep(path: Path) -> None:
        stored.write_bytes(path.read_bytes())
        server.next(503, 503, 503)

    lent = Attempt(tmp_path, every_s=0.0, keep=keep)
    with pytest.raises(TransientError, match="HTTP 503"):
        run(server, tmp_path / "a", attempt=lent)
    n_before = len(server.batches)
    found = run(server, tmp_path / "b", attempt=Attempt(tmp_path, last=stored))
    assert server.batches[n_before:] == [["the sea", "the deep sea"]]
    assert rows(tmp_path / "b") == [vector(text) for text in TEXTS]
    assert found.result is not None
    assert found.result["sent"]["n_kept"] == 2


def test_what_may_pass_is_sent_again(server: EmbeddingServer, tmp_path: Path) -> None:
    server.next(429, 500)
    run(server, tmp_path / "a")
    assert len(server.batches) == 4
    assert rows(tmp_path / "a") == [vector(text) for text in TEXTS]


def _data(*embeddings: Any) -> dict[str, Any]:
    return {"data": [{"index": n, "embedding": each} for n, each in enumerate(embeddings)]}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (401, "HTTP 401"),
        (b"hello", "not that of an endpoint"),
        ({"data": 3}, "not that of an endpoint"),
        (b'{"data":[' + 40_000 * b"{}," + b"{}]}", "not that of an endpoint"),
        (_data([1.0]), "1 vectors for 2 items"),
        (_data([1.0], [2.0, 3.0]), "several widths"),
        (_data([1.0], [float("nan")]), "not a finite number"),
        (_data([1.0], [1e300]), "not a finite number"),
        (_data([1.0], [10**400]), "not a finite number"),
        (_data([1.0], [True]), "not a finite number"),
        (_data([1.0], ["2"]), "not a finite number"),
        (_data([], []), "list of 1 to"),
        (_data([1.0], None), "several widths"),
        ({"data": [{"index": 0, "embedding": [1.0]}] * 2}, "numbered"),
        (_data([1.0], [2.0]), "vectors of 1 numbers, then, from item 2 on, of 8"),
    ],
)
def test_other_answers_are_plain_problems(
    server: EmbeddingServer, tmp_path: Path, answer: Any, why: str
) -> None:
    server.next(answer)
    assert why in detail(run(server, tmp_path / "a"))
    assert list((tmp_path / "a").iterdir()) == []


def test_bounds(server: EmbeddingServer, tmp_path: Path) -> None:
    assert "4 are the most" in detail(run(server, tmp_path / "a", settings={"embedding_items": 4}))
    found = run(server, tmp_path / "b", settings={"embedding_letters": 9})
    assert "2 texts are longer than 9 letters" in found.warnings[0]
    assert server.batches == [["a red fox", "a grey wo"], ["the sea", "the deep "]]
    n_before = len(server.batches)
    run(server, tmp_path / "c", settings={"embedding_batch_bytes": 1})
    assert [len(batch) for batch in server.batches[n_before:]] == [1, 1, 1, 1]
    assert "UMBEL_EMBEDDING_URL" in detail(
        run(server, tmp_path / "d", settings={"embedding_url": ""})
    )


def test_private_addresses_need_leave(server: EmbeddingServer, tmp_path: Path) -> None:
    assert "may not be sent to" in detail(
        run(server, tmp_path / "a", settings={"webhook_allow": ""})
    )
    assert server.batches == []


def test_images_are_sent_as_addresses(server: EmbeddingServer, tmp_path: Path) -> None:
    png = b"\x89PNG\r\n\x1a\n1234"
    settings = WorkerSettings(
        embedding_url=server.url, embedding_image_model="clip", webhook_allow="127.0.0.0/8"
    )
    request = Request(id="job_x", tenant="a", kind="embed", method="embed", created_at=now())
    outcome = Outcome(result={"dataset": "ds_x"})
    columns = {"id": ["1.png"], "image": pa.array([png], pa.large_binary())}
    save_arrow(pa.table(columns), tmp_path / results.TO_EMBED)
    own: Any = Kept()
    embedded(settings, own, request, outcome, tmp_path, Attempt(tmp_path))
    assert server.batches == [["data:image/png;base64,iVBORw0KGgoxMjM0"]]
    assert server.receiver.requests[0].content["model"] == "clip"
    table = pa.ipc.open_file((tmp_path / results.TRANSFORMED_WITH_IDS).read_bytes()).read_all()
    assert table.column("id").to_pylist() == ["1.png"]
    assert np.array(table.column("features").to_pylist()).shape == (1, WIDTH)


def test_where_an_embedder_is_used() -> None:
    request = Request(id="job_x", tenant="a", kind="embed", method="embed", created_at=now())
    assert asks_embedder(request, Outcome())
    assert not asks_embedder(request.model_copy(update={"kind": "fit"}), Outcome())
    assert not asks_embedder(request, Outcome(error={"type": "/problems/x"}))
