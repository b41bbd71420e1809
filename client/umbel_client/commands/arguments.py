"""The commands on files, their options and their help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

from umbel_client.commands import kept_arguments
from umbel_client.commands.completion import SHELLS, print_completion
from umbel_client.commands.options import (
    EXIT_CODES,
    OWN_SERVICE,
    Commands,
    Grouped,
    Late,
    LateParsers,
    Parser,
    at_least_one,
    command,
    condition_options,
    kept,
    report_option,
    seconds,
    service_options,
    table_options,
    work_options,
)
from umbel_client.commands.plugged import (
    Installed,
    KnownNames,
    KnownParsers,
    Plugged,
    plugged_of,
    service_in,
    text_of,
)
from umbel_client.commands.values import unknown
from umbel_client.methods import GROUPS, METHODS, MethodFacts, argument_texts, documentation
from umbel_client.version import VERSION


def main(argv: Sequence[str] | None = None) -> None:
    """The command of the client alone; its exit status is the process's."""
    parser = Parser(
        prog="umbel-client",
        description="Hierarchies from files, by Umbel.",
        epilog=EXIT_CODES,
        formatter_class=CommandHelp,
    )
    parser.add_argument("--version", action="version", version=f"umbel-client {VERSION}")
    add_commands(parser, parser.add_subparsers(metavar="command", required=True))
    arguments = parser.parse_args(argv)
    raise SystemExit(arguments.run(arguments))


def add_commands(
    parser: argparse.ArgumentParser, commands: Commands, installed: Installed = Plugged
) -> None:
    """Add the commands on files to a program's, and `completion`, which knows them all.

    installed : gives the methods of plug-ins of the server that is installed beside the client.
    """
    parser.set_defaults(installed=installed)
    _run(commands, installed)
    _evaluate(commands)
    _predict(commands)
    _calibrate(commands)
    _drift(commands)
    _place(commands)
    _name(commands)
    _compare(commands)
    _consensus(commands)
    _jobs(commands)
    _failed(commands)
    _retry(commands)
    _pause(commands)
    _workers(commands)
    kept_arguments.add_commands(commands)
    _methods(commands)
    _mcp(commands)
    _completion(parser, commands)


def _run(commands: Commands, installed: Installed) -> None:
    run = command(
        commands,
        "run",
        "run a method on files: umbel run l2h logits.npy --names names.txt --out tree.nwk",
    )
    methods = run.add_subparsers(
        metavar="method", required=True, dest="method", action=_MethodParsers
    )
    run.formatter_class = _MethodHelp
    assert isinstance(methods, _MethodParsers)
    methods.choices = KnownParsers()
    methods.installed = installed
    for names in GROUPS.values():
        for method in names:
            methods.offer(method, _title(method), partial(_run_known, methods, method))


class _MethodHelp(Grouped):
    """The methods by what they are for."""

    titles = {names[0]: title for title, names in GROUPS.items()}


class CommandHelp(Grouped):
    """The commands by what they work on."""

    titles = {
        "run": "on files",
        "jobs": "on jobs and workers",
        "upload": "on what a service keeps",
        "methods": "about the command",
        "serve": "the service",
    }


class _MethodParsers(LateParsers):
    """The parsers of methods, also of plug-ins'; each is made when its method is named."""

    installed: Installed = Plugged

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        method, *words = values
        if method in METHODS:
            self.make(method)
        else:
            entry = _plugged(words, self.installed).methods.get(method)
            if entry is None:
                parser.error(unknown(method))
            title = entry["title"].replace("%", "%%")
            from umbel_client.core.runs import facts_in

            _run_method(self, method, facts_in(entry), title, _Texts(text_of(entry)))
        super().__call__(parser, namespace, values, option_string)


def _plugged(words: Sequence[str], installed: Installed) -> Plugged:
    """The methods that the client does not know; ends the command where they cannot be read."""
    from umbel_client.commands.work import guarded

    found: list[Plugged] = []
    service = service_in(words, installed)
    status = guarded(lambda arguments: found.append(plugged_of(arguments)), service)
    if status:
        raise SystemExit(status)
    return found[0]


def _run_known(methods: Commands, method: str) -> None:
    texts = _Texts(documentation(method))
    _run_method(methods, method, METHODS[method], _title(method), texts)


def _run_method(
    methods: Commands, method: str, facts: MethodFacts, title: str, texts: _Texts
) -> None:
    # No abbreviations: a new parameter would change what one means.
    parser = methods.add_parser(
        method,
        description=f"{title}\n\n{OWN_SERVICE}",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", nargs="?", help=f"the input '{facts.inputs[0]}': a file, or an id")
    inputs = parser.add_argument_group(
        "inputs", "files (x.npz:member for one array), or ids ds_..."
    )
    for role in facts.inputs:
        inputs.add_argument(
            *_flags(role), dest=f"input:{role}", action="append", metavar="FILE", help=texts(role)
        )
    _also(inputs, "a further input, for --then and --name-by")
    parser.parameters = [_flags(param)[0] for param in facts.params]
    params = parser.add_argument_group("parameters", "as JSON; text needs no quotes")
    for param in facts.params:
        params.add_argument(
            *_flags(param),
            dest=f"param:{param}",
            nargs="?",
            const="true",
            metavar="VALUE",
            help=texts(param),
        )
    steps = parser.add_argument_group("steps")
    steps.add_argument(
        "--embed",
        action="store_true",
        help="the file has texts, or is a zip or a folder of images: their vectors, by the "
        "embedder of the service, are the features, and terms of the texts name the nodes",
    )
    steps.add_argument(
        "--preprocess",
        metavar="STEPS",
        help='names, as missing,standardize, or JSON: [{"step": "pca", "n": 50}]',
    )
    steps.add_argument("--then", metavar="METHOD", help="a method for the logits of this one")
    steps.add_argument("--support", metavar="JSON", help='resample: {"replicates": 20}')
    steps.add_argument("--name-by", metavar="ROLE", help="name nodes by an input")
    results = _results(parser)
    results.add_argument(
        "--map",
        metavar="FILE",
        help="also the points in the plane, as .svg, .png, .pdf, .csv, .npy, .arrow or .json",
    )
    results.add_argument(
        "--map-by", choices=("pca", "umap", "tsne", "disc"), help="how; default: pca"
    )
    table_options(parser)
    work_options(parser, "the job's")
    service_options(parser)
    parser.set_defaults(run=Late("run"), method=method, facts=facts)


def _also(parser: argparse._ActionsContainer, text: str) -> None:
    parser.add_argument("--also", action="append", metavar="ROLE=FILE", default=[], help=text)


def _results(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    results = parser.add_argument_group("results")
    results.add_argument(
        "--out",
        action="append",
        metavar="FILE",
        default=[],
        help="the tree as .nwk, .nex, .json, .arrow, .parquet, .graphml, .svg, .png, .pdf, "
        ".linkage.npy or .hclust.json; the cluster of every row as .csv or .npy; several times for "
        "several files; svg:- is standard output. Without: Newick there",
    )
    results.add_argument(
        "--cut",
        metavar="CUT",
        help="which clusters .csv and .npy hold: k=12, height=3.5, level=2, or levels=5,20,80; "
        "without: the leaves",
    )
    results.add_argument(
        "--picture",
        metavar="OPTIONS",
        help="of .svg, .png and .pdf: shape=circular|rectangular|icicle,px=1000,"
        "color_by=cluster:12,...",
    )
    report_option(results)
    return results


def _evaluate(commands: Commands) -> None:
    parser = command(commands, "evaluate", "compare a tree with labels, features or another tree")
    parser.add_argument(
        "tree", help="a file (.nwk, .json, linkage .npy, class paths .txt) or tr_..."
    )
    for role in ("labels", "features", "distances", "similarity", "hierarchy"):
        parser.add_argument(f"--{role}", metavar="FILE", help=f"the input '{role}'")
    parser.add_argument(
        "--rows",
        metavar="FILE",
        help="new rows to place in a kept tree and evaluate in their place",
    )
    _also(parser, "in place of --rows: an input of the new rows, for models that need several")
    parser.add_argument("--metrics", metavar="NAMES", help="comma-separated; without: all that fit")
    parser.add_argument(
        "--cut", metavar="CUT", help="k=12, height=3.5 or level=2, for flat metrics"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="estimate from so many pairs")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--out", metavar="FILE", help=".json or .csv")
    table_options(parser)
    work_options(parser, "the job's")
    service_options(parser)
    condition_options(parser, "nmi < .8", under=True)
    parser.set_defaults(run=Late("evaluate"))


def _predict(commands: Commands) -> None:
    parser = command(commands, "predict", "place new rows in a tree that a service keeps")
    parser.add_argument(
        "tree", type=kept("tr", "md"), help="the id of a tree (tr_...) or model (md_...)"
    )
    parser.add_argument("file", nargs="?", help="the rows: a file, or an id")
    _also(parser, "an input by its role, for models that need several")
    parser.add_argument("--top-k", type=int, metavar="K", help="of classifiers: the best classes")
    parser.add_argument("--threshold", type=float, help="least probability of a row's labels")
    parser.add_argument("--confidence", type=float, help="the path ends below this probability")
    parser.add_argument(
        "--cut", metavar="CUT", help="k=12, height=3.5 or level=2: also the cluster of each row"
    )
    parser.add_argument(
        "--calibration", metavar="ID", help="cal_...: also the nodes that surely hold the class"
    )
    parser.add_argument("--alpha", type=float, help="another bound than the calibration's own")
    parser.add_argument("--out", metavar="FILE", help=".json or .csv")
    table_options(parser)
    work_options(parser, "the job's")
    service_options(parser)
    parser.set_defaults(run=Late("predict"))


def _calibrate(commands: Commands) -> None:
    parser = command(
        commands, "calibrate", "learn from held-out rows how deep a tree's answers may go"
    )
    parser.add_argument("tree", type=kept("tr"), help="the id of a tree (tr_...)")
    parser.add_argument(
        "file", nargs="?", help="rows that the model has not seen: a file, or an id"
    )
    parser.add_argument("--labels", metavar="FILE", required=True, help="the class of each row")
    _also(parser, "an input by its role, for models that need several")
    parser.add_argument("--alpha", type=float, help="the bound that is kept; default: 0.1")
    parser.add_argument(
        "--loss", choices=("miss", "distance", "cost"), help="what is kept; default: miss"
    )
    parser.add_argument(
        "--per", choices=("all", "subtree", "class"), help="for whom it holds; default: all"
    )
    parser.add_argument("--answer", choices=("node", "set"), help="default: node")
    parser.add_argument("--score", choices=("lac", "aps"), help="of sets; default: lac")
    parser.add_argument("--costs", metavar="FILE", help="of --loss cost: classes x classes")
    parser.add_argument("--cut", metavar="CUT", help="of --per subtree: k=10, height=3.5, level=2")
    parser.add_argument("--drift", metavar="ID", help="dr_...: new rows are as its batch")
    parser.add_argument("--shift", choices=("rows", "classes"), help="of --drift: what moved")
    parser.add_argument("--after", metavar="ID", help="cal_...: that answered the rows")
    parser.add_argument("--temperature", type=float, help="in place of a fitted one")
    parser.add_argument("--seed", type=int, help="of the rows that fit the temperature")
    table_options(parser)
    work_options(parser, "the calibration's")
    parser.add_argument("--out", metavar="FILE", help="the selective curve, as .json or .csv")
    parser.add_argument(
        "--suspects", metavar="FILE", help="rows whose labels look wrong, as .json or .csv"
    )
    parser.add_argument(
        "--pairs", metavar="FILE", help="pairs that need more data, as .json or .csv"
    )
    service_options(parser)
    condition_options(parser, "error > .12", report=True)
    parser.set_defaults(run=Late("calibrate"))


def _drift(commands: Commands) -> None:
    parser = command(commands, "drift", "find what moved in a tree from a reference to a batch")
    parser.add_argument("tree", type=kept("tr"), help="the id of a tree (tr_...)")
    parser.add_argument("reference", help="rows as they should be: a file, or an id")
    parser.add_argument("batch", help="new rows: a file, or an id")
    parser.add_argument("--reference-labels", metavar="FILE", help="the label of each row")
    parser.add_argument("--batch-labels", metavar="FILE", help="the label of each row")
    parser.add_argument(
        "--level", type=float, help="the accepted rate of false discoveries; default: 0.05"
    )
    table_options(parser)
    work_options(parser, "the drift's")
    parser.add_argument(
        "--out", metavar="FILE", help="every node, as .json or .csv, or the picture, as .svg"
    )
    service_options(parser)
    condition_options(parser, "mass.p_value < .01", report=True)
    parser.set_defaults(run=Late("drift"))


def _place(commands: Commands) -> None:
    parser = command(commands, "place", "find what hangs out of place in a hierarchy of classes")
    parser.add_argument("tree", type=kept("tr"), help="the id of a tree of the classes (tr_...)")
    parser.add_argument("hierarchy", help="class paths or a tree: a file, or an id")
    parser.add_argument(
        "--level", type=float, help="the accepted rate of false discoveries; default: 0.05"
    )
    table_options(parser)
    work_options(parser, "the placement's")
    parser.add_argument(
        "--out", metavar="FILE", help="the oddest, as .json or .csv, or the picture, as .svg"
    )
    service_options(parser)
    condition_options(parser, "n_odd > 0")
    parser.set_defaults(run=Late("place", "placing"))


def _name(commands: Commands) -> None:
    parser = command(commands, "name", "name the nodes of a tree by what their rows share")
    parser.add_argument("tree", type=kept("tr"), help="the id of a tree (tr_...)")
    parser.add_argument(
        "by",
        choices=("labels", "terms", "items", "features", "model"),
        help="what names are made of",
    )
    _also(
        parser, "an input of the rows that the fit had not: documents, names, labels, feature_names"
    )
    parser.add_argument(
        "--evidence",
        choices=("labels", "terms", "items", "features"),
        help="for `model`: what it gets; default: terms",
    )
    parser.add_argument(
        "--n-clusters", type=int, metavar="N", help="how many clusters are named; default: 256"
    )
    work_options(parser, "the naming's")
    parser.add_argument("--out", metavar="FILE", help="the tree with its names, as .nwk, .svg, ...")
    service_options(parser)
    parser.set_defaults(run=Late("name"))


def _compare(commands: Commands) -> None:
    parser = command(commands, "compare", "run several methods on the same files, as one table")
    parser.add_argument(
        "methods", nargs="+", metavar="method", help="hac, or kmeans:n_clusters=10,n_init=3"
    )
    for role in ("features", "logits", "labels", "hierarchy"):
        parser.add_argument(f"--{role}", metavar="FILE", help=f"the input '{role}'")
    _also(parser, "a further input")
    parser.add_argument("--seeds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--metrics", metavar="NAMES", help="comma-separated; without: all that fit")
    parser.add_argument(
        "--cut", metavar="CUT", help="k=12, height=3.5 or level=2, for flat metrics"
    )
    parser.add_argument("--out", metavar="FILE", help=".json or .csv")
    table_options(parser)
    work_options(parser, "the comparison's")
    service_options(parser)
    condition_options(parser, "best.nmi < .8", under=True, report=True)
    parser.set_defaults(run=Late("compare"))


def _consensus(commands: Commands) -> None:
    parser = command(
        commands, "consensus", "make one tree of several, or tell how much of one others have"
    )
    parser.add_argument(
        "trees",
        nargs="+",
        metavar="tree",
        help="files (.nwk, .json, linkage .npy, class paths .txt) or tr_...; two or more",
    )
    parser.add_argument(
        "--rule",
        choices=("strict", "majority", "extended", "median"),
        help="which clusters are kept; default: majority",
    )
    parser.add_argument("--threshold", type=float, help="of majority: the share to be exceeded")
    parser.add_argument(
        "--reference", metavar="TREE", help="keep this tree, with support by the others"
    )
    parser.add_argument(
        "--support", choices=("share", "transfer"), help="of --reference; default: share"
    )
    parser.add_argument("--match", choices=("auto", "names", "rows"), help="default: auto")
    parser.add_argument(
        "--common", action="store_true", default=None, help="leave out what not all trees have"
    )
    work_options(parser, "the tree's")
    _results(parser)
    service_options(parser)
    parser.set_defaults(run=Late("consensus"))


def _jobs(commands: Commands) -> None:
    parser = command(commands, "jobs", "the newest jobs of a service")
    parser.add_argument("--status", help="queued, running, succeeded, failed or cancelled")
    parser.add_argument("--method", choices=KnownNames(METHODS), metavar="METHOD")
    parser.add_argument("--name", help="only jobs with exactly this name")
    parser.add_argument(
        "--tag", action="append", default=[], help="only jobs with this tag; several times: all"
    )
    parser.add_argument("--limit", type=at_least_one, default=20, help="default: %(default)s")
    service_options(parser)
    parser.set_defaults(run=Late("jobs"))


def _failed(commands: Commands) -> None:
    parser = command(commands, "failed", "the newest jobs that have failed for good, and why")
    parser.add_argument("--reason", help="only for this one: worker-lost, unusable-input, ...")
    parser.add_argument("--method", choices=KnownNames(METHODS), metavar="METHOD")
    parser.add_argument("--limit", type=at_least_one, default=20, help="default: %(default)s")
    parser.add_argument("--retry", action="store_true", help="try all of these again")
    service_options(parser)
    parser.set_defaults(run=Late("failed", "operating"))


def _retry(commands: Commands) -> None:
    parser = command(commands, "retry", "try failed jobs again, under their old inputs")
    parser.add_argument("jobs", nargs="+", metavar="JOB")
    service_options(parser)
    parser.set_defaults(run=Late("retry", "operating"))


_SCOPES = ("lane", "tenant", "method", "worker")


def _pause(commands: Commands) -> None:
    for name, sentence in (
        (
            "pause",
            "let jobs of a lane, tenant, method or worker wait: umbel pause lane cpu:fit",
        ),
        ("resume", "let them go on: umbel resume tenant acme"),
    ):
        parser = command(commands, name, sentence)
        parser.add_argument("scope", choices=_SCOPES, help="what it is: %(choices)s")
        parser.add_argument("name", help="cpu:fit, a tenant, the id of a method or worker")
        if name == "pause":
            parser.add_argument("--reason", help="shown with each job that waits")
        service_options(parser)
        parser.set_defaults(run=Late(name, "operating"))
    parser = command(commands, "pauses", "what is paused, and why")
    service_options(parser)
    parser.set_defaults(run=Late("pauses", "operating"))


def _workers(commands: Commands) -> None:
    parser = command(commands, "workers", "the workers that are alive, and what each does")
    service_options(parser)
    parser.set_defaults(run=Late("workers", "operating"))
    parser = command(commands, "drain", "let a worker take no more jobs; wait until it has none")
    parser.add_argument("worker", metavar="WORKER")
    parser.add_argument("--reason", help="shown in the list of pauses")
    parser.add_argument("--wait-s", type=seconds, metavar="SECONDS", help="the most time to wait")
    service_options(parser)
    parser.set_defaults(run=Late("drain", "operating"))


def _methods(commands: Commands) -> None:
    parser = commands.add_parser("methods", help="the methods, or what one of them takes")
    parser.add_argument("method", nargs="?", metavar="id", choices=KnownNames(METHODS))
    parser.add_argument("--url", help="of a service that may have further methods")
    parser.add_argument("--json", action="store_true", help="for other programs")
    parser.set_defaults(run=Late("methods", "catalogue"))


def _mcp(commands: Commands) -> None:
    parser = command(
        commands,
        "mcp",
        "tools for assistants (Model Context Protocol), on standard input and output",
    )
    service_options(parser)
    parser.set_defaults(run=Late("mcp"))


def _completion(parser: argparse.ArgumentParser, commands: Commands) -> None:
    sentence = 'print what completes this command in a shell: eval "$(umbel completion bash)"'
    completion = commands.add_parser("completion", help=sentence, description=sentence)
    completion.add_argument("shell", choices=SHELLS)
    completion.set_defaults(run=lambda arguments: print_completion(parser, arguments.shell))


def _flags(name: str) -> list[str]:
    """`n_clusters` as an option: with hyphens, and as written."""
    return list(dict.fromkeys((f"--{name.replace('_', '-')}", f"--{name}")))


class _Texts:
    """What a docstring says of each argument."""

    def __init__(self, docstring: str) -> None:
        self._texts = argument_texts(docstring)

    def __call__(self, name: str) -> str:
        return self._texts.get(name, "").replace("%", "%%")


def _title(method: str) -> str:
    title = " ".join(documentation(method).partition("\n\n")[0].split())
    return title.replace("%", "%%")
