"""Columns and classes in another order change no answer, over HTTP, by client and command line."""

from __future__ import annotations

import csv
import io
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.cli import main
from models.tree import newick
from models.tree.tree import Tree
from tests.e2e.client import Api
from tests.e2e.conftest import Service
from umbel_client import Umbel

NAMES = ["width", "a,b", 'the "one"', "Größe", "x;y", "(z)", "<b>", "=1+1", "naïve 名"]
RNG = np.random.default_rng(4)
LOGITS = RNG.normal(size=(60, len(NAMES))) * 2
POINTS = RNG.normal(size=(12, len(NAMES))) * np.arange(1, len(NAMES) + 1)

few = settings(
    max_examples=2,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
orders = st.permutations(range(len(NAMES)))


def table(values: np.ndarray, order: list[int], ids: bool) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(["id"] if ids else []), *(NAMES[at] for at in order)])
    for row, own in enumerate(values):
        writer.writerow([*([f"p,{row}"] if ids else []), *(f"{own[at]:.6f}" for at in order)])
    return text.getvalue().encode()


def clades(tree: Tree) -> set[tuple[frozenset[str], float]]:
    """The names below each node, and its height."""
    below: list[set[str]] = [set() for _ in range(tree.n_nodes)]
    for leaf in tree.leaves.tolist():
        below[leaf].add(str(tree.name[leaf]))
    for node in range(tree.n_nodes - 1, 0, -1):
        below[tree.parent[node]] |= below[node]
    return {
        (frozenset(names), round(float(height), 4))
        for names, height in zip(below, tree.height, strict=True)
    }


class Doors:
    """The same fit by HTTP, by the client and by the command line."""

    def __init__(
        self,
        api: Api,
        service: Service,
        folder: Path,
    ) -> None:
        self._api, self._service, self._folder = api, service, folder

    def __call__(self, door: str, method: str, role: str, content: bytes) -> Tree:
        path = self._folder / "table.csv"
        path.write_bytes(content)
        if door == "http":
            given = self._api.post_dataset(content, media="text/csv", role=role).json()["id"]
            job = self._api.run(method, {role: given})
            assert job["status"] == "succeeded", job
            text = self._api.client.get(f"/v1/trees/{job['result']['tree']}.nwk").text
        elif door == "command":
            written = self._folder / "tree.nwk"
            with suppress(SystemExit):
                main(("run", method, f"--{role}", str(path), "--out", str(written)))
            text = written.read_text()
            written.unlink()
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = Umbel(self._service.url).run(method, **{role: str(path)})
            text = self._api.client.get(f"/v1/trees/{tree.id}.nwk").text
        return newick.read(text)


@pytest.fixture
def doors(
    api: Api,
    service: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Doors:
    monkeypatch.setenv("UMBEL_URL", service.url)
    return Doors(api, service, tmp_path)


@pytest.mark.parametrize("door", ["http", "client", "command"])
def test_classes_in_another_order(door: str, doors: Doors) -> None:
    expected = clades(doors("http", "l2h", "logits", table(LOGITS, list(range(9)), ids=False)))
    assert frozenset(NAMES) in {names for names, _ in expected}

    @few
    @given(order=orders)
    def run(order: list[int]) -> None:
        found = doors(door, "l2h", "logits", table(LOGITS, order, ids=False))
        assert clades(found) == expected

    run()


@pytest.mark.parametrize("door", ["http", "client", "command"])
def test_columns_in_another_order(door: str, doors: Doors) -> None:
    expected = clades(doors("http", "hac", "features", table(POINTS, list(range(9)), ids=True)))
    assert frozenset(f"p,{row}" for row in range(12)) in {names for names, _ in expected}

    @few
    @given(order=orders)
    def run(order: list[int]) -> None:
        found = doors(door, "hac", "features", table(POINTS, order, ids=True))
        assert clades(found) == expected

    run()
