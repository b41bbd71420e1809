"""Vectors by a model in a folder: the same job as by an endpoint, and what a folder may lack."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.workers.embedding.onnx_kit import (
    TABLE,
    WORDS,
    described,
    in_onnx,
    model_folder,
    stand_ins,
)
from tests.workers.embedding.outcome_kit import Kept, detail, rows
from workers.artifacts import results
from workers.child.confinement import missing
from workers.embedding.local import LocalEmbedder
from workers.embedding.onnx_session import Unusable, normalized
from workers.embedding.onnx_texts import TextModel, pooled
from workers.embedding.vectors import Attempt, embedded
from workers.formats.table_writers import save_arrow
from workers.model import Request, now
from workers.settings import WorkerSettings
from workers.webhooks.questions import NotAnswered
from workers.work.job import Outcome

TEXTS = ["a red fox", "a grey wolf", "a red fox", "the sea", "red"]
Make = Callable[..., WorkerSettings]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Settings with a model in a folder, by stand-ins for the two packages."""
    packages = tmp_path / "packages"
    packages.mkdir()
    monkeypatch.setenv("PYTHONPATH", f"{stand_ins(packages)}:{':'.join(sys.path)}")
    monkeypatch.syspath_prepend(packages)
    own = {name: sys.modules.pop(name, None) for name in ("onnxruntime", "tokenizers")}

    def make(model: bytes | None = None, files: Any = None, **changes: Any) -> WorkerSettings:
        folder = model_folder(tmp_path / "small", model or described(), **(files or {}))
        return WorkerSettings(embedding_model=str(folder), embedding_batch=2, **changes)

    yield make
    for name, module in own.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


def run(settings: WorkerSettings, folder: Path, kept: Kept) -> Outcome:
    request = Request(id="job_x", tenant="ada", kind="embed", method="embed", created_at=now())
    folder.mkdir(exist_ok=True)
    save_arrow(pa.table({"text": pa.array(TEXTS, pa.large_string())}), folder / results.TO_EMBED)
    outcome = Outcome(result={"dataset": "ds_x", "shape": [], "dtype": "float32"})
    own: Any = kept
    return embedded(settings, own, request, outcome, folder, Attempt(folder.parent))


def literal(text: str) -> Any:
    """The mean of the words' vectors, of length 1."""
    words = [TABLE[WORDS.index(word) if word in WORDS else 1] for word in text.split()]
    mean = np.mean(words, axis=0)
    return mean / np.linalg.norm(mean)


def refusal(settings: WorkerSettings) -> str:
    """What the model says in this process."""
    assert settings.embedding_folder is not None
    with pytest.raises(Unusable) as refused:
        TextModel(settings.embedding_folder, threads=1).vectors(TEXTS)
    return str(refused.value)


def failure(settings: WorkerSettings) -> str:
    """What comes of the model in its process."""
    embedder = LocalEmbedder.of(settings)
    assert embedder is not None
    with pytest.raises(NotAnswered) as refused:
        embedder.vectors("text", TEXTS)
    assert not refused.value.passes
    embedder.close()
    return str(refused.value)


def test_the_vectors_of_a_job_are_those_of_the_model_and_kept(
    settings: Make, tmp_path: Path
) -> None:
    kept = Kept()
    outcome = run(settings(), tmp_path / "first", kept)
    assert outcome.error is None
    assert outcome.result is not None
    assert outcome.result["shape"] == [5, 6]
    sent = outcome.result["sent"]
    assert (sent["to"], sent["model"], sent["n_items"]) == ("this service", "small", 4)
    np.testing.assert_allclose(
        rows(tmp_path / "first"), [literal(text) for text in TEXTS], rtol=1e-5
    )
    # Another file is another model, of which nothing is kept.
    other = run(settings(described(runs="os._exit(1)")), tmp_path / "other", kept)
    assert "process of the model ended" in detail(other)


def test_what_is_kept_is_not_computed_again(settings: Make, tmp_path: Path) -> None:
    kept, own = Kept(), settings()
    assert run(own, tmp_path / "first", kept).error is None
    outcome = run(own, tmp_path / "again", kept)
    assert outcome.result is not None
    assert (outcome.result["sent"]["n_items"], outcome.result["sent"]["n_kept"]) == (0, 4)
    assert rows(tmp_path / "first") == rows(tmp_path / "again")


@pytest.mark.parametrize(
    ("files", "make"),
    [
        ({"1_Pooling__config": {"pooling_mode_cls_token": True}}, lambda words: words[0]),
        ({"1_Pooling__config": {"pooling_mode_max_tokens": True}}, lambda words: words.max(axis=0)),
        ({"sentence_bert_config": {"max_seq_length": 2}}, lambda words: words[:2].mean(axis=0)),
    ],
)
def test_the_folder_says_how(settings: Make, files: Any, make: Callable[[Any], Any]) -> None:
    files = {**files, "modules": [{"type": "sentence_transformers.models.Pooling"}]}
    folder = settings(files=files).embedding_folder
    assert folder is not None
    found = TextModel(folder, threads=1).vectors(["red fox sea", "wolf"])
    words = TABLE[[WORDS.index(word) for word in ("red", "fox", "sea")]]
    np.testing.assert_allclose(found[0], make(words), rtol=1e-5)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (described(inputs=["input_ids", "pixels"]), "takes input_ids, pixels"),
        (described(inputs=[]), "takes nothing"),
        (described(table=[[[1.0]]] * 8), "it is a vector for each token"),
        (described(runs="raise ValueError('no such row')"), "does not run: no such row"),
        (b"none", "model.onnx cannot be read"),
    ],
)
def test_a_model_that_cannot_be_used_is_refused_in_words(
    settings: Make, model: bytes, why: str
) -> None:
    assert why in refusal(settings(model))


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (described(inputs=["pixels"]), "takes pixels"),
        (described(table=[[float("nan")] * 3] * 8), "not a finite number"),
        (described(table=[[0.0] * 20_000] * 8), "20000 numbers"),
        (described(runs="raise MemoryError"), "more memory than a job may have"),
        (described(runs="os._exit(3)"), "process of the model ended"),
        pytest.param(
            described(runs="import socket; socket.socket()"),
            "does not run",
            marks=pytest.mark.skipif(missing() is not None, reason=f"not confined: {missing()}"),
        ),
    ],
)
def test_a_process_that_fails_is_a_plain_problem(settings: Make, model: bytes, why: str) -> None:
    assert why in failure(settings(model))


def test_a_folder_without_its_files(settings: Make) -> None:
    own = settings()
    assert own.embedding_folder is not None
    (own.embedding_folder / "tokenizer.json").unlink()
    assert "no file tokenizer.json" in refusal(own)
    (own.embedding_folder / "model.onnx").unlink()
    assert "no file model.onnx" in refusal(own)
    assert "no file model.onnx" in refusal(WorkerSettings(embedding_model="/nowhere/at/all"))


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"1_Pooling__config": {"pooling_mode_lasttoken": True}}, "one of mean, max"),
        ({"1_Pooling__config": []}, "config.json is not the JSON"),
        ({"sentence_bert_config": {"max_seq_length": 0}}, "max_seq_length"),
        ({"tokenizer": {"model": None}}, "tokenizer.json cannot be read"),
    ],
)
def test_a_folder_with_other_settings(settings: Make, files: Any, why: str) -> None:
    assert why in refusal(settings(files=files))


def test_a_model_that_takes_too_long_is_ended(settings: Make) -> None:
    own = settings(described(runs="time.sleep(600)"), embedding_timeout_s=3.0)
    assert "within 3 s" in failure(own)


def test_without_the_packages_the_command_is_named(
    settings: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "packages" / "tokenizers.py").write_text(
        "raise ImportError('away', name='tokenizers')"
    )
    assert "umbel[onnx]" in refusal(settings())


def test_a_path_is_a_folder_only_without_an_endpoint() -> None:
    assert WorkerSettings(embedding_model="small").embedding_folder is None
    endpoint = WorkerSettings(embedding_model="/m", embedding_url="https://example.org/v1")
    assert endpoint.embedding_folder is None
    assert LocalEmbedder.of(endpoint) is None


def test_pooling_by_definition() -> None:
    rng = np.random.default_rng(0)
    tokens, mask = (
        rng.normal(size=(4, 5, 3)),
        np.array([[1] * n + [0] * (5 - n) for n in (5, 1, 3, 2)]),
    )
    for row in range(4):
        own = tokens[row][mask[row] == 1]
        np.testing.assert_allclose(pooled(tokens, mask, "mean")[row], own.mean(axis=0))
        np.testing.assert_allclose(pooled(tokens, mask, "max")[row], own.max(axis=0))
        np.testing.assert_allclose(pooled(tokens, mask, "first")[row], tokens[row, 0])
    assert np.linalg.norm(normalized(tokens[0]), axis=1) == pytest.approx(np.ones(5))
    assert not normalized(np.zeros((1, 3))).any()


@pytest.mark.slow
@pytest.mark.needs("onnxruntime", "tokenizers")
def test_a_model_in_onnx(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "small", in_onnx())
    found = TextModel(folder, threads=1).vectors(TEXTS)
    np.testing.assert_allclose(found, [literal(text) for text in TEXTS], rtol=1e-5)
    embedder = LocalEmbedder.of(WorkerSettings(embedding_model=str(folder)))
    assert embedder is not None
    np.testing.assert_array_equal(embedder.vectors("text", TEXTS), found)
    embedder.close()
