"""The forms that paths of clusters over time are served in."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.forms import parts
from app.forms import tree as forms
from app.forms.cluster_paths import Block, ClusterPaths
from app.schemas.paths import PathsQuery
from models.arrays import Array
from models.tree.tree import Tree
from workers.model import sibling

DIGITS = 6
_ROWS = 4096
"""Rows of CSV that are written at a time, about."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The paths, the tree that has the clusters' names, and what was asked."""

    paths: ClusterPaths
    tree: Tree
    query: PathsQuery

    @property
    def first(self) -> int:
        return int(self.query.cursor or 0)

    @property
    def stop(self) -> int:
        """Past the page's last period."""
        many = min(self.query.limit, self.paths.at_once)
        return min(self.first + many, self.paths.n_periods)

    @property
    def following(self) -> str | None:
        return str(self.stop) if self.stop < self.paths.n_periods else None

    def names(self) -> list[str | None]:
        found: list[str | None] = self.tree.name[self.paths.nodes(self.tree)].tolist()
        return found


def _json(wanted: Wanted) -> Iterator[bytes]:
    paths = wanted.paths
    yield parts.opened(
        {
            "model": paths.model_id,
            "tree": sibling(paths.model_id, "tr"),
            "dated": paths.dated,
            "binned": paths.ends is not None,
            "n_periods": paths.n_periods,
            "n_clusters": paths.n_clusters,
        }
    )
    yield b', "clusters": '
    yield from parts.listed(parts.parted(_clusters(wanted), parts.ITEMS))
    yield b', "items": '
    yield from _items(wanted)
    yield f', "next_cursor": {json.dumps(wanted.following)}}}'.encode()


def _clusters(wanted: Wanted) -> list[dict[str, Any]]:
    paths = wanted.paths
    kappa = paths.kappa if "kappa" in wanted.query.said else {}
    columns = {"cluster": paths.chosen, "node": paths.nodes(wanted.tree), **kappa}
    items = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for item, name in zip(items, wanted.names(), strict=True):
        item["name"] = None if name is None else parts.told(name)
    return items


def _items(wanted: Wanted) -> Iterator[bytes]:
    paths = wanted.paths
    lead = b"["
    if wanted.first < wanted.stop:
        block = paths.block(wanted.first, wanted.stop)
        for row in range(wanted.stop - wanted.first):
            period = wanted.first + row
            head = {
                "period": period,
                "label": paths.labels[period],
                "until": None if paths.ends is None else paths.ends[period],
                "n_rows": paths.n_rows[period],
            }
            said = {"cluster": paths.chosen, **_said(wanted, block, row)}
            rows = list(zip(*said.values(), strict=True))
            yield lead + parts.opened(head) + b', "clusters": '
            yield from parts.listed(
                [dict(zip(said, one, strict=True)) for one in part]
                for part in parts.parted(rows, parts.ITEMS)
            )
            yield b"}"
            lead = b", "
    yield b"[]" if lead == b"[" else b"]"


def _said(wanted: Wanted, block: Block, row: int) -> dict[str, list[Any]]:
    """By field what is said of each cluster in a period."""
    found: dict[str, list[Any]] = {}
    for name in wanted.query.said:
        if name == "features":
            found[name] = _told(wanted.paths, block, row)
        elif name != "kappa":
            values: Array = getattr(block, name)[row]
            rounded = np.round(values, DIGITS).tolist()
            found[name] = [None if np.isnan(one) else one for one in rounded]
    return found


def _told(paths: ClusterPaths, block: Block, row: int) -> list[list[dict[str, Any]] | None]:
    if block.told is None or block.told_weight is None:
        return [None] * len(paths.chosen)
    names = paths.names
    places, weights = block.told[row].tolist(), np.round(block.told_weight[row], DIGITS).tolist()
    return [
        [
            {"feature": parts.told(names[place]), "weight": weight}
            for place, weight in zip(own, heavy, strict=True)
            if place >= 0
        ]
        for own, heavy in zip(places, weights, strict=True)
    ]


def _csv(wanted: Wanted) -> Iterator[bytes]:
    """All periods, a row for each cluster in each."""
    paths = wanted.paths
    said = [name for name in wanted.query.said if name != "kappa"]
    kappa = paths.kappa if "kappa" in wanted.query.said else {}
    fixed = ["" if name is None else forms.cell(name) for name in wanted.names()]
    heads = ["period", "label", "until", "n_rows", "cluster", "name", *said, *kappa]
    yield ",".join(heads).encode() + b"\r\n"
    for block in paths.blocks(_ROWS):
        text = io.StringIO()
        writer = csv.writer(text)
        for row in range(len(block.weight)):
            period = block.first + row
            head = [
                period,
                paths.labels[period],
                "" if paths.ends is None else paths.ends[period],
                paths.n_rows[period],
            ]
            columns = _said(wanted, block, row)
            writer.writerows(
                [*head, *map(_cell, one)]
                for one in zip(paths.chosen, fixed, *columns.values(), *kappa.values(), strict=True)
            )
        yield text.getvalue().encode()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, list):
        return forms.cell("; ".join(one["feature"] for one in value))
    return value


def _svg(wanted: Wanted) -> Iterator[bytes]:
    yield _drawn(wanted).encode()


def _png(wanted: Wanted) -> Iterator[bytes]:
    from app.pictures.png import png

    yield png(_drawn(wanted), wanted.query.px)


def _drawn(wanted: Wanted) -> str:
    from app.pictures import stream
    from app.pictures.moving import Moving

    query = wanted.query
    return stream.svg(
        Moving(
            labels=wanted.paths.labels,
            dated=wanted.paths.dated,
            n_rows=wanted.paths.n_rows,
            names=[
                str(cluster) if name is None else name
                for cluster, name in zip(wanted.paths.chosen, wanted.names(), strict=True)
            ],
            n_clusters=wanted.paths.n_clusters,
            **_whole(wanted.paths),
        ),
        px=query.px,
        height=query.height,
        palette=query.palette,
        theme=query.theme,
        title=query.title,
    )


def _whole(paths: ClusterPaths) -> dict[str, Array]:
    blocks = list(paths.blocks())
    return {
        name: np.concatenate([getattr(block, name) for block in blocks])
        for name in ("weight", "drift", "from_first")
    }


FORMS: tuple[forms.Form[Wanted], ...] = (
    forms.Form("json", "application/json", _json),
    forms.Form("csv", "text/csv", _csv),
    forms.Form("svg", "image/svg+xml", _svg),
    forms.Form("png", "image/png", _png),
)
