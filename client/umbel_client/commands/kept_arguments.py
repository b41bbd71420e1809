"""The commands on what a service keeps, their options and their help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, get_args

from umbel_client.commands.options import (
    Commands,
    Late,
    at_least_one,
    command,
    described_options,
    kept,
    service_options,
    table_options,
    work_options,
)
from umbel_client.heatmap import HeatmapMetric

KINDS = (
    *("trees", "datasets", "comparisons", "calibrations", "drifts", "heatmaps", "maps"),
    *("namings", "placements", "attachments", "editions", "shares"),
)
"""What `umbel list` lists; jobs have a command of their own."""

ANY_ID = (
    "tr_..., ds_..., md_..., job_..., cmp_..., cal_..., dr_..., hm_..., map_..., nm_..., pl_... "
    "or at_..."
)


def add_commands(commands: Commands) -> None:
    """Add the commands to a program's."""
    _upload(commands)
    _import(commands)
    _list(commands)
    _show(commands)
    _save(commands)
    _update(commands)
    _delete(commands)
    _edit(commands)
    _history(commands)
    _share(commands)
    _revoke(commands)
    _alias(commands)
    _attach(commands)
    _examples(commands)
    _match(commands)
    _confusions(commands)
    _label(commands)
    _heatmap(commands)
    _map(commands)
    _figure(commands)
    _report(commands)
    _export(commands)
    _annotations(commands)


def _added(commands: Commands, name: str, sentence: str, work: str = "") -> argparse.ArgumentParser:
    parser = command(commands, name, sentence)
    service_options(parser)
    parser.set_defaults(run=Late(work or name, "kept_work"))
    return parser


def _upload(commands: Commands) -> None:
    parser = _added(commands, "upload", "upload a file once, as an input of any number of runs")
    parser.add_argument("file", help="x.npz:member for one array of several")
    parser.add_argument(
        "--role", default="features", help="features, logits, labels, ...; default: %(default)s"
    )
    parser.add_argument("--dedupe", action="store_true", help="an earlier dataset like it will do")
    described_options(parser)
    table_options(parser)


def _import(commands: Commands) -> None:
    parser = _added(commands, "import", "keep a tree that was made elsewhere", "import_tree")
    parser.add_argument("file", help=".nwk, .nex, .json, linkage .npy or class paths .txt")
    work_options(parser, waits=False)


def _list(commands: Commands) -> None:
    parser = _added(commands, "list", "the newest things of a kind that a service keeps", "listed")
    kinds = (*KINDS, "any")
    parser.add_argument(
        "kind", choices=kinds, metavar="kind", help=f"{', '.join(KINDS)}; any, with --ids"
    )
    parser.add_argument("--tree", metavar="ID", help="only what was made for tr_...")
    parser.add_argument("--status", help="queued, running, succeeded, failed or cancelled")
    parser.add_argument("--method", help="only trees that this method made")
    parser.add_argument("--name", help="only those with exactly this name")
    parser.add_argument("--tag", action="append", default=[], help="several times: all of them")
    parser.add_argument("--words", help="only those that have each word in a name, note or tag")
    parser.add_argument(
        "--ids", action="store_true", help="only ids, one a line; of any: the newest of every kind"
    )
    parser.add_argument("--limit", type=at_least_one, default=20, help="default: %(default)s")


def _show(commands: Commands) -> None:
    parser = _added(
        commands,
        "show",
        "what the service says of one thing, or of a part: umbel show tr_... cut --with k=12",
    )
    parser.add_argument("id", help=f"{ANY_ID}, ed_..., sh_...")
    parser.add_argument(
        "part",
        nargs="?",
        help="as addresses name it: levels, layers, steps, cut, search, nodes/3/members, "
        "confusions of a tree, pairs of a calibration, columns of an attachment, ...",
    )
    _query(parser)


def _save(commands: Commands) -> None:
    parser = _added(
        commands,
        "save",
        "write one thing to a file: umbel save hm_... figure.pdf --with width_mm=85",
    )
    parser.add_argument("id", help=ANY_ID)
    parser.add_argument("file", help="its ending says the form: .nwk, .json, .csv, .svg, .pdf, ...")
    parser.add_argument(
        "--part", help="as addresses name it: confusions, tangle, suspects, columns/0/nodes, ..."
    )
    parser.add_argument("--edition", metavar="ID", help="of a tree: as ed_... shows it")
    parser.add_argument("--names", metavar="ID", help="of a tree: with the names of nm_...")
    _query(parser)


def _query(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--with",
        dest="query",
        action="append",
        metavar="NAME=VALUE",
        default=[],
        help="a parameter of the address; several times: several. A file under the name of an "
        "input (labels=y.npy) is uploaded",
    )


def _report(commands: Commands) -> None:
    sentence = "write a tree, comparison, calibration or drift as one HTML file, pictures inside"
    parser = command(commands, "report", sentence)
    parser.add_argument(
        "id", type=kept("tr", "cmp", "cal", "dr"), help="tr_..., cmp_..., cal_... or dr_..."
    )
    parser.add_argument("file", help="such as report.html")
    service_options(parser)
    parser.set_defaults(run=Late("report", "reports"))


def _update(commands: Commands) -> None:
    parser = _added(commands, "update", "change the name, the note and the tags of one thing")
    parser.add_argument("id", help=f"{ANY_ID}; of ed_... the name")
    parser.add_argument("--name", help="'' removes it")
    parser.add_argument("--description", help="'' removes it")
    parser.add_argument(
        "--tag", action="append", metavar="TAG", help="in place of all earlier; '' removes all"
    )


def _delete(commands: Commands) -> None:
    parser = _added(commands, "delete", "remove things for good")
    parser.add_argument("ids", nargs="+", metavar="id", help=f"{ANY_ID}, ed_..., sh_...")


class _Operation(argparse.Action):
    """Collects the operations of an edit in the order in which they are given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        name = (option_string or "").removeprefix("--")
        namespace.operations = [*namespace.operations, (name, values)]


def _edit(commands: Commands) -> None:
    parser = _added(
        commands,
        "edit",
        "change nodes of an edition, all at once or not at all: umbel edit ed_... --rename 3=cats",
    )
    parser.add_argument(
        "target", help="an edition (ed_...), or a tree (tr_..., @alias) for a new one"
    )
    parser.add_argument("--title", help="the edition's name")
    parser.add_argument("--from", dest="source", metavar="ID", help="of a new one: begin with ed_")
    parser.add_argument(
        "--revision",
        type=int,
        help="of an edition: only if it is at this revision (umbel show ed_)",
    )
    operations = parser.add_argument_group("operations", "several, in their order")
    for name, metavar, text in (
        ("rename", "NODE=NAME", "without =NAME: the tree's own"),
        ("note", "NODE=TEXT", "without =TEXT: none"),
        ("colour", "NODE=#RRGGBB", "of it and what is below; without a colour: none"),
        ("reorder", "NODE=NODE,...", "all children in another order"),
        ("collapse", "NODE", "show it folded"),
        ("expand", "NODE", "show it open again"),
        ("merge", "NODE,...=NAME", "put siblings under one new node; =NAME may be left out"),
        ("dissolve", "NODE", "its children take its place"),
    ):
        operations.add_argument(
            f"--{name}", action=_Operation, metavar=metavar, help=text, dest="operations"
        )
    for name, text in (("undo", "take back the last edit"), ("redo", "repeat it; both alone")):
        operations.add_argument(
            f"--{name}", action=_Operation, nargs=0, help=text, dest="operations"
        )
    parser.set_defaults(operations=[], run=Late("edit", "editions"))


def _history(commands: Commands) -> None:
    parser = _added(commands, "history", "the changes of an edition, the newest first")
    parser.add_argument("edition", help="ed_...")
    parser.set_defaults(run=Late("history", "editions"))


def _share(commands: Commands) -> None:
    parser = _added(commands, "share", "make a link that shows a tree to whoever has it")
    parser.add_argument("tree", type=kept("tr"), help="tr_...")
    parser.add_argument("--days", type=float, default=7.0, help="default: 7; at most 366")
    parser.add_argument("--edition", metavar="ID", help="ed_...: show the tree as edited there")
    parser.add_argument("--names", metavar="ID", help="nm_...: with these names")
    parser.add_argument("--map", metavar="ID", help="map_...: with its points in the plane")
    parser.add_argument("--rows", action="store_true", help="also which rows lie under a node")
    parser.add_argument("--embed", action="store_true", help="other pages may frame it")
    parser.add_argument("--title", help="for you: whom it is for")


def _revoke(commands: Commands) -> None:
    parser = _added(commands, "revoke", "end links that show a tree")
    parser.add_argument("shares", nargs="+", metavar="share", help="sh_...")


def _alias(commands: Commands) -> None:
    parser = command(
        commands,
        "alias",
        "name a tree (umbel alias champion tr_...); show, move back",
    )
    parser.add_argument("name", nargs="?", help="champion; none: the list of all")
    parser.add_argument("tree", nargs="?", help="tr_..., or @ and another alias")
    parser.add_argument("--note", help="why; kept with the move")
    parser.add_argument("--expect", metavar="TREE", help="move it only from this tree")
    parser.add_argument("--webhook", metavar="URL", help="hears of its moves; '' for none")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--back", action="store_true", help="to the tree that it named before")
    either.add_argument("--remove", action="store_true", help="its tree stays")
    service_options(parser)
    parser.set_defaults(run=Late("alias", "aliases"))


def _attach(commands: Commands) -> None:
    parser = _added(commands, "attach", "attach what the points of a tree are: texts, images, ...")
    parser.add_argument("tree", type=kept("tr"), help="tr_...")
    parser.add_argument(
        "file", help="a row for each row or leaf: .csv, .jsonl, .arrow, .parquet, .zip, or ds_..."
    )
    work_options(parser)


def _examples(commands: Commands) -> None:
    parser = _added(commands, "examples", "items under a node of a tree")
    parser.add_argument("tree", type=kept("tr"), help="tr_...")
    parser.add_argument("node", type=int)
    parser.add_argument(
        "--by",
        choices=("central", "unsure", "random"),
        default="central",
        help="default: %(default)s",
    )
    parser.add_argument("--n", type=int, default=12, help="the most; default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="of random")
    parser.add_argument("--attachment", metavar="ID", help="at_...; default: the newest")
    parser.add_argument("--out", metavar="FILE", help=".json or .csv")


def _match(commands: Commands) -> None:
    parser = _added(commands, "match", "how many items under each node meet a condition")
    parser.add_argument("attachment", type=kept("at"), help="at_...")
    parser.add_argument("column", help="its name or number")
    parser.add_argument("--equals", action="append", default=[], help="several times: any of them")
    parser.add_argument("--contains", help="a part of a text, in any case")
    parser.add_argument("--low", help="the least number, or the first date")
    parser.add_argument("--high", help="the largest number, or the last date")
    parser.add_argument("--out", metavar="FILE", help=".json or .csv")


def _confusions(commands: Commands) -> None:
    parser = _added(commands, "confusions", "which classes of a tree are taken for which")
    parser.add_argument("tree", type=kept("tr"), help="tr_...")
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help="the class of every row; without: what the method found by itself",
    )
    parser.add_argument("--root", type=int, default=0, metavar="NODE", help="only classes under it")
    parser.add_argument(
        "--limit", type=at_least_one, default=100, help="the most; default: %(default)s"
    )
    parser.add_argument("--out", metavar="FILE", help=".json or .csv")


def _label(commands: Commands) -> None:
    parser = _added(commands, "label", "make labels of rows from what is known of nodes")
    parser.add_argument("tree", type=kept("tr"), help="tr_...")
    parser.add_argument(
        "--known",
        action="append",
        metavar="NODE=NAME",
        default=[],
        help="the node is a cluster with this name",
    )
    parser.add_argument(
        "--together", action="append", metavar="NODE,...", default=[], help="these are one cluster"
    )
    parser.add_argument(
        "--apart", action="append", metavar="NODE,...", default=[], help="these are several"
    )
    parser.add_argument("--title", help="the dataset's name")


def _heatmap(commands: Commands) -> None:
    parser = _added(commands, "heatmap", "the clusters of a tree as the rows of a matrix")
    parser.add_argument("tree", type=kept("tr"), help="tr_...")
    parser.add_argument(
        "what",
        nargs="?",
        choices=("features", "distances"),
        default="features",
        help="default: %(default)s",
    )
    parser.add_argument("--cut", metavar="CUT", help="k=12, height=3.5 or level=2; else the leaves")
    parser.add_argument("--statistic", choices=("mean", "median"), help="default: mean")
    parser.add_argument("--scale", choices=("standard", "none"), help="default: standard")
    parser.add_argument("--n-columns", type=int, metavar="N", help="the most; default: 100")
    parser.add_argument(
        "--metric",
        choices=get_args(HeatmapMetric),
        help="default: euclidean; gower and pairwise as the fit measured its points",
    )
    parser.add_argument("--features", metavar="FILE", help="by default the fit's")
    parser.add_argument("--feature-names", metavar="FILE")
    table_options(parser)
    work_options(parser)
    parser.add_argument(
        "--out", metavar="FILE", help="the matrix as .csv or .npy, or as .svg, .png, .pdf, .json"
    )
    _query(parser)


def _map(commands: Commands) -> None:
    parser = _added(commands, "map", "lay the points of a tree out in the plane", "map_points")
    parser.add_argument("tree", type=kept("tr"), help="tr_...")
    parser.add_argument(
        "by",
        nargs="?",
        choices=("pca", "umap", "tsne", "disc"),
        default="pca",
        help="default: %(default)s",
    )
    parser.add_argument("--features", metavar="FILE", help="by default the fit's")
    parser.add_argument("--metric", choices=("euclidean", "cosine"), help="default: euclidean")
    parser.add_argument("--n-neighbors", type=int, metavar="N", help="of umap")
    parser.add_argument("--min-dist", type=float, metavar="D", help="of umap")
    parser.add_argument("--perplexity", type=float, metavar="P", help="of tsne")
    parser.add_argument("--n-components", type=int, metavar="N", help="of umap and tsne")
    parser.add_argument("--seed", type=int)
    table_options(parser)
    work_options(parser)
    parser.add_argument(
        "--out", metavar="FILE", help="positions as .csv, .npy, .arrow, .json, or .svg, .png, .pdf"
    )
    _query(parser)


def _figure(commands: Commands) -> None:
    parser = _added(commands, "figure", "make a file of a drawing of one's own")
    parser.add_argument("drawing", help=".json: the body of POST /v1/figures without form")
    parser.add_argument("out", help=".svg, .png or .pdf")


def _export(commands: Commands) -> None:
    sentence = "write files for iTOL, Microreact or Label Studio"
    parser = command(commands, "export", sentence)
    parser.add_argument("id", help="tr_... or @alias; for label-studio also md_...")
    parser.add_argument("form", choices=("itol", "microreact", "label-studio"))
    parser.add_argument("place", help="a folder; for label-studio a file .json, or -")
    parser.add_argument("--cut", help="k=5, height=1.2 or level=2: the clusters of leaves")
    parser.add_argument(
        "--rows", help="label-studio: new rows, of which the least sure are written"
    )
    parser.add_argument(
        "--texts", help="what is shown of each of them: .txt (a line each) or .json"
    )
    parser.add_argument(
        "--most", type=int, default=100, help="tasks, at most; default: %(default)s"
    )
    _of_studio(parser)
    service_options(parser)
    parser.set_defaults(run=Late("export", "exchanging"))


def _annotations(commands: Commands) -> None:
    sentence = "labels for a fit from what Label Studio exports of such tasks"
    parser = command(commands, "annotations", sentence)
    parser.add_argument("file", help="the export, JSON or JSON-MIN")
    parser.add_argument("n_rows", type=int, help="the number of rows, labelled or not")
    parser.add_argument("out", help="a file .json of labels, null where there is none, or -")
    _of_studio(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress and no sentences")
    parser.set_defaults(run=Late("labelled", "exchanging"))


def _of_studio(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--choices", default="label", help="the Choices of the interface; default: %(default)s"
    )
    parser.add_argument(
        "--field", default="text", help="the object that it shows; default: %(default)s"
    )
