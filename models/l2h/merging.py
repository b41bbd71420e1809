"""The merges of L2H decided from a digest: by bounds where they separate, else by reading again.

Every decision is that of the definition in float64 (`models.l2h.reference`): values within a
relative `TIE` of the best are tied and the lowest class wins. Only where rows cannot be read again
a decision may be a guess, by the middles of the bounds; `Effort.guessed` counts these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.contract import Progress
from models.l2h import kernels
from models.l2h.digest import Digest
from models.l2h.reference import TIE, Aggregation, Merges
from models.l2h.source import Float, Int, Source

Mask = npt.NDArray[np.bool_]

_BLOCK_BYTES = 4 << 20
_SHARES = (0.5, 0.25, 0.05, 0.0)
"""An undecided group's rows are listed anew until what their intervals hide is less than such a
share of what tells the two best hosts apart: first the widest ones."""


@dataclass
class Effort:
    """What deciding took.

    by_lists, by_relisting, by_reading : merges whose host was decided by the rows' lists, by
        listing rows anew, by reading the group's rows in float64.
    guessed : decisions that the bounds leave open and whose rows cannot be read.
    n_read, n_read_old : rows read again, counted each time; those of them from before `Base.n`.
    """

    by_lists: int = 0
    by_relisting: int = 0
    by_reading: int = 0
    guessed: int = 0
    n_read: int = 0
    n_read_old: int = 0


@dataclass(frozen=True, slots=True)
class Known:
    """Bounds on rp of one group G* over a job's rows: `low[i]`, `high[i]` for class `at[i]`, and
    `n_unknown` rows that may add up to 1 each to any class."""

    at: Int
    low: Float
    high: Float
    n_unknown: int


@dataclass(frozen=True, slots=True)
class Base:
    """What is known of the first `n` rows from an earlier run: `known` by the classes of G*."""

    n: int = 0
    known: Mapping[bytes, Known] | None = None


class Merger:
    """Decides the merges one by one.

    A group lives in the slot of its lowest class, so the first of several tied slots is the one
    that the rule for ties asks for.

    source : what rows are read again from.
    readable_from : rows before this number cannot be read again.
    learned : after `run`, bounds on rp of the groups that the lists alone did not decide.
    """

    def __init__(
        self,
        source: Source,
        digest: Digest,
        aggregation: Aggregation,
        progress: Progress,
        *,
        threads: int = 1,
        readable_from: int = 0,
        base: Base | None = None,
    ) -> None:
        n_classes = len(digest.size)
        self.effort = Effort()
        self.learned: dict[bytes, Known] = {}
        self._source, self._digest = source, digest
        self._aggregation, self._progress = aggregation, progress
        self._threads, self._readable_from = threads, readable_from
        self._base = base or Base()
        order = np.argsort(digest.label, kind="stable")
        self._order = order.astype(np.int32 if len(order) < 1 << 31 else np.int64)
        self._start = np.concatenate(([0], np.cumsum(digest.size)))
        self._members = [np.array([c]) for c in range(n_classes)]
        self._slot = np.arange(n_classes)
        self._n_members = np.ones(n_classes, dtype=np.int64)
        self._n_since = np.ones((8, n_classes), dtype=np.int32)
        self._n_states = 1
        self._confidence, self._slack = digest.confidence.copy(), digest.slack.copy()
        self._low, self._high = np.empty((2, n_classes))
        for slot in range(n_classes):
            self._score(slot)

    def run(self, hosts: Sequence[tuple[int, Int]] = ()) -> Merges:
        """All K - 1 merges. hosts : for the first ones, the class without points and the classes
        tied as its best host."""
        n_classes = len(self._slot)
        left, right = np.empty((2, n_classes - 1), dtype=np.int64)
        node = np.arange(n_classes)
        for step in range(n_classes - 1):
            if step % max(1, n_classes // 200) == 0:
                self._progress(step / n_classes, "merging", f"{step} of {n_classes - 1}")
            if step < len(hosts):
                lowest, candidates = hosts[step]
                other = int(self._slot[candidates].min())
            else:
                lowest = self._lowest()
                other = self._host(lowest)
            left[step], right[step] = node[lowest], node[other]
            node[self._join(lowest, other)] = n_classes + step
        return Merges(left, right, len(hosts))

    def _join(self, a: int, b: int) -> int:
        home, gone = min(a, b), max(a, b)
        self._slot[self._members[gone]] = home
        self._members[home] = np.sort(np.concatenate([self._members[a], self._members[b]]))
        self._members[gone] = self._members[gone][:0]
        self._n_members[home] += self._n_members[gone]
        self._n_members[gone] = 0
        self._low[gone] = self._high[gone] = np.inf
        self._score(home)
        return home

    # The group with the lowest score.

    def _score(self, slot: int) -> None:
        """Bounds on the score of a group."""
        classes = self._members[slot]
        points = self._digest.size[classes]
        if self._aggregation == "size":
            self._low[slot] = self._high[slot] = points.sum()
            return
        value, slack = self._confidence[classes], self._slack[classes]
        if self._aggregation == "mean-sum":
            value, slack = value / np.maximum(points, 1), slack / np.maximum(points, 1)
        total, error = value.sum(), slack.sum()
        if self._aggregation == "mean":
            n = max(1, int(points.sum()))
            total, error = total / n, error / n
        self._low[slot], self._high[slot] = total - error, total + error

    def _lowest(self) -> int:
        """G*: the group with the lowest score, of tied ones the one with the lowest class."""
        while (found := kernels.lowest(self._low, self._high, TIE)) < 0:
            near = np.flatnonzero(self._low <= self._high.min() * (1.0 + TIE))
            classes = np.concatenate([self._members[slot] for slot in near])
            unsure = [c for c in classes[self._slack[classes] > 0].tolist() if self._readable(c)]
            if not unsure:
                self.effort.guessed += bool(self._slack[classes].any())
                middle = (self._low + self._high) / 2
                return int(np.argmax(middle <= middle.min() * (1.0 + TIE)))
            for c in unsure:
                self._make_exact(c)
            for slot in near.tolist():
                self._score(slot)
        return int(found)

    def _readable(self, c: int) -> bool:
        rows = self._rows([c])
        return len(rows) == 0 or rows[0] >= self._readable_from

    def _make_exact(self, c: int) -> None:
        inside = np.zeros(len(self._slot), dtype=np.uint8)
        self._confidence[c] = self._read(self._rows([c]), inside).sum()
        self._slack[c] = 0.0

    # The group that takes it.

    def _host(self, lowest: int) -> int:
        """The group that the points of G* choose most confidently."""
        n_members = self._n_members.copy()
        n_members[lowest] = 0
        others = np.flatnonzero(n_members)
        if len(others) == 1:
            return int(others[0])
        classes = self._members[lowest]
        inside = np.zeros(len(self._slot) + 1, dtype=np.uint8)
        inside[classes], inside[-1] = 1, 2
        rows = self._rows(classes.tolist())
        known = (self._base.known or {}).get(classes.tobytes())
        if known is not None:
            rows = rows[rows >= self._base.n]
        decided = self._by_lists(rows, inside, n_members, known)
        if decided is None and known is not None:
            rows = self._rows(classes.tolist())
            decided = self._by_lists(rows, inside, n_members, None)
        if decided is not None:
            return decided
        return self._by_reading(rows, inside, n_members)

    def _by_lists(
        self, rows: Int, inside: npt.NDArray[np.uint8], n_members: Int, known: Known | None
    ) -> int | None:
        width = np.empty(len(rows), dtype=np.float32)
        may_be_listed = rows >= self._readable_from
        room = 0.0
        for share in (None, *_SHARES):
            if share is not None:
                chosen = _widest(width, share * room) & may_be_listed
                if not chosen.any():
                    continue
                self._relist(rows[chosen])
                may_be_listed &= ~chosen
            low, high, n_unknown = self._walk(rows, inside, width)
            if known is not None:
                low[known.at] += known.low
                high[known.at] += known.high
                n_unknown += known.n_unknown
            found, room = kernels.highest(*self._by_slot(low, high), n_members, n_unknown, TIE)
            if found >= 0:
                if share is None and known is None:
                    self.effort.by_lists += 1
                else:
                    self.effort.by_relisting += share is not None
                    self._learn(inside, low, high, n_unknown)
                return int(found)
        return None

    def _by_reading(self, rows: Int, inside: npt.NDArray[np.uint8], n_members: Int) -> int:
        """The host by float64, ties by the rule; by bounds for the rows that cannot be read."""
        readable = rows >= self._readable_from
        width = np.empty(np.count_nonzero(~readable), dtype=np.float32)
        low, high, n_unknown = self._walk(rows[~readable], inside, width)
        taken = self._read(rows[readable], inside)
        low, high = low + taken, high + taken
        self._learn(inside, low, high, n_unknown)
        low, high = self._by_slot(low, high)
        found, _ = kernels.highest(low, high, n_members, n_unknown, TIE)
        if found >= 0 or readable.all():
            self.effort.by_reading += 1
        else:
            self.effort.guessed += 1
        if found >= 0:
            return int(found)
        others = np.flatnonzero(n_members)
        mean = (low + high)[others] / n_members[others]
        return int(others[np.argmax(mean >= mean.max() * (1.0 - TIE))])

    def _by_slot(self, *values: Float) -> list[Float]:
        n = len(self._slot)
        return [np.bincount(self._slot, value, n).astype(np.float64) for value in values]

    def _learn(
        self, inside: npt.NDArray[np.uint8], low: Float, high: Float, n_unknown: int
    ) -> None:
        classes, at = np.flatnonzero(inside == 1), np.flatnonzero(high)
        self.learned[classes.tobytes()] = Known(at, low[at], high[at], n_unknown)

    def _walk(
        self, rows: Int, inside: npt.NDArray[np.uint8], width: npt.NDArray[np.float32]
    ) -> tuple[Float, Float, int]:
        digest = self._digest
        low, high = np.zeros((2, len(self._slot)))
        n_unknown = kernels.walk(
            rows,
            inside,
            self._n_since,
            0.0 if digest.open_tail else 1.0,
            digest.label,
            digest.listed,
            digest.weight,
            digest.mass,
            digest.tail,
            digest.since,
            low,
            high,
            width,
        )
        return low, high, int(n_unknown)

    # Reading again.

    def _relist(self, rows: Int) -> None:
        """List rows by the groups that there are now."""
        digest, source, slot = self._digest, self._source, self._slot.astype(np.int32)
        order = np.argsort(slot, kind="stable")
        start = np.concatenate(([0], np.cumsum(self._n_members)))
        state = self._n_states
        if state == len(self._n_since):
            self._n_since = np.concatenate([self._n_since, np.empty_like(self._n_since)])
        self._n_since[state] = self._n_members[slot]
        self._n_states += 1

        def relist(part: Int, x: npt.NDArray[Any], at: Int) -> None:
            kernels.relist(
                x,
                at,
                source.scale,
                source.limits,
                part,
                slot,
                order,
                start,
                state,
                digest.label,
                digest.listed,
                digest.weight,
                digest.mass,
                digest.tail,
                digest.since,
            )

        if source.rows.far:
            rows = np.arange(self._readable_from, len(digest.label))
        for _ in self._reading(np.sort(rows), relist):
            pass

    def _read(self, rows: Int, inside: npt.NDArray[np.uint8]) -> Float:
        """(K,) by class outside the winning probability of the rows that it takes, in float64."""
        taken = np.zeros(len(self._slot))

        def read(part: Int, x: npt.NDArray[Any], at: Int) -> Float:
            own = np.zeros(len(self._slot))
            kernels.exact(x, at, self._source.scale, inside, own)
            return own

        for own in self._reading(np.sort(rows), read):
            taken += own
        return taken

    def _reading(
        self, rows: Int, work: Callable[[Int, npt.NDArray[Any], Int], Any]
    ) -> Iterator[Any]:
        """What `work(rows, x, at)` gives for the rows block by block, in order; row i is x[at]."""
        self.effort.n_read += len(rows)
        self.effort.n_read_old += int(np.searchsorted(rows, self._base.n))
        step = max(1, _BLOCK_BYTES // (len(self._slot) * self._source.dtype.itemsize))
        parts = [rows[i : i + step].astype(np.int64) for i in range(0, len(rows), step)]

        def one(part: Int) -> Any:
            return work(part, *self._source.gather(part))

        if self._threads == 1 or len(parts) == 1:
            yield from map(one, parts)
            return
        with ThreadPoolExecutor(self._threads) as pool:
            yield from pool.map(one, parts)

    def _rows(self, classes: Sequence[int]) -> npt.NDArray[Any]:
        parts = [self._order[self._start[c] : self._start[c + 1]] for c in classes]
        return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _widest(width: npt.NDArray[np.float32], left: float) -> Mask:
    """The widest intervals, such that all others together are no wider than `left`."""
    order = np.argsort(width)
    kept = int(np.searchsorted(np.cumsum(width[order], dtype=np.float64), left, side="right"))
    chosen = np.ones(len(width), dtype=bool)
    chosen[order[:kept]] = False
    return chosen | (width > 1.0)
