"""What is known of rows before a fit: pairs of one cluster or of different clusters, neighbours.

`read_pairs` reads them; `join` gives the known clusters that follow from pairs and labels.

Statements are groups of rows, each of one cluster that may have a name, and pairs of groups that
are of different clusters. Groups that share a row, or a name, are one cluster. What follows from
that may contradict a statement: then each contradiction has the chain of groups that leads there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice, pairwise

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Int, Mask
from models.errors import UsageError, shown
from models.inputs.data import Data

MOST = 20
"""The most contradictions that are described by default, and rows that are listed of one."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Statements about `n_rows` rows.

    row, group : (n,) the row is in the group, each pair once; a group has at least one row.
    name : (n_groups,) places in `names`, -1 for a group without a name.
    names : distinct.
    apart : (m, 2) groups that are of different clusters; a group is never apart from itself.
    """

    n_rows: int
    row: Int
    group: Int
    name: Int
    names: Sequence[str]
    apart: Int

    @property
    def n_groups(self) -> int:
        return int(self.name.size)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two groups that cannot both be so.

    groups : the chain from one to the other, both ends included.
    links : what each has in common with the next: a row, or a name.
    pair : the place in `apart` of the pair that is contradicted; None where both ends have names.
    n_rows, rows : how many rows each group of the chain has in common with the next, and the first
        `MOST` of them.
    """

    groups: tuple[int, ...]
    links: tuple[int | str, ...]
    pair: int | None
    n_rows: int
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """code : (n_rows,) the cluster of each row, -1 where none is known.

    names : of the clusters: given ones first, in their order, then 'cluster 1', ... by first row.
    n_named : clusters with a given name.
    """

    code: Int
    names: list[str]
    n_named: int


def known(groups: Groups, component: Int | None = None) -> Known:
    """The clusters of groups that do not contradict each other. O(n_rows + n log n).

    component : of each row and group, where it is known.
    """
    component = _components(groups) if component is None else component
    of_group = component[groups.n_rows : groups.n_rows + groups.n_groups]
    present = np.unique(groups.name[groups.name >= 0])
    cluster = np.full(int(component.max(initial=-1)) + 1, -1, dtype=np.int64)
    named = groups.name >= 0
    cluster[of_group[named]] = np.searchsorted(present, groups.name[named])
    unnamed = np.setdiff1d(of_group, of_group[named])
    stated = component[: groups.n_rows]
    rows = np.flatnonzero(np.isin(stated, unnamed))
    first = np.unique(stated[rows], return_index=True)
    cluster[first[0][np.argsort(first[1])]] = present.size + np.arange(first[0].size)
    names = [groups.names[place] for place in present.tolist()]
    return Known(cluster[stated], [*names, *_free_names(names, first[0].size)], int(present.size))


def contradictions(
    groups: Groups, most: int = MOST, component: Int | None = None
) -> tuple[int, list[Contradiction]]:
    """The number of contradictions, and the first `most` of them.

    component : of each row and group, where it is known.

    Two groups with different names contradict each other if they share a row, or are linked by
    groups without a name; of several that meet, each counts with the first that it contradicts. A
    pair that is apart is contradicted if both groups are of one cluster. O(n_rows + n log n), again
    for each that is described.
    """
    pairs = _named_pairs(groups)
    component = (_components(groups) if component is None else component)[groups.n_rows :]
    together = np.flatnonzero(component[groups.apart[:, 0]] == component[groups.apart[:, 1]])
    described = [_of_names(groups, first, second) for first, second in pairs[:most].tolist()]
    described += [_of_pair(groups, pair) for pair in together[: most - len(described)].tolist()]
    return len(pairs) + together.size, described


def _free_names(taken: Sequence[str], n: int) -> list[str]:
    """n names that are not taken."""
    others = set(taken)
    free = (name for number in count(1) if (name := f"cluster {number}") not in others)
    return list(islice(free, n))


def _graph(groups: Groups, kept: Mask | None = None) -> sp.csr_array:
    """Rows, then groups, then names, joined where one has the other.

    kept : (n_groups,) the groups to join with their rows; those alone, without their names.
    """
    n_rows, n_groups = groups.n_rows, groups.n_groups
    row, group = groups.row, groups.group
    if kept is None:
        named = np.flatnonzero(groups.name >= 0)
        tail = np.concatenate([row, n_rows + named])
        head = np.concatenate([n_rows + group, n_rows + n_groups + groups.name[named]])
    else:
        tail, head = row[kept[group]], n_rows + group[kept[group]]
    size = n_rows + n_groups + len(groups.names)
    edges = sp.coo_array((np.ones(tail.size, dtype=np.int8), (tail, head)), shape=(size, size))
    return edges.tocsr()


def _components(groups: Groups, kept: Mask | None = None) -> Int:
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(_graph(groups, kept), directed=False)[1], np.int64)


def _named_pairs(groups: Groups) -> Int:
    """(n, 2) pairs of groups with different names that meet: in a row, or through groups without
    a name."""
    if not groups.names:
        return np.empty((0, 2), dtype=np.int64)
    component = _components(groups, groups.name < 0)
    member = groups.name[groups.group] >= 0
    places = component[groups.row[member]] * groups.n_groups + groups.group[member]
    place, group = np.divmod(np.unique(places), max(1, groups.n_groups))
    name = groups.name[group]
    _, start, number = np.unique(place, return_index=True, return_inverse=True)
    differs = name != name[start][number]
    # At each place the first group with another name than the first group; -1: there is none.
    other = np.full(start.size, -1, dtype=np.int64)
    several, begin = np.unique(number[differs], return_index=True)
    other[several] = group[differs][begin]
    partner = np.where(differs, group[start][number], other[number])
    pairs = np.sort(np.stack([group, partner], axis=1)[partner >= 0], axis=1)
    return np.unique(pairs, axis=0)


def _of_names(groups: Groups, first: int, second: int) -> Contradiction:
    kept = groups.name < 0
    kept[[first, second]] = True
    return _chain(groups, _graph(groups, kept), first, second, None)


def _of_pair(groups: Groups, pair: int) -> Contradiction:
    first, second = groups.apart[pair].tolist()
    return _chain(groups, _graph(groups), first, second, pair)


def _chain(
    groups: Groups, graph: sp.csr_array, first: int, second: int, pair: int | None
) -> Contradiction:
    """The shortest chain between two groups."""
    from scipy.sparse.csgraph import breadth_first_order

    begin = groups.n_rows
    _, before = breadth_first_order(graph, begin + first, directed=False)
    path = [begin + second]
    while path[-1] != begin + first:
        path.append(int(before[path[-1]]))
    path.reverse()
    chain = tuple(node - begin for node in path[::2])
    names = begin + groups.n_groups
    links = tuple(groups.names[node - names] if node >= names else node for node in path[1::2])
    common = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *_common(groups, chain)]))
    return Contradiction(chain, links, pair, common.size, tuple(common[:MOST].tolist()))


def _common(groups: Groups, chain: Sequence[int]) -> Iterator[Int]:
    """The rows that each group of a chain has in common with the next."""
    for first, second in pairwise(chain):
        own, next_ = (groups.row[groups.group == group] for group in (first, second))
        yield np.intersect1d(own, next_)


MUST, CANNOT = "must_link", "cannot_link"
_LISTED = 3
"""The most contradictions that a message spells out, and steps of one."""


def read_pairs(data: Data, role: str, n_rows: int, names: list[str] | None = None) -> Int:
    """(n, 2) the rows of an input of pairs; none without it.

    names : of the rows, by which text names them; None where pairs are numbers alone.

    Raises UsageError, naming the pair, for what is no row, for a name that no row or several have,
    and for a row paired with itself.
    """
    if role not in data:
        return np.empty((0, 2), dtype=np.int64)
    given = data.values[role]
    if names is not None and isinstance(given, np.ndarray) and given.dtype == object:
        values = _numbered(given, role, names)
    else:
        values = data.dense(role)
    if values.shape[1] != 2:
        raise UsageError(
            f"Input {role!r} must have two columns, the numbers of two rows; it has "
            f"{values.shape[1]}.",
            code="wrong-shape",
            role=role,
        )
    with np.errstate(invalid="ignore"):
        wrong = ~((values >= 0) & (values < n_rows) & (values == np.floor(values)))
    if wrong.any():
        row, column = (int(place) for place in np.argwhere(wrong)[0])
        raise _refused(
            role,
            row,
            f"has {values[row, column]:g} at row {row}, column {column} (counted from 0); rows of "
            f"the features are numbered 0 to {n_rows - 1}",
        )
    pairs = values.astype(np.int64)
    itself = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if itself.size:
        row = int(itself[0])
        raise _refused(
            role,
            row,
            f"pairs row {pairs[row, 0]} with itself at row {row} (counted from 0); a pair is of "
            "two different rows",
        )
    return pairs


def join(code: Int, names: list[str], must: Int, cannot: Int) -> Known:
    """The known clusters of labels and pairs.

    code : (n_rows,) the label of each row, -1 without one. names : of the labels, each of which
        has a row. must, cannot : (n, 2) rows.

    Raises UsageError `contradiction`, with the chain of labels and pairs that leads to each.
    """
    if not must.size and not cannot.size:
        return Known(code, names, len(names))
    labelled = np.flatnonzero(code >= 0)
    first_must, first_cannot = len(names), len(names) + len(must)
    n_groups = first_cannot + cannot.size
    ends = first_cannot + np.arange(cannot.size)
    groups = Groups(
        code.size,
        np.concatenate([labelled, must.ravel(), cannot.ravel()]),
        np.concatenate([code[labelled], first_must + np.arange(must.size) // 2, ends]),
        np.where(np.arange(n_groups) < len(names), np.arange(n_groups), -1),
        names,
        ends.reshape(-1, 2),
    )
    component = _components(groups)
    number, described = contradictions(groups, component=component)
    if number:
        spelled = [_sentence(each, names, must, cannot) for each in described[:_LISTED]]
        more = f" There are {number} contradictions in all." if number > len(spelled) else ""
        raise UsageError(
            f"{'Labels and pairs' if names else 'Pairs'} of rows (counted from 0) contradict each "
            f"other: "
            f"{'; '.join(spelled)}.{more}",
            code="contradiction",
            role=CANNOT if described[0].pair is not None else MUST,
            rows=list(described[0].rows),
        )
    return known(groups, component)


def _sentence(each: Contradiction, names: list[str], must: Int, cannot: Int) -> str:
    """What contradicts what, and by which labels and pairs."""
    if each.pair is None:
        (first, *_, last), (row, *_, other) = each.groups, each.links
        what = (
            f"row {row} is labelled {shown(names[first])} and row {other} {shown(names[last])}, "
            "yet they are one cluster"
        )
    else:
        row, other = cannot[each.pair].tolist()
        what = f"rows {row} and {other} are apart ({CANNOT!r}, pair {each.pair}), yet one cluster"
    # The ends of a chain are the statement itself: labels, or rows that are apart.
    inner = each.groups[1:-1]
    steps = []
    for group, (before, after) in zip(inner, pairwise(each.links), strict=True):
        if group < len(names):
            steps.append(f"{before} and {after} are labelled {shown(names[group])}")
        else:
            pair = group - len(names)
            steps.append(f"{before} and {after} are linked ({MUST!r}, pair {pair})")
    cut = [*steps[:_LISTED], f"and so on, in {len(steps)} steps"]
    return f"{what}: {', '.join(steps if len(steps) <= _LISTED else cut)}"


def _refused(role: str, row: int, why: str) -> UsageError:
    return UsageError(f"Input {role!r} {why}.", code="wrong-input", role=role, row=row)


def _numbered(pairs: npt.NDArray[np.object_], role: str, names: list[str]) -> Int:
    """The row of each name. Raises UsageError for a name that no row or several rows have."""
    row_of: dict[str, int] = {}
    twice: set[str] = set()
    for row, name in enumerate(names):
        if row_of.setdefault(name, row) != row:
            twice.add(name)
    for pair, ends in enumerate(pairs.tolist()):
        for end in map(str, ends):
            if end not in row_of:
                raise _refused(
                    role,
                    pair,
                    f"names {shown(end)} at row {pair} (counted from 0), "
                    "which is the name of no row; names are of the input 'names', "
                    "without it the rows' numbers from 0",
                )
            if end in twice:
                raise _refused(
                    role,
                    pair,
                    f"names {shown(end)} at row {pair} (counted from 0), "
                    "which is the name of several rows; give their numbers",
                )
    flat = [row_of[str(end)] for end in pairs.ravel().tolist()]
    return np.array(flat, dtype=np.int64).reshape(pairs.shape)
