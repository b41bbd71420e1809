"""The forms that paths of clusters over time are served in: JSON by pages, CSV, pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.http.forms import Chunks, Form
from app.http.json_parts import ITEMS, json_object, shortened, slices
from app.http.picture_forms import picture_forms
from app.pictures.sheet import Sheet
from app.resources.models.paths.clusters import MOST_ENTRIES, Block, ChosenPaths
from app.resources.models.paths.schemas import PathsQuery
from models.arrays import Array
from models.tree.tree import Tree
from workers.formats.table_writers import Piece, csv_chunks, json_list, json_rows
from workers.model import sibling

DIGITS = 6
_ROWS = 4096
"""The approximate number of CSV rows in a piece."""


@dataclass(frozen=True, slots=True)
class PathsExport:
    """The paths, the tree whose leaves are the clusters, and how they are to be written."""

    paths: ChosenPaths
    tree: Tree
    query: PathsQuery
    sheet: Sheet

    @property
    def first(self) -> int:
        """The page's first period."""
        return int(self.query.cursor or 0)

    @property
    def stop(self) -> int:
        """Past the page's last period."""
        n_periods = min(self.query.limit, self.paths.page_periods)
        return min(self.first + n_periods, self.paths.n_periods)

    @property
    def next_cursor(self) -> str | None:
        return str(self.stop) if self.stop < self.paths.n_periods else None

    def nodes(self) -> list[int]:
        """The tree's node of each chosen cluster: its leaves are the clusters in order."""
        nodes: list[int] = self.tree.leaves[self.paths.chosen].tolist()
        return nodes

    def names(self) -> list[str | None]:
        names: list[str | None] = self.tree.name[self.nodes()].tolist()
        return names

    def kappa(self) -> dict[str, list[float]]:
        """Concentrations with their intervals, by name; empty if they were not requested."""
        return self.paths.kappa() if "kappa" in self.query.chosen_fields else {}


def _json(export: PathsExport) -> Chunks:
    paths = export.paths
    return json_object(
        {
            "model": paths.model_id,
            "tree": sibling(paths.model_id, "tr"),
            "dated": paths.whole.dated,
            "binned": paths.whole.ends is not None,
            "n_periods": paths.n_periods,
            "n_clusters": paths.n_clusters,
            "clusters": json_list(slices(_clusters(export), ITEMS)),
            "items": _periods(export),
            "next_cursor": export.next_cursor,
        }
    )


def _clusters(export: PathsExport) -> list[dict[str, Any]]:
    """The constants of each cluster over all periods."""
    names = [None if name is None else shortened(name) for name in export.names()]
    columns = {"cluster": export.paths.chosen, "node": export.nodes(), **export.kappa()}
    columns["name"] = names
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _periods(export: PathsExport) -> Iterator[bytes]:
    """The page's periods as a JSON array."""
    lead = b"["
    if export.first < export.stop:
        block = export.paths.block(export.first, export.stop)
        for row in range(export.stop - export.first):
            columns = {"cluster": export.paths.chosen, **_columns(export, block, row)}
            pieces = zip(*(slices(column, ITEMS) for column in columns.values()), strict=True)
            clusters = json_rows(list(columns), map(list, pieces))
            yield lead
            yield from json_object({**_period(export, block.first + row), "clusters": clusters})
            lead = b", "
    yield b"[]" if lead == b"[" else b"]"


def _period(export: PathsExport, period: int) -> dict[str, Any]:
    whole = export.paths.whole
    return {
        "period": period,
        "label": whole.labels[period],
        "until": None if whole.ends is None else whole.ends[period],
        "n_rows": whole.n_rows[period],
    }


def _columns(export: PathsExport, block: Block, row: int) -> dict[str, list[Any]]:
    """The chosen fields of each cluster in one period, by name."""
    columns: dict[str, list[Any]] = {}
    for name in export.query.chosen_fields:
        if name == "features":
            columns[name] = _features(export.paths, block, row)
        elif name != "kappa":
            values = np.round(getattr(block, name)[row], DIGITS).tolist()
            columns[name] = [None if np.isnan(value) else value for value in values]
    return columns


def _features(paths: ChosenPaths, block: Block, row: int) -> list[list[dict[str, Any]] | None]:
    if paths.whole.features is None or block.features is None or block.feature_weight is None:
        return [None] * len(paths.chosen)
    names = paths.whole.features.names
    places = block.features[row].tolist()
    weights = np.round(block.feature_weight[row], DIGITS).tolist()
    return [
        [
            {"feature": shortened(names[place]), "weight": weight}
            for place, weight in zip(own_places, own_weights, strict=True)
            if place >= 0
        ]
        for own_places, own_weights in zip(places, weights, strict=True)
    ]


def _csv(export: PathsExport) -> Chunks:
    """All periods, a row for each cluster in each."""
    columns = [name for name in export.query.chosen_fields if name != "kappa"]
    period = ["period", "label", "until", "n_rows"]
    names = [*period, "cluster", "name", *columns, *export.kappa()]
    return csv_chunks(names, _csv_pieces(export), verbatim=period)


def _csv_pieces(export: PathsExport) -> Iterator[Piece]:
    """The clusters of one period each."""
    paths, names, kappa = export.paths, export.names(), export.kappa()
    for block in paths.blocks(_ROWS):
        for row in range(len(block.weight)):
            columns = _columns(export, block, row)
            if "features" in columns:
                columns["features"] = [
                    None if features is None else "; ".join(entry["feature"] for entry in features)
                    for features in columns["features"]
                ]
            period = _period(export, block.first + row).values()
            repeated = ([value] * len(paths.chosen) for value in period)
            yield [*repeated, paths.chosen, names, *columns.values(), *kappa.values()]


def _drawn(export: PathsExport) -> str:
    from app.pictures import stream
    from app.pictures.moving import Moving

    query, paths, sheet = export.query, export.paths, export.sheet
    return stream.svg(
        Moving(
            labels=list(paths.whole.labels),
            dated=paths.whole.dated,
            n_rows=list(paths.whole.n_rows),
            names=[
                # A number that stands for no name, counted as the page counts clusters.
                f"Cluster {cluster + 1}" if name in (None, str(cluster)) else name
                for cluster, name in zip(paths.chosen, export.names(), strict=True)
            ],
            n_clusters=paths.n_clusters,
            **_whole(paths),
        ),
        px=sheet.width,
        height=sheet.height,
        font=sheet.font,
        palette=query.palette,
        theme=query.theme,
        title=query.title,
    )


def _whole(paths: ChosenPaths) -> dict[str, Array]:
    blocks = list(paths.blocks(MOST_ENTRIES))
    return {
        name: np.concatenate([getattr(block, name) for block in blocks])
        for name in ("weight", "drift", "from_first")
    }


FORMS: tuple[Form[PathsExport], ...] = (
    Form("json", "application/json", _json),
    Form("csv", "text/csv", _csv),
    *picture_forms(_drawn),
)
