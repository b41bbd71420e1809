"""Folders of a small model of texts, and one of images: in ONNX, written byte by byte, and
stand-ins for onnxruntime and tokenizers that a process imports where these are not installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

WORDS = ["[PAD]", "[UNK]", "a", "red", "fox", "grey", "wolf", "sea"]
TABLE = np.random.default_rng(3).normal(size=(len(WORDS), 6)).astype(np.float32)
"""The vector of each word, which is that of its token."""

STAND_INS = {
    "tokenizers": """
import json
from types import SimpleNamespace
class Tokenizer:
    padding = None
    @classmethod
    def from_file(cls, path):
        own = cls()
        own.vocabulary = json.load(open(path))["model"]["vocab"]
        return own
    def enable_truncation(self, most):
        self.most = most
    def enable_padding(self):
        self.padding = {}
    def encode_batch(self, texts):
        known = self.vocabulary
        rows = [[known.get(word, 1) for word in text.split()][:self.most] for text in texts]
        longest = max(map(len, rows))
        return [
            SimpleNamespace(
                ids=row + [0] * (longest - len(row)),
                attention_mask=[1] * len(row) + [0] * (longest - len(row)),
                type_ids=[0] * longest,
            )
            for row in rows
        ]
""",
    "onnxruntime": """
import json, os, time
from types import SimpleNamespace
import numpy as np
class SessionOptions:
    pass
class InferenceSession:
    def __init__(self, path, options, providers):
        self.own = json.load(open(path))
    def get_inputs(self):
        return [SimpleNamespace(name=name, type="tensor(float)") for name in self.own["inputs"]]
    def get_outputs(self):
        return [SimpleNamespace(name=self.own.get("output", "last_hidden_state"))]
    def run(self, names, given):
        if self.own.get("runs"):
            exec(self.own["runs"])
        if "pixel_values" in given:
            return [given["pixel_values"].mean(axis=(2, 3))]
        return [np.array(self.own["table"], np.float32)[given["input_ids"]]]
""",
}


def stand_ins(folder: Path) -> Path:
    """A folder for PYTHONPATH with the stand-ins."""
    for name, text in STAND_INS.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def model_folder(folder: Path, model: bytes, **files: Any) -> Path:
    """A folder as sentence-transformers writes it. files : its JSON by name, `__` for a slash."""
    folder.mkdir(exist_ok=True)
    (folder / "model.onnx").write_bytes(model)
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {
            "type": "WordLevel",
            "vocab": {word: place for place, word in enumerate(WORDS)},
            "unk_token": "[UNK]",
        },
    }
    for name, content in {"tokenizer": tokenizer, **files}.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    return folder


PROCESSOR = {
    "image_processor_type": "CLIPImageProcessor",
    "size": {"shortest_edge": 4},
    "resample": 2,
    "crop_size": {"height": 4, "width": 4},
    "rescale_factor": 1 / 255,
    "image_mean": [0.5, 0.4, 0.3],
    "image_std": [0.5, 0.25, 0.125],
}


def image_folder(folder: Path, model: bytes, **changes: Any) -> Path:
    """A folder as transformers writes it; the vector of an image is the mean of its pixels.

    changes : of `PROCESSOR`; None: left out.
    """
    folder.mkdir(exist_ok=True)
    (folder / "model.onnx").write_bytes(model)
    config = {name: value for name, value in {**PROCESSOR, **changes}.items() if value is not None}
    (folder / "preprocessor_config.json").write_text(json.dumps(config))
    return folder


def described(**changes: Any) -> bytes:
    """The model as the stand-in reads it. runs : what it does before it answers."""
    own = {"inputs": ["input_ids", "attention_mask"], "table": TABLE.tolist(), **changes}
    return json.dumps(own).encode()


def in_onnx() -> bytes:
    """The model in ONNX: the row of the table of each token."""
    raw = TABLE.tobytes()
    table = b"".join(_number(1, n) for n in TABLE.shape) + _number(2, 1)
    table += _part(8, b"table") + _part(9, raw)
    node = _part(1, b"table") + _part(1, b"input_ids") + _part(2, b"last") + _part(4, b"Gather")
    graph = _part(1, node) + _part(2, b"graph") + _part(5, table)
    graph += _part(11, _value(b"input_ids", 7, [b"n", b"t"]))
    graph += _part(11, _value(b"attention_mask", 7, [b"n", b"t"]))
    graph += _part(12, _value(b"last", 1, [b"n", b"t", b"w"]))
    return _number(1, 8) + _part(7, graph) + _part(8, _part(1, b"") + _number(2, 17))


def of_images_in_onnx() -> bytes:
    """The mean of the pixels of each channel, in ONNX."""
    pool = _part(1, b"pixel_values") + _part(2, b"means") + _part(4, b"GlobalAveragePool")
    flat = _part(1, b"means") + _part(2, b"image_embeds") + _part(4, b"Flatten")
    graph = _part(1, pool) + _part(1, flat) + _part(2, b"graph")
    graph += _part(11, _value(b"pixel_values", 1, [b"n", b"c", b"h", b"w"]))
    graph += _part(12, _value(b"image_embeds", 1, [b"n", b"c"]))
    return _number(1, 8) + _part(7, graph) + _part(8, _part(1, b"") + _number(2, 17))


def _value(name: bytes, kind: int, shape: list[bytes]) -> bytes:
    dimensions = b"".join(_part(1, _part(2, dimension)) for dimension in shape)
    tensor = _number(1, kind) + _part(2, dimensions)
    return _part(1, name) + _part(2, _part(1, tensor))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _part(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    content = bytearray()
    while value > 127:
        content.append(value & 127 | 128)
        value >>= 7
    return bytes([*content, value])
