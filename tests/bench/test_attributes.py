"""The attributes that explain a split, on animals that two attributes tell apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench import attributes
from tests.needs_kit import need


def written(folder: Path) -> list[Path]:
    """Eight animals: four that swim, four with hooves, of which two each are big."""
    swims = [1, 1, 1, 1, 0, 0, 0, 0]
    big = [1, 1, 0, 0, 1, 1, 0, 0]
    strength = 100.0 * np.column_stack([swims, np.logical_not(swims), 0.5 * np.array(big)])
    strength[0, 1] = -1.0
    contents = {
        "animals": "".join(f"{i + 1}\tbeast+{i}\n" for i in range(8)),
        "attributes": "    1\tswims\n    2\thooves\n    3\tbig\n",
        "matrix": "\n".join(" ".join(map(str, row)) for row in strength),
    }
    for name, content in contents.items():
        (folder / name).write_text(content)
    return [folder / name for name in contents]


def test_splits_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attributes, "N_LEAVES", 2)
    animals, names, features = attributes.loaded(*written(tmp_path))
    assert np.linalg.norm(features, axis=1) == pytest.approx(np.ones(8))
    fitted = attributes.fit(features, names, {"alpha": 0.01, "beta": 0.01})
    root, *leaves = attributes.nodes(fitted, animals)
    assert (root["parent"], root["n"], root["animals"]) == (None, 8, None)
    swimming = next(leaf for leaf in leaves if "beast 0" in leaf["animals"])
    assert swimming["animals"] == "beast 0, beast 1, beast 2, beast 3"
    assert swimming["draws_in"].split(", ")[0] == "swims"
    assert swimming["keeps_out"].split(", ")[0] == "hooves"


def test_the_tree_is_drawn(tmp_path: Path) -> None:
    need("matplotlib")
    from bench import plot

    names = {"draws_in": "swims", "keeps_out": "hooves"}
    rows = [
        {"node": 0, "parent": None, "animals": None, **names},
        {"node": 1, "parent": 0, "animals": "seal", **names},
        {"node": 2, "parent": 0, "animals": "ox", **names},
    ]
    plot.attributes(rows, tmp_path / "tree.png")
    assert (tmp_path / "tree.png").read_bytes()[1:4] == b"PNG"
