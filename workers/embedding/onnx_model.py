"""A model of texts as sentence-transformers keeps it, run by onnxruntime: the vectors of a batch.

A folder has `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`, and maybe what
sentence-transformers writes beside them: `1_Pooling/config.json` (how the vectors of tokens become
one: their mean, which holds without the file, the largest values, or the first), `modules.json`
(whether vectors are normalized; without the file they are) and `sentence_bert_config.json` (the
most tokens of a text, 512 without it).

`main` is the process that runs it (`workers.embedding.local`): it has a bound of memory, no network
and no other process. It reads lines of JSON, each a list of texts, and answers each with a line
and the values.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from models.arrays import Array, Single

MOST_TOKENS = 512
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_POOLED = "sentence_embedding"
_WAYS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "first",
    "pooling_mode_max_tokens": "max",
}
_NORMALIZES = "sentence_transformers.models.Normalize"


class Unusable(Exception):
    """The folder has no model that can be used; the message says why."""


class OnnxModel:
    """A model in memory. way : how the vectors of tokens become one. normalized : to length 1."""

    def __init__(self, folder: Path, threads: int) -> None:
        """Raises Unusable."""
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise Unusable(
                f"It needs the package {error.name}: `pip install 'umbel[onnx]'`."
            ) from None
        path = next(
            (
                each
                for each in (folder / "model.onnx", folder / "onnx/model.onnx")
                if each.is_file()
            ),
            None,
        )
        words = folder / "tokenizer.json"
        for name, there in (("model.onnx", path is not None), (words.name, words.is_file())):
            if not there:
                raise Unusable(f"The folder of UMBEL_EMBEDDING_MODEL has no file {name}.")
        self.way, self.normalized, most = _config(folder)
        try:
            self._tokenizer = Tokenizer.from_file(str(words))
        except Exception as error:
            raise Unusable(f"tokenizer.json cannot be read: {_short(error)}") from None
        self._tokenizer.enable_truncation(most)
        if self._tokenizer.padding is None:
            self._tokenizer.enable_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 4
        try:
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            _raise_memory(error)
            raise Unusable(f"model.onnx cannot be read: {_short(error)}") from None
        self._inputs = [each.name for each in self._session.get_inputs()]
        others = [name for name in self._inputs if name not in _INPUTS]
        if others or _INPUTS[0] not in self._inputs:
            raise Unusable(
                f"model.onnx takes {', '.join(self._inputs) or 'nothing'}; a model of texts takes "
                f"input_ids, and maybe attention_mask and token_type_ids."
            )
        outputs = [each.name for each in self._session.get_outputs()]
        self._output = _POOLED if _POOLED in outputs else outputs[0]

    def vectors(self, texts: list[str]) -> Single:
        """(n, width) the vectors of texts. Raises Unusable, MemoryError."""
        try:
            encoded = self._tokenizer.encode_batch(texts)
        except Exception as error:
            raise Unusable(f"tokenizer.json does not take the texts: {_short(error)}") from None
        every = {
            "input_ids": [each.ids for each in encoded],
            "attention_mask": [each.attention_mask for each in encoded],
            "token_type_ids": [each.type_ids for each in encoded],
        }
        given = {name: np.array(every[name], dtype=np.int64) for name in self._inputs}
        try:
            (values,) = self._session.run([self._output], given)
        except Exception as error:
            _raise_memory(error)
            raise Unusable(f"model.onnx does not run: {_short(error)}") from None
        values = np.asarray(values)
        if values.ndim == 3 and values.dtype.kind == "f":
            mask = np.array(every["attention_mask"], dtype=np.int64)
            if values.shape[:2] == mask.shape:
                values = pooled(values.astype(np.float32), mask, self.way)
                if self.normalized:
                    values = normalized(values)
        if values.ndim != 2 or values.dtype.kind != "f" or len(values) != len(texts):
            raise Unusable(
                f"model.onnx gives {self._output} of shape {values.shape} for {len(texts)} texts; "
                "it is a vector for each token (texts, tokens, width) or for each text."
            )
        return np.ascontiguousarray(values, dtype=np.float32)


def pooled(tokens: Array, mask: Array, way: str) -> Array:
    """(n, width) of (n, n_tokens, width) vectors of tokens where `mask` is 1: their mean, the
    largest value of each column, or the first. As in sentence-transformers."""
    if way == "first":
        return np.asarray(tokens[:, 0])
    there = mask[:, :, None].astype(tokens.dtype)
    if way == "max":
        return np.asarray(np.where(there > 0, tokens, -1e9).max(axis=1))
    return np.asarray((tokens * there).sum(axis=1) / np.maximum(there.sum(axis=1), 1e-9))


def normalized(vectors: Array) -> Array:
    """Vectors of length 1; one of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12))


def _config(folder: Path) -> tuple[str, bool, int]:
    """(way, normalized, most tokens) as the folder says. Raises Unusable."""
    pooling = _json(folder / "1_Pooling/config.json", {})
    ways = [way for name, way in _WAYS.items() if pooling.get(name) is True]
    others = [
        name
        for name, value in pooling.items()
        if name.startswith("pooling_mode_") and value is True and name not in _WAYS
    ]
    if others or len(ways) > 1:
        raise Unusable(
            "1_Pooling/config.json has a way that is not run here: one of mean, max and the first "
            "token is."
        )
    modules = _json(folder / "modules.json", [{"type": _NORMALIZES}])
    is_normalized = any(
        isinstance(each, dict) and each.get("type") == _NORMALIZES for each in modules
    )
    most = _json(folder / "sentence_bert_config.json", {}).get("max_seq_length", MOST_TOKENS)
    if type(most) is not int or not 1 <= most <= 1 << 16:
        raise Unusable("max_seq_length of sentence_bert_config.json is a whole number from 1 on.")
    return (ways or ["mean"])[0], is_normalized, most


def _json(path: Path, default: Any) -> Any:
    """What a file has, of the default's type; the default where there is none."""
    if not path.is_file():
        return default
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        found = None
    if type(found) is not type(default):
        raise Unusable(f"{path.name} is not the JSON that sentence-transformers writes.")
    return found


def _raise_memory(error: Exception) -> None:
    if isinstance(error, MemoryError) or "bad_alloc" in str(error) or "allocat" in str(error):
        raise MemoryError from None


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def answer_all(model: OnnxModel, lines: BinaryIO, answers: BinaryIO) -> None:
    """Answer each line of texts until there is none."""
    for line in lines:
        vectors: Single | None = None
        answer = _tried(lambda line=line: model.vectors(json.loads(line)))  # type: ignore[misc]
        if isinstance(answer, np.ndarray):
            vectors = answer
            answer = {"shape": list(vectors.shape)}
        _write(answers, answer, vectors)


def _tried(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Unusable as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": "The model needs more memory than a job may have."}


def _write(answers: BinaryIO, answer: Any, vectors: Single | None = None) -> None:
    answers.write(json.dumps(answer).encode() + b"\n")
    if vectors is not None:
        answers.write(vectors.tobytes())
    answers.flush()


def main() -> None:
    """folder, threads, bytes of memory (0: no bound)."""
    from workers.child.confinement import confine

    folder, threads, most = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if most and sys.platform.startswith("linux"):
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    confine(sockets=False)
    answers = sys.stdout.buffer
    model = _tried(lambda: OnnxModel(folder, threads))
    if not isinstance(model, OnnxModel):
        _write(answers, model)
        return
    _write(answers, {"ready": True})
    answer_all(model, sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
