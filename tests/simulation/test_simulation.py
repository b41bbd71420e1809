"""Six hundred schedules hold; each fault that is put into the code is found."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulation.planted_kit import PLANTED, Planted
from tests.simulation.schedule_kit import SCENARIOS, Simulation, results_in
from tests.workers.conftest import Server

SCHEDULES = 100
MOST = 1000
"""Within so many schedules each planted fault is found."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A Valkey that nothing else uses."""
    with tempfile.TemporaryDirectory(prefix="umbel-") as name:
        server = Server(Path(name), durable=False)
        server.start()
        yield server.url
        server.stop()


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Every fault is a line of the log otherwise."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("also", SCENARIOS, ids=lambda also: "+".join(also) or "jobs")
def test_every_schedule_keeps_what_it_accepted(
    also: tuple[str, ...], url: str, tmp_path: Path
) -> None:
    simulation = Simulation(url, results_in(tmp_path), also=also)
    for seed in range(SCHEDULES):
        failure = simulation.run(seed)
        assert failure is None, str(simulation.shorter(failure))


@pytest.mark.parametrize(
    ("also", "seed"),
    [
        ("uploads", 1479),
        ("uploads", 2107),
        ("uploads", 2327),
        ("pieces", 2406),
        ("pieces", 20001772),
        ("pieces", 30000282),
        ("uploads", 1001759),
        ("uploads removals", 3830),
        ("", 243),
        ("repeats", 2590),
        ("repeats", 3925),
    ],
)
def test_what_a_search_has_found(also: str, seed: int, url: str, tmp_path: Path) -> None:
    """Two requests that complete an upload, one of which fails between its steps; files of an
    attempt whose job was cancelled; a removal that ended half-way; an attempt that stores after the
    end of its job, and dies; what a helper stores after the attempt has closed its board, and
    cannot remove, or dies before it could; facts that a completion, whose write gets no answer,
    brings back after the removal of their dataset, where it is repeated and where it is not; files
    of a second attempt, which dies while the first one, whose lease had run out, ends the job; a
    marker that is written after its submission was taken back by a process that dies then; the end
    and the marker of a job whose deletion and whose worker died half-way."""
    failure = Simulation(url, results_in(tmp_path), also=also.split()).run(seed)
    assert failure is None, str(failure)


def test_a_schedule_is_the_same_again(url: str, tmp_path: Path) -> None:
    planted = PLANTED[0]
    simulation = Simulation(url, results_in(tmp_path), planted.alter)
    seeds = range(planted.seed, planted.seed + MOST)
    first = next(filter(None, map(simulation.run, seeds)))
    second = simulation.run(first.seed)
    assert second == first
    shorter = simulation.shorter(first, tries=20)
    assert shorter.kind == first.kind
    assert sum(map(bool, shorter.decisions)) <= sum(map(bool, first.decisions))
    assert simulation.run(shorter.seed, shorter.decisions) == shorter


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_planted_fault_is_found(planted: Planted, url: str, tmp_path: Path) -> None:
    simulation = Simulation(url, results_in(tmp_path), planted.alter, planted.also)
    with planted.in_place():
        assert any(
            simulation.run(seed) is not None for seed in range(planted.seed, planted.seed + MOST)
        )
