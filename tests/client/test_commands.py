"""The commands' options and help; what they do is tested against a running service."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from umbel_client import InputError
from umbel_client.commands import add_commands, main, values
from umbel_client.methods import METHODS


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_help_of_every_method(capsys: pytest.CaptureFixture[str]) -> None:
    for method, facts in METHODS.items():
        text = shown(capsys, "run", method, "--help")
        for name in (*facts.inputs, *facts.params):
            assert f"--{name.replace('_', '-')}" in text, (method, name)


def test_methods_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "methods")
    assert [line.split()[0] for line in text.splitlines()[1:]] == list(METHODS)
    assert "temperature : Divisor of the logits before softmax." in shown(capsys, "methods", "l2h")


@pytest.mark.needs("shtab")
def test_completion_knows_methods_and_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "completion", "bash")
    assert "--growable" in text
    assert "bisecting-kmeans" in text


def test_an_option_is_not_abbreviated(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "kmeans", "x.npy", "--n-clust", "3"])
    assert ended.value.code == 2
    assert "--n-clust" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("true", True),
        ("[64, 32]", [64, 32]),
        ("ward", "ward"),
        ("1e-3", 1e-3),
        ("", ""),
    ],
)
def test_a_parameter_is_json_or_text(text: str, value: object) -> None:
    assert values.parameter_of(text) == value


def test_options_in_one_word() -> None:
    known = ("k", "levels", "color_by")
    assert values.assignments_of("--cut", "levels=5,20,80", known) == {"levels": "5,20,80"}
    assert values.assignments_of("--cut", "k=3,color_by=cluster:6", known) == {
        "k": "3",
        "color_by": "cluster:6",
    }
    for wrong in ("3", "n=3", "k=3,n=4", ""):
        with pytest.raises(InputError, match="k=, levels=, color_by="):
            values.assignments_of("--cut", wrong, known)


def test_a_text_file_is_one_value_a_line(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("3\n1\n", encoding="utf-8-sig")
    assert values.input_of("labels", str(path)) == [3, 1]
    assert values.input_of("names", str(path)) == ["3", "1"]
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as text"):
        values.input_of("labels", str(path))
    path.write_text("")
    with pytest.raises(InputError, match="is empty"):
        values.input_of("names", str(path))


def test_one_array_of_several(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    path.write_bytes(b"x")
    file = values.input_of("features", f"{path}:train")
    assert (file.path, file.member) == (str(path), "train")
    assert values.input_of("features", "gone.npz:train") == "gone.npz:train"


def test_operations_of_an_edit_keep_their_order() -> None:
    parser = argparse.ArgumentParser()
    add_commands(parser, parser.add_subparsers())
    given = parser.parse_args(["edit", "ed_1", "--note", "2=a=b", "--merge", "4,5", "--note", "2"])
    assert given.operations == [("note", "2=a=b"), ("merge", "4,5"), ("note", "2")]
    assert parser.parse_args(["edit", "ed_1", "--undo"]).operations == [("undo", [])]
