"""What the embedding of a job's items leaves: in Redis, as files, as a problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import redis

from workers.artifacts import results
from workers.work.job import Outcome


class Kept:
    """The part of Redis that keeps vectors."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.used: dict[str, int] = {}
        self.fails = False

    def mget(self, keys: list[str]) -> list[str | None]:
        if self.fails:
            raise redis.ConnectionError
        return [self.values.get(key) for key in keys]

    def incrby(self, key: str, amount: int) -> int:
        if self.fails:
            raise redis.ConnectionError
        self.used[key] = self.used.get(key, 0) + amount
        return self.used[key]

    def decrby(self, key: str, amount: int) -> int:
        return self.incrby(key, -amount)

    def expire(self, key: str, seconds: int) -> None:
        pass

    def pipeline(self, transaction: bool) -> Kept:
        return self

    def set(self, key: str, text: str, ex: int) -> None:
        self.values[key] = text

    def execute(self) -> None:
        pass


def rows(folder: Path) -> Any:
    table = pa.ipc.open_file((folder / results.EMBEDDED_TEXTS).read_bytes()).read_all()
    return table.column("features").to_pylist()


def detail(outcome: Outcome) -> str:
    assert outcome.error is not None
    assert outcome.error["type"].endswith("not-embedded")
    return str(outcome.error["detail"])
