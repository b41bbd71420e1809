"""A report as one HTML file, to be sent by mail or kept by a pipeline: pictures are inside."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from umbel_client import display
from umbel_client.calibration import Calibration
from umbel_client.comparison import Comparison
from umbel_client.drift import Drift
from umbel_client.errors import InputError, ProblemError
from umbel_client.problems import NotFound
from umbel_client.tree import Tree

N_ROWS = 50
"""Rows of a table at most; how many there are stands below it."""

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1d2330;background:#fff}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}
p.of{color:#5b6472;margin:.2rem 0 1rem}img{max-width:100%;height:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.wide{overflow-x:auto}th,td{text-align:left;padding:.2rem .9rem .2rem 0;
border-bottom:1px solid #dfe3ea;vertical-align:top;overflow-wrap:anywhere}
th{font-weight:600;color:#5b6472}ul.warnings{background:#fff6e0;padding:.6rem 1rem .6rem 2rem}
@media(prefers-color-scheme:dark){body{color:#e6e9ef;background:#14171d}
th,p.of{color:#9aa4b5}th,td{border-color:#2c323d}ul.warnings{background:#3a3013}
img{background:#fff}}
""".replace("\n", "")

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""Nothing in the file runs or loads anything, whatever names in it look like."""


def report(thing: Tree | Comparison | Calibration | Drift) -> str:
    """A tree, a comparison, a calibration or a drift as an HTML document without further files.

    It has the thing's name, warnings, figures, picture and tables of at most 50 rows. Names are
    text, whatever they look like; the document runs no script and loads nothing.

    Raises InputError for another thing; as the service's answers do.
    """
    if isinstance(thing, Tree):
        title, sections = thing.facts.name or thing.facts.method, _tree(thing)
        of = display.title(thing.facts)
    elif isinstance(thing, Comparison):
        title, sections, of = _named(thing, "Comparison"), _comparison(thing), thing.id
    elif isinstance(thing, Calibration):
        title, sections, of = _named(thing, "Calibration"), _calibration(thing), repr(thing)[1:-1]
    elif isinstance(thing, Drift):
        title, sections, of = _named(thing, "Drift"), _drift(thing), repr(thing)[1:-1]
    else:
        raise InputError(
            "report", "there are reports of trees, comparisons, calibrations and drifts."
        )
    body = "".join(sections)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>"
        f'<h1>{escape(title)}</h1><p class="of">{escape(of)}</p>'
        f"{_warnings(thing.warnings)}{body}</main></body></html>\n"
    )


def _named(thing: Comparison | Calibration | Drift, kind: str) -> str:
    return str(thing.body.get("name") or kind)


def _warnings(sentences: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f'<ul class="warnings">{items}</ul>' if items else ""


def _tree(tree: Tree) -> Iterator[str]:
    yield _picture("The tree", tree.content(".svg", px=1000), tree.facts.name or tree.facts.method)
    if tree.metrics:
        yield _facts("Figures", dict(tree.metrics))
    levels = [
        {"clusters": level.k, "height": level.height, "p value": level.p_value}
        for level in tree.levels()
    ]
    if levels:
        yield _table("Cuts that stand out", levels)
    try:
        found = tree._document("/confusions", "pairs", {"limit": N_ROWS})
    except (NotFound, ProblemError):
        return
    pairs = [
        {
            "class": pair["name"],
            "taken for": pair["taken_for_name"],
            "share": pair["share"],
            "rows": pair["mass"],
        }
        for pair in found["pairs"]
    ]
    yield _table("What is taken for what", pairs, int(found["n_pairs"]))


def _comparison(comparison: Comparison) -> Iterator[str]:
    rows = [
        {name: own for name, own in row.items() if name != "tree" and own is not None}
        for row in comparison.rows()
    ]
    yield _table("Methods", rows)


def _calibration(calibration: Calibration) -> Iterator[str]:
    svg = calibration._connection.raw(f"{calibration._path}/curve.svg", {})
    yield _picture("How sure answers are", svg, "selective curve")
    yield _facts("Figures", calibration.body.get("result") or {})
    suspects = [
        {
            "row": each.get("id", each["row"]),
            "label": each["label_name"],
            "likely": each["likely_name"],
            "probability of label": each["of_label"],
            "of likely": each["of_likely"],
        }
        for each in calibration.suspects
    ]
    yield _table("Labels that look wrong", suspects)
    pairs = [
        {
            "node": each["node_name"],
            "other": each["other_name"],
            "rows": each["n_rows"],
            "confused": each["n_confused"],
            "rate": each["rate"],
        }
        for each in calibration.pairs
    ]
    yield _table("Pairs that need more data", pairs)


def _drift(drift: Drift) -> Iterator[str]:
    if drift.svg:
        yield _picture("What moved", drift.svg.encode(), "changes")
    columns = ("aspect", "name", "direction", "before", "after", "low", "high", "p_value")
    moves = [{name: move.get(name) for name in columns} for move in drift.moves]
    yield _table("The surest changes", moves, drift.n_moves)
    aspects = [dict(each) for each in (drift.body.get("result") or {}).get("aspects", ())]
    yield _table("What was compared", aspects)


def _picture(title: str, svg: bytes, alt: str) -> str:
    data = b64encode(svg).decode()
    return (
        f'<h2>{escape(title)}</h2><img src="data:image/svg+xml;base64,{data}" alt="{escape(alt)}">'
    )


def _facts(title: str, facts: Mapping[str, Any]) -> str:
    return _table(title, [{"figure": name, "value": value} for name, value in facts.items()])


def _table(title: str, rows: Sequence[Mapping[str, Any]], n_rows: int | None = None) -> str:
    """n_rows : how many there are, where not all are given. Nothing where there are none."""
    if not rows:
        return ""
    n_rows = max(len(rows), n_rows or 0)
    shown = [{name: _cell(value) for name, value in row.items()} for row in rows[:N_ROWS]]
    names = list(dict.fromkeys(name for row in shown for name in row))
    names = [name for name in names if any(row.get(name) for row in shown)]
    rest = "" if n_rows <= len(shown) else f'<p class="of">{len(shown)} of {n_rows:,}.</p>'
    return (
        f'<h2>{escape(title)}</h2><div class="wide">{display.table_html(names, shown)}</div>{rest}'
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_cell(each)}" for name, each in value.items())
    return str(value)
