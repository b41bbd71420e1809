"""What calls give besides trees: cuts, levels, evaluations, predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from umbel_client.packages import package
from umbel_client.quoting import as_arguments


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster of a cut.

    id : its number in the assignments. node : its node of the tree. size : its rows. support : how
    often it came back; None where the tree was made without.
    """

    id: int
    node: int
    size: int
    name: str | None
    support: float | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """The clusters of a cut, the largest first.

    requested : the cut as it was requested. n_clusters : how many there are, maybe more than are
    listed. n_noise : the rows of noise, in none of them. low, below : the heights that give the
    cut, from `low` and less than `below`; None: no bound, or no height does.
    """

    requested: Mapping[str, float]
    n_clusters: int
    low: float | None
    below: float | None
    smallest: int
    median: float
    largest: int
    clusters: tuple[Cluster, ...]
    warnings: tuple[str, ...]
    n_noise: int = 0

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Cut:
        heights = body.get("heights") or {}
        return cls(
            requested=body["cut"],
            n_clusters=body["n_clusters"],
            low=heights.get("from"),
            below=heights.get("below"),
            smallest=body["smallest"],
            median=body["median"],
            largest=body["largest"],
            clusters=tuple(
                Cluster(each["id"], each["node"], each["size"], each["name"], each.get("support"))
                for each in body["clusters"]
            ),
            warnings=tuple(map(as_arguments, body["warnings"])),
            n_noise=body.get("n_noise", 0),
        )

    def to_pandas(self) -> Any:
        """A row for each listed cluster. Raises MissingPackage without pandas."""
        rows = [(each.id, each.node, each.size, each.name) for each in self.clusters]
        return package("pandas", "Cut.to_pandas()").DataFrame(
            rows, columns=["cluster", "node", "size", "name"]
        )


@dataclass(frozen=True, slots=True)
class Level:
    """A cut that means something.

    k : number of clusters. height : one that gives this cut; None if none does. score : the value
    of `criterion` at this cut. curve : that for each number of clusters. names : of the clusters.
    p_value : about the probability that data without structure have as strong a level; None where
    that is not known.
    """

    k: int
    height: float | None
    criterion: str
    score: float
    curve: tuple[tuple[int, float], ...]
    names: tuple[str | None, ...] = ()
    p_value: float | None = None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Level:
        curve = tuple((int(k), float(value)) for k, value in body["curve"])
        names = tuple(cluster["name"] for cluster in body.get("clusters", ()))
        return cls(
            body["k"],
            body["height"],
            body["criterion"],
            body["score"],
            curve,
            names,
            body.get("p_value"),
        )


class Evaluation(Mapping[str, float | None]):
    """The metrics by name, as a mapping, and what belongs to them.

    standard_errors, intervals : by metric, where they were estimated. cut : the clusters that flat
    metrics were computed for. placed : of new rows, how many there are, and where they went.
    nodes : with `per_node`, each with its purity, most frequent class and exemplars. tables : of a
    classifier, each a list of rows. versus : with `against`, the differences from the other
    classifier, with the tests over `rows` and `classes`. warnings : sentences.
    body : the whole answer of the service.
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = dict(body)
        self._metrics: dict[str, float | None] = dict(body["metrics"])
        self.standard_errors: dict[str, float] = dict(body.get("standard_errors") or {})
        self.intervals: dict[str, Any] = dict(body.get("intervals") or {})
        self.cut: dict[str, Any] | None = body.get("cut")
        self.placed: dict[str, Any] | None = body.get("placed")
        self.nodes: list[dict[str, Any]] = list(body.get("nodes") or ())
        self.tables: dict[str, list[dict[str, Any]]] = dict(body.get("tables") or {})
        self.versus: dict[str, Any] | None = body.get("versus")
        self.warnings: tuple[str, ...] = tuple(map(as_arguments, body.get("warnings") or ()))

    def __getitem__(self, name: str) -> float | None:
        return self._metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_short(value)}" for name, value in self._metrics.items())
        return f"Evaluation({shown})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{_short(value)}</td></tr>"
            for name, value in self._metrics.items()
        )
        return f"<table><thead><tr><th>metric</th><th>value</th></tr></thead>{rows}</table>"

    def to_pandas(self) -> Any:
        """The metrics as a Series. Raises MissingPackage without pandas."""
        return package("pandas", "Evaluation.to_pandas()").Series(self._metrics, name="value")


class Confusions(Sequence[dict[str, Any]]):
    """Which classes are taken for which, one mapping a pair: `name`, `taken_for_name`, `mass`,
    `share`, `meet` and more; the largest first.

    matrix : (n_classes, n_classes) the masses; row: the class, column: what it is taken for.
    names : of the classes, in the order of the tree. nodes : the confusion between the children of
    each node, the largest first. source : "labels", where rows are counted, or "logits", where
    probabilities are added up. warnings : what is approximated. body : the whole
    answer of the service.
    """

    def __init__(self, body: Mapping[str, Any], matrix: npt.NDArray[np.float64]) -> None:
        self.body = dict(body)
        self.matrix = matrix
        self.source: str = body["source"]
        self.warnings: list[str] = list(body["warnings"])
        self.names: list[str | None] = [each["name"] for each in body["classes"]]
        self.nodes: list[dict[str, Any]] = list(body["nodes"])
        self._pairs: list[dict[str, Any]] = list(body["pairs"])

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        return self._pairs[index]

    def __len__(self) -> int:
        return len(self._pairs)

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{pair['name']} for {pair['taken_for_name']} ({pair['mass']:g})"
            for pair in self._pairs[:3]
        )
        more = ", ..." * (len(self) > 3)
        return f"Confusions({self.body['n_pairs']} pairs by {self.source}: {shown}{more})"

    def to_pandas(self) -> Any:
        """A row for each listed pair. Raises MissingPackage without pandas."""
        return package("pandas", "Confusions.to_pandas()").DataFrame(self._pairs)


class Merges(Sequence[dict[str, Any]]):
    """What merging classes gains and loses, one mapping a step: `node`, `name`, `n_classes`,
    `accuracy`, `bits`, `ratio`, `accuracy_low`, `accuracy_high`; from all classes to one.

    nodes : the nodes that gain most if merged alone, with `gain`, `lost_bits`, `gain_low` and
    `gain_high`. body : the whole answer of the service.
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = dict(body)
        self.nodes: list[dict[str, Any]] = list(body["nodes"])
        self._steps: list[dict[str, Any]] = list(body["steps"])

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        return self._steps[index]

    def __len__(self) -> int:
        return len(self._steps)

    def __repr__(self) -> str:
        begin = self._steps[0]
        return (
            f"Merges({begin['n_classes']} classes, accuracy {begin['accuracy']:.4g}, then merged)"
        )

    def to_pandas(self) -> Any:
        """A row for each step. Raises MissingPackage without pandas."""
        return package("pandas", "Merges.to_pandas()").DataFrame(self._steps)


class Predictions(Sequence[dict[str, Any]]):
    """The places of rows in a tree, one mapping a row: `leaf`, `path`, `probabilities`, and what
    the method adds (`label`, `labels`, `value`, ...).
    """

    def __init__(self, items: Sequence[dict[str, Any]]) -> None:
        self._items = list(items)

    @property
    def ids(self) -> list[str | None]:
        """The id of each row, of a table that has ids; None without one."""
        return [item.get("id") for item in self._items]

    @property
    def leaf(self) -> npt.NDArray[np.int64]:
        """(n_rows,) the leaf of each row."""
        return np.array([item["leaf"] for item in self._items], dtype=np.int64)

    @property
    def labels(self) -> list[str | None]:
        """The label of each row: its class, or the name of its leaf; None without one."""
        return [item.get("label") for item in self._items]

    @property
    def clusters(self) -> list[int | None]:
        """The cluster of each row in the requested cut, -1 for noise; None without one."""
        return [item.get("cluster") for item in self._items]

    @property
    def nodes(self) -> list[list[int] | None]:
        """The nodes that hold each row's class as a calibration promises; None without one."""
        return [item.get("nodes") for item in self._items]

    @property
    def paths(self) -> list[list[int]]:
        """The nodes from the root to the leaf of each row."""
        return [list(item["path"]) for item in self._items]

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> Predictions: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | Predictions:
        if isinstance(index, slice):
            return Predictions(self._items[index])
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Predictions({len(self)} rows)"

    def to_pandas(self) -> Any:
        """A row for each row, a column for each field. Raises MissingPackage without pandas."""
        frame = package("pandas", "Predictions.to_pandas()").DataFrame(self._items)
        return frame.dropna(axis="columns", how="all")


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
