"""A model of texts as sentence-transformers keeps it, in ONNX.

A folder has `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`, and maybe what
sentence-transformers writes beside them: `1_Pooling/config.json` (how the vectors of tokens become
one: their mean, which holds without the file, the largest values, or the first), `modules.json`
(whether vectors are normalized; without the file they are) and `sentence_bert_config.json` (the
most tokens of a text, 512 without it).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from models.arrays import Array, Single
from workers.embedding.onnx_session import (
    Unusable,
    is_normalized,
    json_of,
    normalized,
    path_of,
    run,
    session_of,
    shortened,
)

MOST_TOKENS = 512
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_POOLED = "sentence_embedding"
_WAYS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "first",
    "pooling_mode_max_tokens": "max",
}


class TextModel:
    """A model in memory. way : how the vectors of tokens become one. normalized : to length 1."""

    def __init__(self, folder: Path, threads: int) -> None:
        """Raises Unusable."""
        self._session = session_of(folder, threads)
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise Unusable.without(error) from None
        words = path_of(folder, "tokenizer.json")
        self.way, self.normalized, most = _config(folder)
        try:
            self._tokenizer = Tokenizer.from_file(str(words))
        except Exception as error:
            raise Unusable(f"tokenizer.json cannot be read: {shortened(error)}") from None
        self._tokenizer.enable_truncation(most)
        if self._tokenizer.padding is None:
            self._tokenizer.enable_padding()
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
            raise Unusable(f"tokenizer.json does not take the texts: {shortened(error)}") from None
        every = {
            "input_ids": [each.ids for each in encoded],
            "attention_mask": [each.attention_mask for each in encoded],
            "token_type_ids": [each.type_ids for each in encoded],
        }
        given = {name: np.array(every[name], dtype=np.int64) for name in self._inputs}
        values = run(self._session, self._output, given)
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


def _config(folder: Path) -> tuple[str, bool, int]:
    """(way, normalized, most tokens) as the folder says. Raises Unusable."""
    pooling = json_of(folder / "1_Pooling/config.json", {})
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
    most = json_of(folder / "sentence_bert_config.json", {}).get("max_seq_length", MOST_TOKENS)
    if type(most) is not int or not 1 <= most <= 1 << 16:
        raise Unusable("max_seq_length of sentence_bert_config.json is a whole number from 1 on.")
    return (ways or ["mean"])[0], is_normalized(folder), most
