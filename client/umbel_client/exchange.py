"""Files and objects of other programs: what they read of a tree, and what they give as inputs.

None of these programs need be installed: their objects are used by the attributes that they
document. Out: `itol`, `microreact`, `label_studio_tasks`, `into_anndata`. In:
`label_studio_labels`, `bertopic_labels`, `bertopic_hierarchy`, `cleanlab_labels`,
`hugging_face`, `from_anndata`.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from umbel_client.errors import InputError, UmbelWarning
from umbel_client.packages import package
from umbel_client.quoting import shown
from umbel_client.results import Predictions
from umbel_client.tree import Tree

COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7")
"""The colours of the largest clusters (Okabe and Ito, safe for colour-blind eyes)."""
REST = "#999999"
"""The colour of the other clusters, and of noise."""
ROW, ID = "umbel_row", "umbel_id"
"""What a task of Label Studio keeps of its row."""
_BREAKS = re.compile(r"[\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


def itol(
    tree: Tree, k: int | None = None, *, height: float | None = None, level: int | None = None
) -> dict[str, str]:
    """The files that iTOL takes, by their names: the tree with the ids of nodes, the names of its
    leaves and, as a strip of colours, their clusters in a cut. Upload the tree and drop the others
    on it. Arguments as of `Tree.assignments`.

    A tab or a line break in a name becomes a space.
    """
    leaves, colour = _coloured(tree, k, height, level)
    labels = "".join(f"{leaf['leaf']}\t{_line(leaf['leaf_name'])}\n" for leaf in leaves)
    strip = "".join(
        f"{leaf['leaf']}\t{colour[leaf['cluster']]}\t{_called(leaf)}\n" for leaf in leaves
    )
    return {
        "tree.nwk": tree.newick(labels="id"),
        "labels.txt": f"LABELS\nSEPARATOR TAB\nDATA\n{labels}",
        "clusters.txt": "DATASET_COLORSTRIP\nSEPARATOR TAB\nDATASET_LABEL\tclusters\n"
        f"COLOR\t{COLOURS[0]}\nDATA\n{strip}",
    }


def microreact(
    tree: Tree, k: int | None = None, *, height: float | None = None, level: int | None = None
) -> dict[str, str]:
    """The files that Microreact takes, by their names: the tree with the ids of nodes, and a table
    of its leaves with `id`, `name`, `cluster` and `cluster__colour`. Arguments as of
    `Tree.assignments`."""
    leaves, colour = _coloured(tree, k, height, level)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "name", "cluster", "cluster__colour"])
    for leaf in leaves:
        own = (leaf["leaf"], _line(leaf["leaf_name"]), _called(leaf), colour[leaf["cluster"]])
        writer.writerow(own)
    return {"tree.nwk": tree.newick(labels="id"), "data.csv": text.getvalue()}


def label_studio_tasks(
    data: Sequence[Any],
    predictions: Predictions | Sequence[Mapping[str, Any]],
    *,
    n: int = 100,
    field: str = "text",
    from_name: str = "label",
) -> list[dict[str, Any]]:
    """The `n` rows of which a model is least sure, as tasks of Label Studio in JSON, the least sure
    first, each with the model's label as its prediction.

    data : what is labelled of each row, a text or an address. predictions : of the same rows.
    field : the object of the labelling interface. from_name : its `Choices`. Raises InputError.
    """
    items = list(predictions)
    if len(items) != len(data):
        raise InputError("data", f"there are {len(data)} of them and {len(items)} predictions.")
    unsure = sorted(range(len(items)), key=lambda row: _sureness(row, items[row]))
    tasks = []
    for row in unsure[: max(0, n)]:
        item = items[row]
        own: dict[str, Any] = {field: data[row], ROW: row}
        if item.get("id") is not None:
            own[ID] = item["id"]
        task: dict[str, Any] = {"data": own}
        if item.get("label") is not None:
            choice = {
                "from_name": from_name,
                "to_name": field,
                "type": "choices",
                "value": {"choices": [str(item["label"])]},
            }
            task["predictions"] = [
                {"model_version": "umbel", "score": _sureness(row, item), "result": [choice]}
            ]
        tasks.append(task)
    return tasks


def label_studio_labels(
    export: Sequence[Mapping[str, Any]], n_rows: int, *, from_name: str = "label"
) -> list[str | list[str] | None]:
    """The label of each row by an export of Label Studio, JSON or JSON-MIN, of tasks that
    `label_studio_tasks` made; None where nobody gave one, a list where several were chosen.

    The newest of several annotations counts; UmbelWarning where they differ. Skipped
    ones do not. Raises InputError for a task that is not of such rows.
    """
    labels: list[str | list[str] | None] = [None] * n_rows
    differ = []
    for number, task in enumerate(export):
        data = task.get("data", task) if isinstance(task, Mapping) else None
        row = data.get(ROW) if isinstance(data, Mapping) else None
        if type(row) is not int or not 0 <= row < n_rows:
            raise InputError(
                "export",
                f"task {number} has {shown(str(row))} for {ROW!r}; a number of a row from 0 to "
                f"{n_rows - 1} is accepted, as `label_studio_tasks` writes it.",
            )
        chosen = _chosen(task, from_name)
        if not chosen:
            continue
        if any(each != chosen[-1] for each in chosen):
            differ.append(row)
        labels[row] = chosen[-1][0] if len(chosen[-1]) == 1 else chosen[-1]
    if differ:
        warnings.warn(
            f"The annotations of {len(differ)} rows differ (row {differ[0]} is the first); the "
            "newest of each counts.",
            UmbelWarning,
            stacklevel=2,
        )
    return labels


def bertopic_labels(model: Any) -> list[str | None]:
    """The topic of each document of a fitted BERTopic, by its name; None for its outliers."""
    names = dict(getattr(model, "topic_labels_", None) or {})
    return [None if topic == -1 else str(names.get(topic, topic)) for topic in model.topics_]


def bertopic_hierarchy(hierarchy: Any) -> dict[str, Any]:
    """A tree for `Umbel.import_tree` of what `BERTopic.hierarchical_topics` gives: its topics are
    the leaves, its distances the heights.

    hierarchy : the data frame, with `Parent_ID`, `Parent_Name`, `Distance` and `Child_Left_ID`,
    `Child_Left_Name`, `Child_Right_ID`, `Child_Right_Name`. Raises InputError for one that is no
    tree.
    """
    merges = hierarchy.to_dict("records")
    name: dict[str, str] = {}
    height: dict[str, float] = {}
    below: dict[str, list[str]] = {}
    for merge in merges:
        own = str(merge["Parent_ID"])
        if own in below:
            raise InputError("hierarchy", f"node {shown(own)} is made by two merges.")
        below[own] = [str(merge[f"Child_{side}_ID"]) for side in ("Left", "Right")]
        name[own], height[own] = str(merge["Parent_Name"]), float(merge["Distance"])
        for side, child in zip(("Left", "Right"), below[own], strict=True):
            name.setdefault(child, str(merge[f"Child_{side}_Name"]))
    times = Counter(child for children in below.values() for child in children)
    roots = [own for own in below if own not in times]
    if len(roots) != 1 or max(times.values(), default=0) > 1:
        raise InputError(
            "hierarchy",
            f"it has {len(roots)} roots, and a node with {max(times.values(), default=0)} parents; "
            "a tree has one root, and one parent of every other node.",
        )
    nodes: list[dict[str, Any]] = []
    waiting: list[tuple[str, int | None]] = [(roots[0], None)]
    while waiting:
        own, above = waiting.pop()
        number = len(nodes)
        node = {"id": number, "parent": above, "name": name[own], "height": height.get(own, 0.0)}
        nodes.append(node)
        waiting += [(child, number) for child in reversed(below.get(own, []))]
    if len(nodes) != len(name):
        raise InputError("hierarchy", "some of its nodes are not under its root.")
    return {"nodes": nodes}


def cleanlab_labels(labels: Any, issues: Any) -> list[Any]:
    """The labels without those that cleanlab doubts: None in their place, which is 'not labelled'.

    issues : what `find_label_issues`, `CleanLearning.get_label_issues` or `Datalab.get_issues`
    gives: a data frame with `is_label_issue`, booleans, or the numbers of rows. Raises InputError.
    """
    doubted = np.asarray(issues["is_label_issue"] if hasattr(issues, "columns") else issues)
    if doubted.dtype == bool:
        if doubted.shape != (len(labels),):
            raise InputError("issues", f"they are of {doubted.size} rows, not of {len(labels)}.")
        rows = set(np.flatnonzero(doubted).tolist())
    else:
        rows = {int(row) for row in doubted.tolist()}
        if any(not 0 <= row < len(labels) for row in rows):
            raise InputError("issues", f"they name rows that {len(labels)} labels do not have.")
    return [None if row in rows else _plain(label) for row, label in enumerate(labels)]


def hugging_face(
    dataset: Any,
    *,
    features: str | None = None,
    logits: str | None = None,
    labels: str | None = None,
    documents: str | None = None,
) -> dict[str, Any]:
    """Inputs for `Umbel.run` of a `datasets.Dataset`, by the names of its columns: vectors for
    `features` and `logits`, a class (by its name; None for -1) for `labels`, texts for `documents`.

    Raises InputError for a column that it does not have.
    """
    wanted = {"features": features, "logits": logits, "labels": labels, "documents": documents}
    inputs: dict[str, Any] = {}
    for role, column in wanted.items():
        if column is None:
            continue
        if column not in dataset.column_names:
            have = ", ".join(shown(each) for each in dataset.column_names)
            raise InputError(role, f"there is no column {shown(column)}; there are {have}.")
        values = list(dataset[column])
        if role in ("features", "logits"):
            inputs[role] = np.asarray(values, dtype=np.float32)
        elif role == "labels":
            names = getattr(dataset.features[column], "names", None)
            inputs[role] = [_class_of(value, names) for value in values]
        else:
            inputs[role] = values
    return inputs


def from_anndata(adata: Any, *, use: str = "X", labels: str | None = None) -> dict[str, Any]:
    """Inputs for `Umbel.run` of an AnnData.

    use : "X", a layer, or a key of `obsm` such as "X_pca". labels : a column of `obs`; None in it
    is 'not labelled'. Raises InputError for what it does not have.
    """
    if use == "X":
        features = adata.X
    elif use in adata.obsm:
        features = adata.obsm[use]
    elif use in adata.layers:
        features = adata.layers[use]
    else:
        have = ", ".join(map(shown, ["X", *adata.obsm.keys(), *adata.layers.keys()]))
        raise InputError("use", f"there is no {shown(use)}; there are {have}.")
    inputs: dict[str, Any] = {"features": features}
    if labels is not None:
        if labels not in adata.obs:
            raise InputError("labels", f"'obs' has no column {shown(labels)}.")
        missing = adata.obs[labels].isna()
        pairs = zip(adata.obs[labels].tolist(), missing.tolist(), strict=True)
        inputs["labels"] = [None if is_missing else _plain(value) for value, is_missing in pairs]
    return inputs


def into_anndata(adata: Any, tree: Tree, ks: Sequence[int], *, key: str = "umbel") -> None:
    """Write the clusters of a tree of an AnnData's rows into `obs`, a column of categories for each
    number of clusters, `umbel_5`, and the tree as Newick text into `uns[key]`.

    `noise` is the category of noise. Raises InputError for a tree of other rows, MissingPackage.
    """
    pandas = package("pandas", "into_anndata(adata, tree, ks)")
    columns = {}
    for k in ks:
        clusters = tree.assignments(k)
        if len(clusters) != adata.n_obs:
            raise InputError(
                "tree", f"it has {len(clusters)} rows, and the AnnData {adata.n_obs} observations."
            )
        texts = ["noise" if each < 0 else str(each) for each in clusters.tolist()]
        columns[f"{key}_{k}"] = pandas.Categorical(texts)
    for name, column in columns.items():
        adata.obs[name] = column
    adata.uns[key] = {"newick": tree.newick(), "tree": tree.id}


def _coloured(
    tree: Tree, k: int | None, height: float | None, level: int | None
) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """The leaves from left to right, and the colour of each cluster, the largest ones' first."""
    leaves = tree.leaf_clusters(k, height=height, level=level)
    sizes = Counter(leaf["cluster"] for leaf in leaves)
    ranked = sorted((own for own in sizes if own >= 0), key=lambda own: (-sizes[own], own))
    colour = dict.fromkeys(sizes, REST)
    colour.update(zip(ranked, COLOURS, strict=False))
    return leaves, colour


def _called(leaf: Mapping[str, Any]) -> str:
    if leaf["cluster"] < 0:
        return "noise"
    return _line(leaf.get("name") or f"cluster {leaf['cluster']}")


def _line(text: Any) -> str:
    return _BREAKS.sub(" ", str(text))


def _sureness(row: int, item: Mapping[str, Any]) -> float:
    """The probability of the label, or of the leaf."""
    top = item.get("top")
    found = top[0].get("probability") if top else (item.get("probabilities") or [None])[-1]
    if found is None:
        raise InputError("predictions", f"row {row} has no probability, so nothing is unsure.")
    return float(found)


def _chosen(task: Mapping[str, Any], from_name: str) -> list[list[str]]:
    """What was chosen in each annotation of a task, the newest last."""
    if "annotations" not in task:
        chosen = task.get(from_name)
        chosen = chosen.get("choices") if isinstance(chosen, Mapping) else chosen
        return [] if not chosen else [[chosen] if isinstance(chosen, str) else list(chosen)]
    found = []
    for annotation in sorted(task["annotations"], key=lambda each: str(each.get("updated_at", ""))):
        if annotation.get("was_cancelled"):
            continue
        choices = [
            str(choice)
            for result in annotation.get("result", ())
            if result.get("type") == "choices" and result.get("from_name") == from_name
            for choice in result["value"]["choices"]
        ]
        if choices:
            found.append(choices)
    return found


def _class_of(value: Any, names: Sequence[str] | None) -> Any:
    if value is None or (names is not None and value == -1):
        return None
    return _plain(value) if names is None else names[value]


def _plain(value: Any) -> Any:
    """A scalar of NumPy as Python's own."""
    return value.item() if isinstance(value, np.generic) else value
