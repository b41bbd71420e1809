"""A report as one HTML file, to be sent by mail or kept by a pipeline: pictures are inside."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

from umbel_client.calibration import Calibration
from umbel_client.comparison import Comparison
from umbel_client.drift import Drift
from umbel_client.errors import InputError, ProblemError
from umbel_client.origin import Origin, changed
from umbel_client.problems import NotFound
from umbel_client.quoting import plain
from umbel_client.tree import Tree
from umbel_client.version import VERSION

N_ROWS = 50
"""Rows of a table at most; how many there are stands below it."""

N_COLUMNS = 8
"""Runs of a comparison that stand side by side; more stand one below the other."""

N_CHARTS = 6
"""Metrics of a comparison that have a chart."""

N_RECTANGULAR = 40
"""Leaves of trees that are drawn from left to right; larger ones are round."""

N_COLOURS = 12
"""Clusters that a picture tells apart by colour."""

MOST_BYTES = 4_000_000
"""The largest picture; a larger one is left out."""

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1d2330;background:#fff}
h1{font-size:1.5rem;line-height:1.25;margin:0;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:2rem 0 .5rem}
p.of{color:#5b6472;margin:.2rem 0 1rem;overflow-wrap:anywhere}
p.rest{color:#5b6472;margin:.3rem 0}
ul.found{font-size:1.05rem;padding-left:1.2rem;margin:.8rem 0;overflow-wrap:anywhere}
img{display:block;max-width:100%;max-height:52rem;height:auto;margin:0 auto 0 0}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td.whole{max-width:none}.wide{overflow-x:auto}th,td{text-align:left;padding:.2rem 1rem .2rem 0;
border-bottom:1px solid #dfe3ea;vertical-align:top}
td{max-width:20rem;overflow-wrap:break-word}td.n,th.n{text-align:right;white-space:nowrap}
th{font-weight:600;color:#5b6472;white-space:nowrap}td.best{font-weight:700}
ul.warnings{background:#fff6e0;padding:.6rem 1rem .6rem 2rem;overflow-wrap:anywhere}
pre{background:#f3f5f8;padding:.7rem 1rem;white-space:pre-wrap;overflow-wrap:anywhere;margin:0}
footer{color:#5b6472;margin:2.5rem 0 0;font-size:.85rem;border-top:1px solid #dfe3ea;
padding-top:.6rem}
@media(prefers-color-scheme:dark){body{color:#e6e9ef;background:#14171d}
th,p.of,p.rest,footer{color:#9aa4b5}th,td,footer{border-color:#2c323d}
ul.warnings{background:#3a3013}pre{background:#1f242d}img{background:#fff}}
@media print{body{margin:0;max-width:none}h2{break-after:avoid}tr,img{break-inside:avoid}}
""".replace("\n", "")

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""Nothing in the file runs or loads anything, whatever names in it look like."""

Sections: TypeAlias = tuple[list[str], list[str]]
"""What was found as sentences, and the parts below, both HTML."""

_LEFT_OUT = f"Names of more than 80 characters are cut, tables have at most {N_ROWS} rows."


def report(
    thing: Tree | Comparison | Calibration | Drift, files: Mapping[str, str] | None = None
) -> str:
    """A tree, a comparison, a calibration or a drift as an HTML document without further files.

    It has the thing's name and data, what was found in sentences, warnings, the picture, tables of
    at most 50 rows, how it was made and a command that repeats it. Names are text, whatever they
    look like; the document runs no script and loads nothing. Its size is bounded: large trees are
    drawn with folded subtrees, and words say what is left out.

    files : names of the inputs by role, for those that the service no longer has.

    Raises InputError for another thing; as the service's answers do.
    """
    if not isinstance(thing, (Tree, Comparison, Calibration, Drift)):
        raise InputError(
            "report", "there are reports of trees, comparisons, calibrations and drifts."
        )
    kind = next(each.__name__ for each in _KINDS if isinstance(thing, each))
    if isinstance(thing, Tree):
        title, job = thing.facts.name, thing.job
        body: Mapping[str, Any] = {"created_at": thing.facts.created_at}
    else:
        title, job, body = thing.name, str(thing.body["job"]), thing.body
    origin = Origin.of(thing._connection, job, files or {}, body)
    data = origin.names()
    if not title:
        title = f"{kind} of {data}" if data else f"{kind} {thing.id}"
    found, parts = _sections(thing, origin)
    subject = [f"{kind} of {_text(data)}" if data else kind, _time(body.get("created_at"))]
    sentences = "".join(f"<li>{sentence}</li>" for sentence in found)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(plain(title))}</title><style>{_STYLE}</style></head><body><main>"
        f'<h1>{_text(title)}</h1><p class="of">{" · ".join(each for each in subject if each)}</p>'
        f'<ul class="found">{sentences}</ul>{_warnings(thing.warnings)}{"".join(parts)}'
        f"{_made(thing.id, origin, body)}"
        f"<footer>{_LEFT_OUT} Written by umbel-client {VERSION}.</footer></main></body></html>\n"
    )


_KINDS = (Tree, Comparison, Calibration, Drift)


def _sections(thing: Tree | Comparison | Calibration | Drift, origin: Origin) -> Sections:
    if isinstance(thing, Tree):
        return _tree(thing, origin)
    if thing.status != "succeeded":
        detail = (thing.body.get("error") or {}).get("detail")
        why = f": {_text(detail, 500)}" if detail else "."
        return [f"It has no result; its status is {_text(thing.status)}{why}"], []
    if isinstance(thing, Comparison):
        return _comparison(thing, origin)
    return _calibration(thing, origin) if isinstance(thing, Calibration) else _drift(thing)


def _warnings(sentences: Sequence[str]) -> str:
    items = "".join(f"<li>{_text(sentence, 1000)}</li>" for sentence in sentences[:N_ROWS])
    rest = len(sentences) - N_ROWS
    more = f"<li>{rest:,} further warnings are left out.</li>" if rest > 0 else ""
    return f'<ul class="warnings">{items}{more}</ul>' if items else ""


def _text(text: Any, limit: int = 80) -> str:
    """A foreign text as HTML, cut, which changes nothing around it."""
    return f"<bdi>{escape(plain(str(text), limit))}</bdi>"


def _time(text: Any) -> str:
    """`2026-11-29T15:26:52.964005Z` without fractions of a minute."""
    return f"{str(text)[:16].replace('T', ' ')} UTC" if text else ""


def _n(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"


def _p(value: float | None) -> str:
    return "" if value is None else f" (p = {value:.2g})"


def _tree(tree: Tree, origin: Origin) -> Sections:
    facts = tree.facts
    data = f" of {_text(origin.names())}" if origin.names() else ""
    found = [
        f"{_text(facts.method)} made a tree of {facts.n_leaves:,} leaves from "
        f"{_n(facts.n_points, 'row')}{data}."
        if facts.method != "import"
        else f"An imported tree of {facts.n_leaves:,} leaves and {_n(facts.n_points, 'row')}."
    ]
    parts = []
    levels = tree._document("/levels", "levels")
    rows = [
        {"clusters": level["k"], "height": level["height"], "p value": level["p_value"]}
        for level in levels["levels"]
    ]
    drawn: dict[str, Any] = {"px": 1000}
    if facts.n_leaves <= N_RECTANGULAR:
        drawn["shape"] = "rectangular"
    if rows and 1 < rows[0]["clusters"] <= N_COLOURS:
        drawn["color_by"] = f"cluster:{rows[0]['clusters']}"
    svg = tree.content(".svg", **drawn)
    parts.append(_picture("The tree", svg, facts.name or facts.method))
    if "color_by" in drawn:
        parts.append('<p class="rest">Coloured by the coarsest cut that stands out.</p>')
    if b"folded subtrees" in svg:
        parts.append(
            f'<p class="rest">There is no room for all {facts.n_leaves:,} leaves: small subtrees '
            "are folded into wedges. The page of the service opens them.</p>"
        )
    if rows:
        first = rows[0]
        coarsest = f"{_n(first['clusters'], 'cluster')}{_p(first['p value'])}"
        found.append(
            f"One cut stands out: {coarsest}."
            if len(rows) == 1
            else f"{len(rows)} cuts stand out; the coarsest has {coarsest}."
        )
        parts.append(_table("Cuts that stand out", rows))
        cut = tree._document("/cut", "clusters", {"k": first["clusters"], "limit": N_ROWS})
        clusters = [
            {
                "cluster": each["name"] or f"node {each['node']}",
                "rows": each["size"],
                "share": _percent(each["size"] / max(1, facts.n_points)),
            }
            for each in cut["clusters"]
        ]
        parts.append(_table("Clusters of the coarsest of them", clusters, int(cut["n_clusters"])))
    else:
        found.append(f"No cut stands out. {_text(levels.get('reason') or '', 300)}")
    pairs = _confusions(tree)
    if pairs is not None and pairs["pairs"]:
        most = pairs["pairs"][0]
        found.append(
            f"Most often {_text(most['name'])} is taken for {_text(most['taken_for_name'])}: "
            f"{_percent(most['share'])} of its rows."
        )
        rows = [
            {
                "class": pair["name"],
                "taken for": pair["taken_for_name"],
                "share": _percent(pair["share"]),
                "expected rows": pair["mass"],
            }
            for pair in pairs["pairs"]
        ]
        parts.append(_table("What is taken for what", rows, int(pairs["n_pairs"])))
    if tree.metrics:
        parts.append(_facts("Figures", dict(tree.metrics)))
    return found, parts


def _confusions(tree: Tree) -> dict[str, Any] | None:
    """None for a tree that has none."""
    try:
        return tree._document("/confusions", "pairs", {"limit": N_ROWS})
    except ProblemError as error:
        if isinstance(error, NotFound) or error.status in (409, 422):
            return None
        raise


def _comparison(comparison: Comparison, origin: Origin) -> Sections:
    table = comparison.table
    rows = comparison.rows()
    names = [_run_name(row) for row in table]
    best = comparison.best
    failed = sum(row["error"] is not None for row in rows)
    seeds = max((row["seeds"] for row in rows), default=0)
    data = f" on {_text(origin.names())}" if origin.names() else ""
    found = [f"{_n(len(rows), 'run')} with up to {_n(seeds, 'seed')} each{data}."]
    leads: dict[int, list[str]] = {}
    for metric, row in best.items():
        leads.setdefault(row, []).append(metric)
    for row, metrics in sorted(leads.items(), key=lambda lead: -len(lead[1])):
        found.append(f"{_text(names[row])} is best by {_text(', '.join(metrics), 300)}.")
    if failed:
        found.append(f"{_n(failed, 'run')} failed; the table says why.")
    metrics = list(dict.fromkeys(name for row in table for name in row["metrics"]))
    charted = [metric for metric in metrics if metric in best] or metrics
    parts = [_picture("Means over seeds", _bars(table, names, charted, best), "means of metrics")]
    if len(charted) > N_CHARTS:
        parts.append(
            f'<p class="rest">{N_CHARTS} of {len(charted)} metrics are drawn; the table has all.'
            "</p>"
        )
    spreads = [
        {metric: _spread(row["metrics"].get(metric)) for metric in metrics}
        | {"seconds": _spread(row["seconds"]), "error": (row.get("error") or {}).get("detail")}
        for row in table
    ]
    if len(table) <= N_COLUMNS:
        turned = [
            {"metric": metric, **{f"{i}": spread.get(metric) for i, spread in enumerate(spreads)}}
            for metric in [*metrics, "seconds", "error"]
        ]
        titles = {f"{i}": name for i, name in enumerate(names)}
        marked = {(metric, f"{row}") for metric, row in best.items()}
        parts.append(_table("Figures", turned, titles=titles, best=marked, key="metric"))
    else:
        listed = [{"run": name, **own} for name, own in zip(names, spreads, strict=True)]
        parts.append(_table("Figures", listed))
    return found, parts


def _run_name(row: Mapping[str, Any]) -> str:
    params = changed(row["method"], row["params"])
    params.pop("seed", None)
    return " ".join([row["method"], *(f"{name}={value}" for name, value in params.items())])


def _spread(spread: Mapping[str, Any] | None) -> str:
    if spread is None or spread.get("mean") is None:
        return ""
    deviation = spread.get("std")
    return f"{spread['mean']:.4g}" + (f" ± {deviation:.2g}" if deviation else "")


def _bars(
    table: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    metrics: Sequence[str],
    best: Mapping[str, int],
) -> bytes:
    """A bar for each run and metric as SVG; "" where there is nothing to draw. Metrics with
    negative means have none."""
    rows: list[str] = []
    y = 4
    for metric in metrics[:N_CHARTS]:
        means = [(row["metrics"].get(metric) or {}).get("mean") for row in table[:N_ROWS]]
        known = [mean for mean in means if mean is not None]
        if not known or min(known) < 0 or max(known) == 0:
            continue
        scale = 420 / max(1.0, *known)
        rows.append(f'<text x="0" y="{y + 14}" font-weight="600">{escape(plain(metric))}</text>')
        y += 22
        for number, mean in enumerate(means):
            if mean is None:
                continue
            leads = best.get(metric) == number
            colour = "#0072b2" if leads else "#9ab8cc"
            weight = ' font-weight="600"' if leads else ""
            rows.append(
                f'<text x="250" y="{y + 13}" text-anchor="end"{weight}>'
                f"{escape(plain(names[number], 34))}</text>"
                f'<rect x="260" y="{y + 2}" width="{mean * scale:.1f}" height="14" '
                f'fill="{colour}"/><text x="{266 + mean * scale:.1f}" y="{y + 13}"{weight}>'
                f"{mean:.4g}</text>"
            )
            y += 20
        y += 8
    if not rows:
        return b""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{y}" '
        f'viewBox="0 0 760 {y}" font-family="system-ui,sans-serif" font-size="13" fill="#1d2330">'
        f"{''.join(rows)}</svg>"
    ).encode("utf-8", "replace")


def _calibration(calibration: Calibration, origin: Origin) -> Sections:
    result = calibration.body["result"]
    data = f" of {_text(origin.names())}" if origin.names() else ""
    rows = f"{_n(result['n_rows'], 'row')}{data}"
    promises = {
        "miss": f"an answer misses the class with probability at most {_percent(result['alpha'])}",
        "distance": "the expected number of edges from an answer up to a node that holds the class "
        f"is at most {result['alpha']:g}",
        "cost": f"the expected cost of an answer is at most {result['alpha']:g}",
    }
    for_whom = {
        "all": "over all rows",
        "subtree": "in each subtree for rows",
        "class": "in each class for rows",
    }
    found = [
        f"Learned from {rows}: {promises[result['loss']]}, {for_whom[result['per']]} like these.",
        f"The most probable class alone is wrong in {_percent(result['error'])} of rows.",
    ]
    if result["n_groups"] > 1:
        found.append(
            f"{result['n_promised']:,} of {_n(result['n_groups'], 'group')} have a promise, "
            "their own or shared."
        )
    if result["n_suspects"]:
        found.append(f"{_n(result['n_suspects'], 'label')} look wrong.")
    svg = calibration._connection.raw(f"{calibration._path}/curve.svg", {})
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
    return found, [
        _picture("How sure answers are", svg, "selective curve"),
        _table("Labels that look wrong", suspects, result["n_suspects"]),
        _table("Pairs that need more data", pairs, result["n_pairs"]),
        _facts("Figures", result),
    ]


def _drift(drift: Drift) -> Sections:
    result = drift.body["result"]
    sizes = f"from {result['n_reference']:,} to {_n(result['n_batch'], 'row')}"
    level = f"at a rate of false discoveries of {_percent(result['level'])}"
    if drift.n_moves:
        found = [f"{_n(drift.n_moves, 'change')} {sizes}, {level}."]
    else:
        found = [f"Nothing moved {sizes}, {level}."]
    for aspect in result.get("aspects", ()):
        tested = f"{_n(aspect['n_tested'], 'test')}{_p(aspect['p_value'])}"
        moved = f"{_n(aspect['n_moved'], 'change')}" if aspect["moved"] else "no change"
        found.append(f"{_text(str(aspect['aspect']).capitalize())}: {moved} in {tested}.")
    svg = drift.svg.encode() or drift._connection.raw(f"{drift._path}.svg")
    columns = ("aspect", "name", "direction", "before", "after", "low", "high", "p_value")
    moves = [{name: move.get(name) for name in columns} for move in drift.moves]
    return found, [
        _picture("What moved", svg, "changes"),
        _table("The surest changes", moves, drift.n_moves),
    ]


def _made(thing_id: str, origin: Origin, body: Mapping[str, Any]) -> str:
    """How it was made, and the command that repeats it."""
    job = origin.job
    facts: dict[str, Any] = {"id": thing_id, "tree": body.get("tree")}
    for each in origin.inputs[:N_ROWS]:
        size = f" ({each.size})" if each.size else ""
        where = "" if each.kept else ", no longer kept"
        name = each.name or ("" if each.value.startswith("ds_") else each.value)
        own = f" {each.value}" if each.value.startswith("ds_") else ""
        role = each.role if each.role not in facts else f"{each.role} {len(facts)}"
        facts[role] = f"{plain(name)}{size}{own}{where}".strip()
    if job.get("kind") == "fit":
        facts["method"] = job.get("method")
        facts |= {f"{name}": value for name, value in (job.get("params") or {}).items()}
    for name in ("preprocess", "then", "support", "name_by"):
        if job.get(name):
            facts[name.replace("_", " ")] = job[name]
    facts["made"] = _time(body.get("created_at"))
    facts["job"] = job.get("id")
    rows = [{"what": name, "value": value} for name, value in facts.items() if value]
    made = _table("How it was made", rows, headless=True, limit=200)
    if not origin.command:
        return made
    return f"{made}<h2>The command</h2><pre>{escape(plain(origin.command, 4000))}</pre>"


def _picture(title: str, svg: bytes, alt: str) -> str:
    if not svg:
        return ""
    heading = f"<h2>{escape(title)}</h2>"
    if len(svg) > MOST_BYTES:
        return f'{heading}<p class="rest">The picture is too large for a report and left out.</p>'
    data = b64encode(svg).decode()
    return f'{heading}<img src="data:image/svg+xml;base64,{data}" alt="{escape(plain(alt))}">'


def _facts(title: str, facts: Mapping[str, Any]) -> str:
    rows = [{"figure": name, "value": value} for name, value in facts.items() if value is not None]
    return _table(title, rows, headless=True)


def _table(
    title: str,
    rows: Sequence[Mapping[str, Any]],
    n_rows: int | None = None,
    *,
    titles: Mapping[str, str] | None = None,
    best: Iterable[tuple[str, str]] = (),
    key: str = "",
    headless: bool = False,
    limit: int = 80,
) -> str:
    """n_rows : how many there are, where not all are given. titles : of columns. best : cells that
    stand out, by the value of the column `key` and the name of theirs. limit : the characters of a
    cell. "" where there are no rows."""
    rows = [row for row in rows if any(_cell(own) for name, own in row.items() if name != key)]
    if not rows:
        return ""
    n_rows = max(len(rows), n_rows or 0)
    shown = [{name: _cell(value) for name, value in row.items()} for row in rows[:N_ROWS]]
    names = list(dict.fromkeys(name for row in shown for name in row))
    names = [name for name in names if any(row.get(name) for row in shown)]
    numeric = {
        name
        for name in names
        if not headless
        and all(isinstance(row.get(name), (int, float, type(None))) for row in rows[:N_ROWS])
    }
    marked = set(best)

    def cell(row: Mapping[str, str], name: str) -> str:
        classes = ["n"] if name in numeric else []
        classes += ["whole"] if headless else []
        classes += ["best"] if (row.get(key), name) in marked else []
        start = f'<td class="{" ".join(classes)}">' if classes else "<td>"
        return f"{start}{_text(row.get(name, ''), limit)}</td>"

    head = "".join(
        f"<th{' class=n' if name in numeric else ''}>"
        f"{_text((titles or {}).get(name, name.replace('_', ' ')))}</th>"
        for name in names
    )
    body = "".join("<tr>" + "".join(cell(row, name) for name in names) + "</tr>" for row in shown)
    rest = "" if n_rows <= len(shown) else f'<p class="rest">{len(shown)} of {n_rows:,}.</p>'
    return (
        f'<h2>{escape(title)}</h2><div class="wide"><table>'
        f"{'' if headless else f'<thead><tr>{head}</tr></thead>'}<tbody>{body}</tbody></table>"
        f"</div>{rest}"
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
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    return str(value)
