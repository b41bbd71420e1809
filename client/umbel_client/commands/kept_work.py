"""What each command on what a service keeps does."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from umbel_client.artifact import Artifact
from umbel_client.attachment import Attachment
from umbel_client.calibration import Calibration
from umbel_client.client import Umbel
from umbel_client.commands import outputs
from umbel_client.commands.outputs import put, say
from umbel_client.commands.values import (
    STANDARD_INPUT,
    input_of,
    is_file,
    node_of,
    nodes_of,
    table_of,
    tree_of,
)
from umbel_client.commands.work import (
    cut_of,
    described_of,
    given,
    require_table,
    service,
    work_of,
)
from umbel_client.core.fields import KEPT
from umbel_client.core.requests import ROLES
from umbel_client.drift import Drift
from umbel_client.edition import Edition
from umbel_client.errors import InputError, UnexpectedResponse
from umbel_client.heatmap import Heatmap
from umbel_client.map import Map
from umbel_client.naming import Naming
from umbel_client.quoting import path_shown, shown
from umbel_client.share import Share
from umbel_client.tree import Tree

Holder: TypeAlias = Any
"""A thing of the client: a tree, a dataset, a heatmap, ...."""

OF_A_TREE = ("editions", "shares")
"""Lists that there are of a tree only."""

BY_TREE = ("attachments", "calibrations", "drifts", "heatmaps", "maps", "namings", "placements")
"""Lists that a tree is one of the filters of."""


WITHOUT_TREE = ("trees", "jobs", "datasets", "comparisons", *BY_TREE)
"""Lists that `any` joins."""


def alone(kind: type[Artifact]) -> Callable[[Umbel, str], Artifact]:
    """Reads a thing without its nodes, matrix or columns."""
    return lambda umbel, thing_id: kind._read(umbel._connection, thing_id, whole=False)


_READERS: Mapping[str, Callable[[Umbel, str], Holder]] = {
    "tr": Umbel.tree,
    "ds": Umbel.dataset,
    "md": Umbel.model,
    "job": Umbel.job,
    "cmp": Umbel.comparison,
    "cal": alone(Calibration),
    "dr": alone(Drift),
    "pl": Umbel.placement,
    "hm": alone(Heatmap),
    "map": Umbel.map,
    "nm": alone(Naming),
    "at": alone(Attachment),
    "ed": Umbel.edition,
    "sh": Umbel.share,
}


def held(umbel: Umbel, thing_id: str) -> Holder:
    """The thing of an id, the tree of an alias. Raises InputError for an id of no kind."""
    if thing_id.startswith("@"):
        return umbel.tree(thing_id)
    reader = _READERS.get(thing_id.partition("_")[0])
    if reader is None or "_" not in thing_id:
        kinds = ", ".join(f"{prefix}_..." for prefix in _READERS)
        raise InputError("id", f"{shown(thing_id)} is none; one looks like {kinds}.")
    return reader(umbel, thing_id)


def upload(arguments: Namespace) -> None:
    """`umbel upload`."""
    content = input_of(arguments.role, arguments.file, table_of(arguments))
    with service(arguments, kept=True) as umbel:
        dataset = umbel.upload(
            content,
            arguments.role,
            **described_of(arguments),
            progress=False if arguments.quiet else None,
            dedupe=arguments.dedupe,
        )
        put(dataset.body, arguments.json, dataset.id)


def import_tree(arguments: Namespace) -> None:
    """`umbel import`."""
    content = tree_of(arguments.file)
    with service(arguments, kept=True) as umbel:
        tree = umbel.import_tree(content, **work_of(arguments))
        put(outputs.facts_of(tree), arguments.json, tree.id)


def listed(arguments: Namespace) -> None:
    """`umbel list`."""
    kind = arguments.kind
    if kind == "any" and not arguments.ids:
        raise InputError("kind", "any is for --ids alone; name one kind.")
    with service(arguments, kept=True) as umbel:
        if kind == "any":
            _put_ids([each for one in WITHOUT_TREE for each in _newest(umbel, one, arguments)])
            return
        if kind in OF_A_TREE:
            if arguments.tree is None:
                raise InputError("--tree", f"{kind} are listed by tree: --tree tr_....")
            if any(
                getattr(arguments, each) for each in ("status", "method", "name", "tag", "words")
            ):
                raise InputError("list", f"{kind} have --tree as their only filter.")
            holders = getattr(umbel.tree(arguments.tree), kind)()
        else:
            holders = _newest(umbel, kind, arguments)
        bodies = [each if isinstance(each, dict) else each.body for each in holders]
    if arguments.ids:
        _put_ids(bodies)
        return
    before, after = ("id", "status", "name"), ("tags", "method", "role", "by", "created_at")
    rows = [
        {
            **{name: body.get(name) for name in before},
            "size": outputs.size_of(body),
            **{name: body.get(name) for name in (*after, "expires_at")},
        }
        for body in bodies
    ]
    for row, body in zip(rows, bodies, strict=True):
        if kind == "datasets":
            row["columns"] = outputs.column_names(body)
    put(bodies, arguments.json, outputs.shown(rows) if rows else f"No {kind}.")


def _newest(umbel: Umbel, kind: str, arguments: Namespace) -> Sequence[Any]:
    """The things of a kind that is not of one tree, as the options of a list filter them."""
    listed: Sequence[Any] = getattr(umbel, kind)(**_filters(arguments, kind))
    return listed


def _put_ids(holders: Sequence[Any]) -> None:
    """Ids, one a line; of another form than ids have, none, since shells read them."""
    bodies = [each if isinstance(each, dict) else each.body for each in holders]
    ids = [str(body.get("id")) for body in bodies]
    put(None, False, "\n".join(each for each in ids if re.fullmatch(r"[a-z]+_[0-9a-z]+", each)))


def _filters(arguments: Namespace, kind: str) -> dict[str, Any]:
    """What a list is filtered by. Raises InputError for what its items do not have."""
    filters = {
        "name": arguments.name,
        "tags": arguments.tag,
        "words": arguments.words,
        "limit": arguments.limit,
    }
    if arguments.status is not None:
        if kind in ("trees", "datasets"):
            raise InputError("--status", f"{kind} are not filtered by it.")
        filters["status"] = arguments.status
    if arguments.method is not None:
        if kind != "trees":
            raise InputError("--method", f"{kind} are not filtered by it; trees are.")
        filters["method"] = arguments.method
    if arguments.tree is not None:
        if kind not in BY_TREE:
            raise InputError("--tree", f"it is of {', '.join(OF_A_TREE + BY_TREE)}.")
        filters["tree"] = arguments.tree
    return filters


def show(arguments: Namespace) -> None:
    """`umbel show`."""
    query = _query(arguments)
    if query and arguments.part is None:
        raise InputError("--with", "it is of a part: umbel show tr_... cut --with k=12.")
    with service(arguments, kept=True) as umbel:
        holder = held(umbel, arguments.id)
        if arguments.part is None:
            body = _body(holder)
        else:
            part = f"/{arguments.part.strip('/')}"
            with _uploaded(umbel, query) as given, _of_parts(arguments.id, arguments.part):
                content = _content_of(holder)(part, **given)
            try:
                body = json.loads(content)
            except ValueError:
                raise InputError("part", "it is no JSON; `umbel save` writes it.") from None
        put(body, arguments.json, _text_of(body))


@contextlib.contextmanager
def _uploaded(umbel: Umbel, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Parameters of an address, with the id of a dataset for each file under the name of an input,
    which is removed once it has been used."""
    given = dict(query)
    uploads = []
    try:
        for role, text in query.items():
            if role in ROLES and isinstance(text, str) and is_file(text):
                uploads.append(umbel.upload(input_of(role, text), role, progress=False))
                given[role] = uploads[-1].id
        yield given
    finally:
        for dataset in uploads:
            dataset.delete()


def confusions(arguments: Namespace) -> None:
    """`umbel confusions`."""
    labels = None if arguments.labels is None else input_of("labels", arguments.labels)
    require_table(arguments.out)
    with service(arguments, kept=True) as umbel:
        tree = umbel.tree(arguments.tree)
        found = tree.confusions(labels, root=arguments.root, limit=arguments.limit)
        columns = ("name", "taken_for_name", "mass", "share")
        shown = [{column: pair[column] for column in columns} for pair in found]
        if arguments.out:
            outputs.table(found, arguments.out)
        text = outputs.shown(shown) if shown else "No class is taken for another."
        put(found.body, arguments.json, text)
        outputs.warn(found.warnings, arguments.quiet)


def _body(holder: Holder) -> dict[str, Any]:
    if isinstance(holder, Tree):
        facts = holder.facts
        about = {"name": facts.name, "description": facts.description, "tags": list(facts.tags)}
        return {**outputs.facts_of(holder), **about, "url": holder.url}
    return dict(holder.state.body if isinstance(holder, Edition) else holder.body)


def _text_of(body: Mapping[str, Any]) -> str:
    """Its first list of objects as a table; else its fields, one a line. A dataset has both."""
    if str(body.get("id", "")).startswith("ds_"):
        return outputs.dataset_text(body)
    for value in body.values():
        if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            return outputs.shown(value)
    return outputs.shown([{"field": name, "value": value} for name, value in body.items()])


def _content_of(holder: Holder) -> Callable[..., bytes]:
    """Raises InputError for what has no parts."""
    if isinstance(holder, (Edition, Share)):
        raise InputError("part", "editions and links have none; `umbel save tr_... --edition`.")
    content: Callable[..., bytes] = holder.content
    return content


def save(arguments: Namespace) -> None:
    """`umbel save`."""
    outputs.require_place(arguments.file)
    shown = {"edition": arguments.edition, "names": arguments.names}
    query = {**_query(arguments), **{name: own for name, own in shown.items() if own is not None}}
    kind = arguments.id.partition("_")[0]
    with service(arguments, kept=True) as umbel:
        holder = held(umbel, arguments.id)
        content = _content_of(holder)
        path, standard = outputs.standard_form(arguments.file)
        suffix = Path(path or "-.nwk").suffix if kind == "tr" else Path(path or "-.json").suffix
        if arguments.part is not None:
            stays = kind in ("ds", "md", "job") and arguments.part.strip("/") in _WITHOUT_SUFFIX
            form = f"/{arguments.part.strip('/')}{'' if stays else suffix}"
            with _uploaded(umbel, query) as given, _of_parts(arguments.id, arguments.part):
                outputs.saved(content(form, **given), arguments.file)
        elif kind in ("ds", "md"):
            outputs.saved(content(), arguments.file)
        elif kind == "job":
            raise InputError("--part", "of a job: predictions, nodes or tables.")
        elif standard:
            with tempfile.TemporaryDirectory(prefix="umbel-") as folder:
                beside = (
                    Path(folder) / f"of{outputs.form_of(path or '-') if kind == 'tr' else suffix}"
                )
                holder.save(str(beside), **query)
                outputs.saved(beside.read_bytes(), arguments.file)
        else:
            holder.save(arguments.file, **query)
        if not standard:
            say(f"  {arguments.file}", arguments.quiet)


PARTS: Mapping[str, Sequence[str]] = {
    "tr": (
        *("assignments", "confusions", "cut", "editions", "features", "flows", "layers", "levels"),
        *("merges", "nodes", "places", "search", "shares", "steps", "tangle", "view"),
    ),
    "at": ("columns", "items", "matches", "nodes"),
    "cal": ("curve", "groups", "pairs", "suspects"),
    "dr": ("nodes",),
    "ds": ("content", "statements"),
    "hm": ("axes", "tiles"),
    "job": ("events", "nodes", "predictions", "tables"),
    "map": ("positions", "selection"),
    "md": ("content", "features", "paths"),
    "nm": ("names",),
}
"""How the parts of a thing begin, by the prefix of its id."""

_OF_ONE = {
    ("tr", "nodes"): "0",
    ("tr", "places"): "0",
    ("at", "items"): "0",
    ("at", "nodes"): "0/examples",
    ("hm", "tiles"): "0/0/0",
}
"""Parts of which one is read, and how the rest of its name may look."""


@contextlib.contextmanager
def _of_parts(thing_id: str, part: str) -> Iterator[None]:
    """Raises InputError in place of the refusal of a part that there is not, with those that there
    are."""
    try:
        yield
    except UnexpectedResponse as error:
        kind = "tr" if thing_id.startswith("@") else thing_id.partition("_")[0]
        names = PARTS.get(kind, ())
        begin, _, rest = part.strip("/").partition("/")
        if error.status in (404, 405) and not rest and (kind, begin) in _OF_ONE:
            raise InputError(
                "part", f"{begin} are shown one by one: {begin}/{_OF_ONE[kind, begin]}."
            ) from None
        if error.status not in (404, 405) or begin in names:
            raise
        near = get_close_matches(begin, names, 1)
        meant = f" Is {shown(near[0])} meant?" if near else ""
        there_are = f"there are {', '.join(names)}" if names else "there are none"
        raise InputError(
            "part", f"{shown(thing_id)} has no part {shown(begin)}; {there_are}.{meant}"
        ) from None


_WITHOUT_SUFFIX = ("content", "statements", "predictions", "nodes", "tables")
"""Parts that have one form."""


def update(arguments: Namespace) -> None:
    """`umbel update`."""
    changes: dict[str, Any] = {
        "name": KEPT if arguments.name is None else arguments.name or None,
        "description": KEPT if arguments.description is None else arguments.description or None,
        "tags": KEPT if arguments.tag is None else [tag for tag in arguments.tag if tag],
    }
    if all(value is KEPT for value in changes.values()):
        raise InputError("update", "give --name, --description or --tag.")
    with service(arguments, kept=True) as umbel:
        holder = held(umbel, arguments.id)
        if isinstance(holder, Share):
            raise InputError("id", "links are not changed; revoke it and make another.")
        if isinstance(holder, Edition):
            if changes["name"] is KEPT or arguments.description or arguments.tag:
                raise InputError("id", "an edition has a name alone: give --name.")
            holder.title(changes["name"])
        else:
            holder.update(**changes)
        put(_body(holder), arguments.json, arguments.id)


def delete(arguments: Namespace) -> None:
    """`umbel delete`."""
    with service(arguments, kept=True) as umbel:
        for thing_id in arguments.ids:
            holder = held(umbel, thing_id)
            if isinstance(holder, Share):
                umbel.tree(str(holder.body["tree"])).revoke(holder)
            else:
                holder.delete()
        put(arguments.ids, arguments.json, "\n".join(arguments.ids))


def share(arguments: Namespace) -> None:
    """`umbel share`."""
    with service(arguments, kept=True) as umbel:
        link = umbel.tree(arguments.tree).share(
            days=arguments.days,
            edition=arguments.edition,
            names=arguments.names,
            map=arguments.map,
            rows=arguments.rows,
            embed=arguments.embed,
            name=arguments.title,
        )
        put({**link.body, "url": link.url}, arguments.json, str(link.url))
        say(f"{link.id} until {link.expires_at}; the address is shown this once", arguments.quiet)


def revoke(arguments: Namespace) -> None:
    """`umbel revoke`."""
    for share_id in arguments.shares:
        if not share_id.startswith("sh_"):
            raise InputError("share", f"{shown(share_id)} is none; one looks like sh_....")
    arguments.ids = arguments.shares
    delete(arguments)


def attach(arguments: Namespace) -> None:
    """`umbel attach`."""
    items = input_of("items", arguments.file)
    with service(arguments, kept=True) as umbel:
        attachment = umbel.tree(arguments.tree).attach(items, **work_of(arguments))
        columns = ("column", "name", "kind", "n", "n_missing")
        rows = [{name: each[name] for name in columns} for each in attachment.columns]
        body = {**attachment.body, "columns": attachment.columns}
        put(body, arguments.json, f"{attachment.id}\n\n{outputs.shown(rows)}")
        outputs.warn(attachment.warnings, arguments.quiet)


def examples(arguments: Namespace) -> None:
    """`umbel examples`."""
    require_table(arguments.out)
    with service(arguments, kept=True) as umbel:
        items = umbel.tree(arguments.tree).examples(
            arguments.node,
            arguments.by,
            n=arguments.n,
            seed=arguments.seed,
            attachment=arguments.attachment,
        )
        rows = [
            {**{name: own for name, own in each.items() if name != "values"}, **each["values"]}
            for each in items
        ]
        _tabled(rows, items, arguments)


def match(arguments: Namespace) -> None:
    """`umbel match`."""
    require_table(arguments.out)
    with service(arguments, kept=True) as umbel:
        attachment = umbel.attachment(arguments.attachment)
        named = {each["name"] for each in attachment.columns}
        numbered = arguments.column.isdecimal() and arguments.column not in named
        rows = attachment.matches(
            int(arguments.column) if numbered else arguments.column,
            equals=arguments.equals,
            contains=arguments.contains,
            low=arguments.low,
            high=arguments.high,
        )
        _tabled(rows, rows, arguments)


def _tabled(rows: list[dict[str, Any]], items: list[dict[str, Any]], arguments: Namespace) -> None:
    """Rows as the file of --out, else on standard output."""
    if arguments.out:
        outputs.table(rows, arguments.out)
    else:
        put(items, arguments.json, outputs.shown(rows) if rows else "None.")


def label(arguments: Namespace) -> None:
    """`umbel label`."""
    statements: list[dict[str, Any]] = []
    for text in arguments.known:
        node, _, name = text.partition("=")
        if not name:
            raise InputError("--known", f"{shown(text)} is not NODE=NAME.")
        statements.append({"known": node_of("--known", node), "name": name})
    for kind in ("together", "apart"):
        statements += [{kind: nodes_of(f"--{kind}", text)} for text in getattr(arguments, kind)]
    if not statements:
        raise InputError("label", "give --known, --together or --apart.")
    with service(arguments, kept=True) as umbel:
        dataset = umbel.tree(arguments.tree).label(statements, name=arguments.title)
        put(dataset.body, arguments.json, dataset.id)


def heatmap(arguments: Namespace) -> None:
    """`umbel heatmap`."""
    inputs = {
        role: given(role, text, arguments)
        for role in ("features", "feature_names")
        if (text := getattr(arguments, role)) is not None
    }
    query = _query(arguments)
    suffix = outputs.suffix_of(arguments.out, (".csv", ".npy", ".json", ".svg", ".png", ".pdf"))
    with service(arguments, kept=True) as umbel:
        clustermap = umbel.tree(arguments.tree).heatmap(
            arguments.what,
            cut=cut_of(arguments.cut),
            statistic=arguments.statistic,
            scale=arguments.scale,
            n_columns=arguments.n_columns,
            metric=arguments.metric,
            **work_of(arguments),
            **inputs,
        )
        if suffix == ".npy":
            file = io.BytesIO()
            np.save(file, clustermap.matrix)
            outputs.saved(file.getvalue(), arguments.out)
        elif suffix == ".csv":
            titles = [_title(column) for column in clustermap.columns]
            rows = [
                {"cluster": _title(row), **dict(zip(titles, values, strict=True))}
                for row, values in zip(clustermap.rows, clustermap.matrix.tolist(), strict=True)
            ]
            outputs.table(rows, arguments.out)
        elif suffix:
            with _uploaded(umbel, query) as uploaded:
                outputs.saved(clustermap.content(suffix, **uploaded), arguments.out)
        _put_result(clustermap, arguments)


def _put_result(artifact: Heatmap | Map, arguments: Namespace) -> None:
    """The id and the facts of what was computed, and its warnings."""
    facts = outputs.facts_shown(artifact.body["result"])
    put(artifact.body, arguments.json, f"{artifact.id}\n\n{facts}")
    outputs.warn(artifact.warnings, arguments.quiet)


def _title(side: Mapping[str, Any]) -> str:
    """The name of a row or column of a matrix, else its number."""
    number = side["column"] if "column" in side else side["node"]
    return str(number if side["name"] is None else side["name"])


def map_points(arguments: Namespace) -> None:
    """`umbel map`."""
    features = (
        None if arguments.features is None else given("features", arguments.features, arguments)
    )
    query = _query(arguments)
    suffix = outputs.suffix_of(
        arguments.out, (".csv", ".npy", ".arrow", ".json", ".svg", ".png", ".pdf")
    )
    with service(arguments, kept=True) as umbel:
        layout = umbel.tree(arguments.tree).lay_out(
            arguments.by,
            features=features,
            metric=arguments.metric,
            n_neighbors=arguments.n_neighbors,
            min_dist=arguments.min_dist,
            perplexity=arguments.perplexity,
            n_components=arguments.n_components,
            seed=arguments.seed,
            **work_of(arguments),
        )
        if suffix:
            with _uploaded(umbel, query) as uploaded:
                outputs.saved(layout.content(f"/positions{suffix}", **uploaded), arguments.out)
        _put_result(layout, arguments)


def figure(arguments: Namespace) -> None:
    """`umbel figure`."""
    form: Any = outputs.suffix_of(arguments.out, (".svg", ".png", ".pdf")).removeprefix(".")
    try:
        if arguments.drawing == STANDARD_INPUT:
            text = sys.stdin.read()
        else:
            text = Path(arguments.drawing).read_text(encoding="utf-8-sig")
        drawing = json.loads(text)
        items = drawing.pop("items")
        sizes = {name: drawing.pop(name) for name in ("width", "height", "width_mm")}
    except (OSError, ValueError) as error:
        raise InputError(
            "drawing", f"{path_shown(arguments.drawing)} cannot be read: {error}."
        ) from None
    except (AttributeError, TypeError, KeyError):
        raise InputError(
            "drawing", "an object with items, width, height and width_mm is needed."
        ) from None
    further = {name: drawing.pop(name) for name in _DRAWN if name in drawing}
    if drawing:
        raise InputError("drawing", f"no such fields: {', '.join(drawing)}.")
    with service(arguments) as umbel:
        content = umbel.figure(items, **sizes, form=form, **further)
        outputs.saved(content, arguments.out)


_DRAWN = ("dpi", "fonts", "title", "paper")


def _query(arguments: Namespace) -> dict[str, Any]:
    """The parameters of --with; one that is given several times has several values."""
    query: dict[str, Any] = {}
    for text in arguments.query:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise InputError("--with", f"{shown(text)} is not NAME=VALUE.")
        earlier = query.get(name)
        if earlier is None:
            query[name] = value
        else:
            query[name] = [*(earlier if isinstance(earlier, list) else [earlier]), value]
    return query
