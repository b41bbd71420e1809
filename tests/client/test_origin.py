"""The commands that reports show: a shell and the command line take them."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

import pytest

from umbel_client.commands import Parser, add_commands
from umbel_client.origin import Input, changed, command_of

DATASET = "ds_01kamjx5w0ahwbcuvh3mqsx4fb"
TREE = "tr_01kamjx5w0ahwbcuvh3mqsx4fb"
ODD = "it's $(rm -rf x); `y`\n.npy"


def parsed(command: str) -> argparse.Namespace:
    parser = Parser(prog="umbel")
    add_commands(parser, parser.add_subparsers(required=True))
    arguments: argparse.Namespace = parser.parse_args(shlex.split(command)[1:])
    return arguments


def test_a_fit() -> None:
    job: dict[str, Any] = {
        "kind": "fit",
        "method": "hac",
        "params": {"linkage": "ward", "metric": "euclidean", "n_neighbors": 15, "weights": None},
        "preprocess": [{"step": "standardize"}],
    }
    inputs = [
        Input("features", DATASET, "x.npy", "240 x 6"),
        Input("names", "inline"),
        Input("must_link", DATASET, ODD, kept=False),
    ]
    command = command_of(job, inputs, {})
    assert shlex.split(command) == [
        *("umbel", "run", "hac", "--features", DATASET, "--names", "FILE", "--must-link", ODD),
        *("--linkage", "ward", "--preprocess", '[{"step": "standardize"}]'),
    ]
    arguments = parsed(command)
    assert getattr(arguments, "param:linkage") == "ward"
    assert getattr(arguments, "input:must_link") == [ODD]


def test_a_drift() -> None:
    job = {"kind": "drift"}
    inputs = [
        Input("reference.logits", DATASET),
        Input("batch.logits", DATASET, "after.npy", kept=False),
        Input("batch.labels", DATASET, "y.npy", kept=False),
    ]
    command = command_of(job, inputs, {"tree": TREE, "result": {"level": 0.01}})
    arguments = parsed(command)
    assert (arguments.tree, arguments.reference, arguments.batch, arguments.level) == (
        *(TREE, DATASET, "after.npy"),
        0.01,
    )
    assert arguments.batch_labels == "y.npy"
    assert "--level" not in command_of(job, inputs, {"tree": TREE, "result": {"level": 0.05}})


def test_a_calibration() -> None:
    inputs = [Input("logits", DATASET), Input("labels", DATASET)]
    result = {"alpha": 0.05, "loss": "miss", "score": None, "seed": 3}
    command = command_of({"kind": "calibrate"}, inputs, {"tree": TREE, "result": result})
    assert command == f"umbel calibrate {TREE} {DATASET} --labels {DATASET} --alpha 0.05 --seed 3"
    assert parsed(command).alpha == 0.05


def test_a_comparison() -> None:
    table = [
        {"method": "kmeans", "params": {"n_clusters": 3, "n_init": 10}, "seeds": 2},
        {"method": "hac", "params": {}, "seeds": 1},
    ]
    command = command_of({"kind": "compare"}, [Input("features", DATASET)], {"table": table})
    assert command == f"umbel compare kmeans:n_clusters=3 hac --features {DATASET} --seeds 2"
    assert parsed(command).methods == ["kmeans:n_clusters=3", "hac"]


@pytest.mark.parametrize("kind", ["import", "consensus", None])
def test_what_has_no_command(kind: str | None) -> None:
    assert not command_of({"kind": kind}, [], {})


def test_parameters_that_are_no_defaults() -> None:
    assert changed("kmeans", {"n_clusters": 8, "seed": 4}) == {"seed": 4}
    assert changed("of-a-plug-in", {"n": 1, "m": None}) == {"n": 1}
