"""The merges of L2H decided from a digest: by bounds where they suffice, else by reading again.

Every decision is that of the definition in float64 (`merging.reference`): values within a relative
`TIE` of the best are tied and the lowest class wins. Only where rows cannot be read again may a
decision be a guess, by the midpoints of the bounds; `MergeEffort.guessed` counts these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.loops import merges as merge_loops
from models.methods.logits.merging.loops import rows as row_loops
from models.methods.logits.merging.reference import TIE, Aggregation, Merges
from models.methods.logits.merging.row_digest import Digest
from models.running.progress import Progress

T = TypeVar("T")

_BLOCK_BYTES, _LEAST_BYTES = 4 << 20, 1 << 20
"""The largest block in which rows are read, and the smallest one that is worth another thread."""

_WALKED = 8192
"""Up to this many rows, walking their lists is faster than handing them to another thread."""

_STEPS = 256
"""Merges between two reports of progress and checks for cancellation."""

_SHARES = (0.8, 0.4, 0.1, 0.0)
"""Rows of an undecided group are read, widest intervals first, until the remaining intervals add up
to less than this fraction of the gap between the two best hosts."""

_NO_CLASSES = np.empty(0, dtype=np.int64)


@dataclass
class MergeEffort:
    """How the merges were decided.

    by_lists, by_known, by_bounds, by_reading : number of merges whose host was decided by the
        rows' lists, by bounds from an earlier job, by listing rows again, by reading the group's
        rows in float64.
    guessed : number of decisions that the bounds leave open and whose rows cannot be read.
    n_read, n_read_old : rows read again, counted each time, and how many of them are an earlier
    job's.
    """

    by_lists: int = 0
    by_known: int = 0
    by_bounds: int = 0
    by_reading: int = 0
    guessed: int = 0
    n_read: int = 0
    n_read_old: int = 0


@dataclass(frozen=True, slots=True)
class KnownBounds:
    """Bounds on rp of a group G* over the rows before `n`.

    low, high : (m,) bounds for the classes `at`.
    n_unknown : number of rows that may each add up to 1 to any class.
    """

    at: Int
    low: Float
    high: Float
    n_unknown: int
    n: int


class Merger:
    """Decides the merges one by one.

    A group is stored in the slot of its lowest class, so the first of several tied slots is the one
    that the rule for ties selects. Small groups are merged by compiled code as long as the lists
    decide; open decisions and large groups are handled here.

    Rows are numbered by their place in the order of classes, so that the rows of a class are
    contiguous.

    matrix : the logits, for reading rows again.
    readable_from : rows before this number cannot be read again.
    n_old : rows before this number belong to an earlier job.
    known : bounds for groups, by the bytes of their classes, int64 ascending.
    learned : after `run`, bounds on rp of the groups that the lists alone did not decide.
    voteless : after `run`, the merges of whose rows none gives another group a probability above 0.
    """

    def __init__(
        self,
        matrix: LogitMatrix,
        digest: Digest,
        aggregation: Aggregation,
        progress: Progress,
        *,
        threads: int = 1,
        readable_from: int = 0,
        n_old: int = 0,
        known: Mapping[bytes, KnownBounds] | None = None,
    ) -> None:
        n_classes = len(digest.size)
        self.effort = MergeEffort()
        self.learned: dict[bytes, KnownBounds] = {}
        self.voteless: set[int] = set()
        self._matrix, self._digest, self._progress = matrix, digest, progress
        self._threads, self._readable_from = threads, readable_from
        self._pool: ThreadPoolExecutor | None = None
        self._n_old, self._known = n_old, known or {}
        self._number, self._start = _by_class(digest)
        self._lists = _arranged(digest, self._start)
        # The first row of a class is its earliest.
        first = self._number[np.minimum(self._start[:-1], len(self._number) - 1)]
        self._readable = (first >= readable_from) | (digest.size == 0)
        self._place = np.arange(len(self._number), dtype=self._number.dtype)
        classes = np.arange(n_classes)
        self._groups = _Groups(
            slot=classes.copy(),
            head=classes.copy(),
            last=classes.copy(),
            following=np.full(n_classes, -1),
            n_members=np.ones(n_classes, dtype=np.int64),
            node=classes.copy(),
        )
        points = np.maximum(digest.size, 1) if aggregation == "mean-sum" else 1
        self._scores = _Scores(
            value=digest.confidence / points,
            slack=digest.slack / points,
            size=digest.size,
            low=np.empty(n_classes),
            high=np.empty(n_classes),
            aggregation={"mean-sum": 0, "sum": 0, "mean": 1, "size": 2}[aggregation],
        )
        self._points = points
        merge_loops.score_all(self._groups.head, self._groups.following, self._scores)

    def run(self, hosts: Sequence[tuple[int, Int]] = ()) -> Merges:
        """All K - 1 merges.

        hosts : for the first merges, the class without points and the classes tied as its best
        host.
        """
        if self._threads == 1:
            return self._run(hosts)
        with ThreadPoolExecutor(self._threads) as self._pool:
            return self._run(hosts)

    def _run(self, hosts: Sequence[tuple[int, Int]]) -> Merges:
        digest, n_steps = self._digest, len(self._groups.slot) - 1
        merges = np.empty(n_steps, dtype=np.int64), np.empty(n_steps, dtype=np.int64)
        for step, (c, tied) in enumerate(hosts):
            other = int(self._groups.slot[tied].min())
            merge_loops.join(step, c, other, self._groups, self._scores, merges)
        step = len(hosts)
        while step < n_steps:
            self._progress(step / n_steps, "merging", f"{step} of {n_steps}")
            begun = step
            step, group, why = merge_loops.advance(
                step,
                min(n_steps, step + _STEPS),
                TIE,
                self._groups,
                self._scores,
                merges,
                self._place,
                self._start,
                0.0 if digest.open_tail else 1.0,
                (*self._lists,),
            )
            self.effort.by_lists += step - begun
            if why == merge_loops.SCORES:
                group = self._lowest()
            if why:
                other, voted = self._host(group)
                if not voted:
                    self.voteless.add(step)
                merge_loops.join(step, group, other, self._groups, self._scores, merges)
                step += 1
        return Merges(*merges, len(hosts))

    def _members(self, slot: int) -> Int:
        """The classes of a group, ascending."""
        classes = np.empty(self._groups.n_members[slot], dtype=np.int64)
        merge_loops.members(slot, self._groups.head, self._groups.following, classes)
        classes.sort()
        return classes

    # The group with the lowest score.

    def _score(self, slot: int) -> None:
        merge_loops.score(slot, self._groups.head, self._groups.following, self._scores)

    def _lowest(self) -> int:
        """G*: the group with the lowest score, ties to the group with the lowest class."""
        low, high, slack = self._scores.low, self._scores.high, self._scores.slack
        while (slot_of_lowest := merge_loops.lowest(low, high, TIE)) < 0:
            near = low <= high.min() * (1.0 + TIE)
            classes = np.flatnonzero(near[self._groups.slot])
            unsure = classes[(slack[classes] > 0) & self._readable[classes]].tolist()
            if not unsure:
                self.effort.guessed += bool(slack[classes].any())
                middle = (low + high) / 2
                return int(np.argmax(middle <= middle.min() * (1.0 + TIE)))
            for c in unsure:
                self._make_exact(c)
            for slot in np.flatnonzero(near).tolist():
                self._score(slot)
        return int(slot_of_lowest)

    def _make_exact(self, c: int) -> None:
        points = np.broadcast_to(self._points, len(self._groups.slot))
        self._scores.value[c] = self._read(self._rows([c]), _NO_CLASSES).sum() / points[c]
        self._scores.slack[c] = 0.0

    # The group that takes it.

    def _host(self, group: int) -> tuple[int, bool]:
        """The group that the points of G* choose most confidently, and whether any chooses one."""
        classes = self._members(group)
        rows = self._rows(classes.tolist())
        decided = None
        known = self._known.get(classes.tobytes())
        if known is not None:
            decided = self._by_lists(group, classes, rows[self._since(rows, known.n)], known)
        if decided is None:
            decided = self._by_lists(group, classes, rows, None)
        return self._by_reading(group, classes, rows) if decided is None else (decided, True)

    def _by_lists(
        self, group: int, classes: Int, rows: Int, known: KnownBounds | None
    ) -> int | None:
        n_classes = len(self._groups.slot)
        read_low, read_high = np.zeros((2, n_classes))
        n_unread = 0
        if known is not None:
            read_low[known.at], read_high[known.at] = known.low, known.high
            n_unread = known.n_unknown
        room = 0.0
        width = np.empty(len(rows), dtype=np.float32)
        may_be_read = self._since(rows, self._readable_from)
        for share in (None, *_SHARES):
            if share is not None:
                chosen = np.empty(len(rows), dtype=bool)
                merge_loops.widest(width, share * room, chosen)
                chosen &= may_be_read
                if not chosen.any():
                    continue
                if self._matrix.rows.far:
                    self._relist()
                    may_be_read[:] = False
                else:
                    self._outside(classes, rows[chosen], read_low, read_high)
                    rows, may_be_read = rows[~chosen], may_be_read[~chosen]
                    width = width[: len(rows)]
            low, high, n_unknown = self._walk(classes, rows, width)
            low += read_low
            high += read_high
            n_unknown += n_unread
            host, room = self._best(group, low, high, n_unknown)
            if host >= 0:
                if known is not None:
                    self.effort.by_known += 1
                elif share is None:
                    self.effort.by_lists += 1
                else:
                    self.effort.by_bounds += 1
                if known is not None or share is not None:
                    self._learn(classes, low, high, n_unknown)
                return host
        return None

    def _by_reading(self, group: int, classes: Int, rows: Int) -> tuple[int, bool]:
        """The host in float64, with the rule for ties, and whether any row chooses one.

        Rows that cannot be read enter by their bounds.
        """
        readable = self._since(rows, self._readable_from)
        width = np.empty(np.count_nonzero(~readable), dtype=np.float32)
        low, high, n_unknown = self._walk(classes, rows[~readable], width)
        reassigned = self._read(rows[readable], classes)
        low, high = low + reassigned, high + reassigned
        self._learn(classes, low, high, n_unknown)
        host, _ = self._best(group, low, high, n_unknown)
        if host >= 0 or readable.all():
            self.effort.by_reading += 1
        else:
            self.effort.guessed += 1
        voted = n_unknown > 0 or bool(high.any())
        if host >= 0:
            return host, voted
        slot, n_members = self._groups.slot, self._groups.n_members
        mean = np.bincount(slot, low + high, len(slot)) / np.maximum(n_members, 1)
        mean[n_members == 0] = -1.0
        mean[group] = -1.0
        return int(np.argmax(mean >= mean.max() * (1.0 - TIE))), voted

    def _best(self, group: int, low: Float, high: Float, n_unknown: int) -> tuple[int, float]:
        slot, n_members = self._groups.slot, self._groups.n_members
        room = np.empty_like(slot)
        host, apart = merge_loops.host(
            group, low.copy(), high.copy(), slot, n_members, n_unknown, TIE, room
        )
        return int(host), float(apart)

    def _learn(self, classes: Int, low: Float, high: Float, n_unknown: int) -> None:
        at = np.flatnonzero(high)
        n = len(self._digest.label)
        self.learned[classes.tobytes()] = KnownBounds(at, low[at], high[at], n_unknown, n)

    def _walk(
        self, classes: Int, rows: Int, width: npt.NDArray[np.float32]
    ) -> tuple[Float, Float, int]:
        inside, sure_of_tail = self._inside(classes), 0.0 if self._digest.open_tail else 1.0

        def walk(part: slice) -> tuple[Float, Float, int]:
            low, high = np.zeros((2, len(inside) - 1))
            n_unknown = merge_loops.walk(
                rows[part],
                inside,
                len(classes),
                sure_of_tail,
                *self._lists,
                low,
                high,
                width[part],
                _NO_CLASSES,
            )
            return low, high, int(n_unknown)

        step = max(_WALKED, -(-len(rows) // self._threads))
        parts = [slice(i, i + step) for i in range(0, len(rows), step)] or [slice(0, 0)]
        (low, high, n_unknown), *others = self._shared(walk, parts)
        for other_low, other_high, other_unknown in others:
            low += other_low
            high += other_high
            n_unknown += other_unknown
        return low, high, n_unknown

    def _inside(self, classes: Int) -> npt.NDArray[np.uint8]:
        inside = np.zeros(len(self._groups.slot) + 1, dtype=np.uint8)
        inside[classes], inside[-1] = 1, 2
        return inside

    # Rows read again.

    def _outside(self, classes: Int, rows: Int, low: Float, high: Float) -> None:
        """Add the bounds obtained by reading rows of G*."""
        matrix, shut = self._matrix, self._shut(classes)

        def read(x: npt.NDArray[Any], at: Int, part: slice) -> tuple[Float, Float]:
            own_low, own_high = np.zeros((2, len(shut)))
            row_loops.outside(x, at, matrix.scale, shut, own_low, own_high)
            return own_low, own_high

        for own_low, own_high in self._reading(np.sort(self._number[rows]), read):
            low += own_low
            high += own_high

    def _shut(self, classes: Int) -> npt.NDArray[Any]:
        """(K,) a summand that excludes `classes` from the values of a row."""
        shut = np.zeros(len(self._groups.slot), dtype=self._matrix.dtype)
        shut[classes] = -np.inf
        return shut

    def _relist(self) -> None:
        """List all rows by the present groups, in storage order.

        Where reading is slow, this avoids reading a few rows again and again.
        """
        matrix, slot = self._matrix, self._groups.slot.astype(np.int32)
        lowest = np.finfo(matrix.dtype).min
        order = np.argsort(slot, kind="stable")
        names = np.flatnonzero(self._groups.n_members)
        start = np.concatenate(([0], np.cumsum(self._groups.n_members[names])))
        lists = self._lists
        if not lists.since.size:
            size = self._digest.size
            lists = lists._replace(
                mass=lists.weight.copy(),
                label=np.repeat(np.arange(len(size), dtype=np.int32), size),
                since=np.zeros(len(self._number), dtype=np.int32),
            )
        state = len(lists.n_since)
        now = self._groups.n_members[slot].astype(np.int32)
        self._lists = lists = lists._replace(n_since=np.concatenate([lists.n_since, now[None]]))

        def relist(x: npt.NDArray[Any], at: Int, part: slice) -> None:
            row_loops.relist(
                x,
                at,
                lowest,
                matrix.scale,
                rows[part],
                slot,
                order,
                start,
                names,
                state,
                *lists[:-1],
            )

        rows = np.argsort(self._number)
        number = self._number[rows]
        first = int(np.searchsorted(number, self._readable_from))
        number, rows = number[first:], rows[first:]
        for _ in self._reading(number, relist):
            pass

    def _read(self, rows: Int, classes: Int) -> Float:
        """(K,) winning probability of the rows that each class outside wins, in float64."""
        matrix = self._matrix
        shut = self._shut(classes)
        total = np.zeros(len(self._groups.slot))

        def read(x: npt.NDArray[Any], at: Int, part: slice) -> Float:
            own = np.zeros_like(total)
            row_loops.exact(x, at, matrix.scale, shut, own)
            return own

        for own in self._reading(np.sort(self._number[rows]), read):
            total += own
        return total

    def _reading(
        self, number: Int, work: Callable[[npt.NDArray[Any], Int, slice], Any]
    ) -> Iterator[Any]:
        """Yield `work(x, at, part)` for the rows `number[part]`, ascending, block by block.

        Row number[part][i] is x[at[i]].
        """
        number = number.astype(np.int64)
        self.effort.n_read += len(number)
        self.effort.n_read_old += int(np.searchsorted(number, self._n_old))
        row_bytes = len(self._groups.slot) * self._matrix.dtype.itemsize
        share = max(1, _LEAST_BYTES // row_bytes, -(-len(number) // self._threads))
        most = max(1, _BLOCK_BYTES // row_bytes)
        blocks = -(-share // most)
        step = -(-share // blocks)
        parts = [slice(i, i + step) for i in range(0, len(number), step)]

        def work_on(part: slice) -> Any:
            return work(*self._matrix.gather(number[part]), part)

        if self._pool is not None and self._matrix.rows.far:
            yield from self._pool.map(work_on, parts)
        else:
            yield from self._shared(work_on, parts)

    def _shared(self, work: Callable[[slice], T], parts: list[slice]) -> Iterator[T]:
        """Yield `work(part)` in order.

        The calling thread takes some of the parts as well: waking others takes as long as a few
        hundred rows.
        """
        if self._pool is None or len(parts) <= 1:
            yield from map(work, parts)
            return
        n = -(-len(parts) // self._threads)
        shares = [parts[i : i + n] for i in range(n, len(parts), n)]
        others = [self._pool.submit(_each, work, share) for share in shares]
        yield from map(work, parts[:n])
        for other in others:
            yield from other.result()

    def _rows(self, classes: Sequence[int]) -> npt.NDArray[Any]:
        parts = [self._place[self._start[c] : self._start[c + 1]] for c in classes]
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def _since(self, rows: npt.NDArray[Any], first: int) -> npt.NDArray[np.bool_]:
        """(n,) whether each of the rows has the number `first` or a later one."""
        later: npt.NDArray[np.bool_] = self._number[rows] >= first
        return later


def _each(work: Callable[[slice], T], parts: list[slice]) -> list[T]:
    return [work(part) for part in parts]


class _Lists(NamedTuple):
    """The rows' lists in order of classes; see `loops.merges.walk`."""

    listed: npt.NDArray[Any]
    weight: npt.NDArray[np.float32]
    mass: npt.NDArray[np.float32]
    tail: npt.NDArray[np.float32]
    label: npt.NDArray[np.int32]
    since: npt.NDArray[np.int32]
    n_since: npt.NDArray[np.int32]


class _Groups(NamedTuple):
    """The groups, updated by `loops.merges.join`.

    slot : (K,) the slot of each class's group.
    head, last, following : (K,) the classes of the group in a slot as a chain.
    n_members : (K,) number of classes of the group in a slot, 0 where there is none.
    node : (K,) SciPy id of the group in a slot.
    """

    slot: Int
    head: Int
    last: Int
    following: Int
    n_members: Int
    node: Int


class _Scores(NamedTuple):
    """The parts of the scores of groups; see `loops.merges.join`."""

    value: Float
    slack: Float
    size: Int
    low: Float
    high: Float
    aggregation: int


def _by_class(digest: Digest) -> tuple[npt.NDArray[Any], Int]:
    """(number, start): the rows of class c, ascending, are number[start[c]:start[c + 1]]."""
    start = np.concatenate(([0], np.cumsum(digest.size)))
    n = len(digest.label)
    order = np.empty(n, dtype=np.int32 if n < 1 << 31 else np.int64)
    merge_loops.by_class(digest.label, start, order)
    return order, start


def _arranged(digest: Digest, start: Int) -> _Lists:
    listed, weight = np.empty_like(digest.listed), np.empty_like(digest.weight)
    tail = np.empty_like(digest.tail)
    lists = digest.listed, digest.weight, digest.tail
    merge_loops.arranged(digest.label, start, *lists, listed, weight, tail)
    none = np.empty(0, dtype=np.int32)
    at_first = np.ones((1, len(digest.size)), dtype=np.int32)
    return _Lists(listed, weight, weight, tail, none, none, at_first)
