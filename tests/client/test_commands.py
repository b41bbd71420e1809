"""The commands' options and help; what they do is tested against a running service."""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import json
import lzma
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import ROOT
from umbel_client import File, InputError, UmbelWarning
from umbel_client.commands import add_commands, kept_work, main, outputs, values, work
from umbel_client.inputs import converted
from umbel_client.methods import GROUPS, METHODS
from umbel_client.quoting import as_arguments, as_options


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
    assert text.startswith("to begin with:\n  l2h ")
    named = [line.split()[0] for line in text.splitlines() if line.startswith("  ")]
    assert named == [name for names in GROUPS.values() for name in names]
    assert sorted(named) == sorted(METHODS)
    assert [each["id"] for each in json.loads(shown(capsys, "methods", "--json"))] == named
    one = shown(capsys, "methods", "l2h")
    assert "temperature : Divisor of the logits before softmax." in one
    assert "Umbel.run" not in one


def test_help_has_groups(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "run", "--help")
    begin, points = text.index("  to begin with:\n    l2h "), text.index("  hierarchies of points:")
    assert begin < text.index("\n    hac ") < points < text.index("\n    birch ")
    text = shown(capsys, "--help")
    assert text.index("  on files:\n    run ") < text.index(
        "  on what a service keeps:\n    upload "
    )


def test_a_table_on_the_terminal_is_of_text() -> None:
    rows = [{"name": "\x1b[31mred\u202e\n", "n": 1}, {"name": "é" * 3000, "n": 2}]
    assert outputs.shown(rows).splitlines() == [
        f"{'name':83}  n",
        r"\x1b[31mred\u202e\n".ljust(83) + "  1",
        f"{'é' * 80}...  2",
    ]


@pytest.mark.needs("shtab")
def test_completion_knows_methods_and_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "completion", "bash")
    assert "--growable" in text
    assert "bisecting-kmeans" in text


@pytest.mark.needs("shtab")
def test_completion_offers_ids(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(shown(capsys, "completion", "bash"))
    assert "_shtab_umbel_client_drift_pos_0_COMPGEN=_umbel_client_ids_of_trees" in (
        script.read_text()
    )
    # The command is replaced by a function that lists two ids.
    listing = '[ "$*" = "list trees --ids" ] && printf "tr_0a\\ntr_1b\\n"; echo no >&2'
    words = f"""umbel-client() {{ {listing}; }}; complete() {{ :; }}
        source {shlex.quote(str(script))}; _umbel_client_ids_of_trees tr_1"""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    ended = subprocess.run([bash, "-c", words], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("tr_1b\n", "")
    assert "list any --ids 2>/dev/null" in shown(capsys, "completion", "zsh")


def test_an_option_is_not_abbreviated(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "kmeans", "x.npy", "--n-clust", "3"])
    assert ended.value.code == 2
    assert "--n-clust" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentences"),
    [
        ("run kmens x.npy", ["no method 'kmens'. Is 'kmeans' meant?"]),
        (
            "run hac x.npy --linkag ward",
            [
                "umbel-client run hac: error",
                "Is --linkage meant?",
                "run hac` are --linkage, --metr",
            ],
        ),
        ("run hac x.npy --linkag=ward", ["--linkag=ward. Is --linkage meant?"]),
        ("run hac x.npy --set linkage=ward", ["linkage=ward. The parameters of"]),
        ("run kmeans x.npy --nclusters 3", ["Is --n-clusters meant?", "`umbel-client run kmeans`"]),
        ("run l2h x.npy y.npy", ["umbel-client run l2h: error: unrecognized arguments: y.npy"]),
        ("run --quite hac x.npy", ["umbel-client run: error: unrecognized arguments: --quite"]),
        (
            "evaluat t.nwk",
            ["invalid choice: 'evaluat'. Is 'evaluate' meant? `umbel-client --help` lists all."],
        ),
        ("confusion tr_1", ["Is 'confusions' meant?"]),
        ("list tree", ["invalid choice: 'tree'", "Is 'trees' meant?"]),
        ("consensus a b --rule strct", ["Is 'strict' meant?"]),
        ("--verison", ["unrecognized arguments: --verison. Is --version meant?"]),
        ("list trees --limit 0", ["'0' is no whole number from 1"]),
        ("run hac x.npy --wait-s -1", ["'-1' is no number of seconds from 0"]),
        ("run hac x.npy --wait-s soon", ["'soon' is no number of seconds from 0"]),
        ("evaluate t.nwk --lables y.npy", ["umbel-client evaluate: error", "Is --labels meant?"]),
        ("drift t.nwk a.npy b.npy", ["'t.nwk' is not the id of a tree (tr_...); `umbel run` make"]),
        (f"share {'a' * 300}", ["is not the id of a tree (tr_...); `umbel run` makes one"]),
        ("report ds_1 r.html", ["'ds_1' is not the id of a tree or a comparison or"]),
    ],
)
def test_what_is_misspelt_gets_the_near_name(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    sentences: list[str],
) -> None:
    monkeypatch.delenv("UMBEL_URL", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    output, error = capsys.readouterr()
    assert not output
    for sentence in sentences:
        assert sentence in " ".join(error.split())


def piped(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Make a content standard input."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


def array(values: object) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array(values))
    return file.getvalue()


@pytest.mark.parametrize(
    ("role", "content", "values_"),
    [
        ("labels", b"3\n1\n", [3, 1]),
        ("labels", b"cat\ndog\n", ["cat", "dog"]),
        ("names", b"3\n1", ["3", "1"]),
        ("documents", b"One, two, three.\nFour\tfive.\n", ["One, two, three.", "Four\tfive."]),
        ("labels", "\ufeffa\nä\n".encode(), ["a", "ä"]),
    ],
)
def test_lines_on_standard_input_are_a_column(
    monkeypatch: pytest.MonkeyPatch, role: str, content: bytes, values_: list[object]
) -> None:
    piped(monkeypatch, content)
    assert values.input_of(role, "-") == values_


@pytest.mark.parametrize(
    ("role", "content", "media_type"),
    [
        ("labels", array([1, 2]), None),
        ("labels", b'["a", "b"]', "application/json"),
        ("documents", b'{"text": "One"}\n{"text": "Two"}\n', "application/x-ndjson"),
        ("labels", b"id,label\n1,a\n", "text/csv"),
        ("items", b"id\tlabel\n1\ta\n", "text/tab-separated-values"),
        ("labels", b"@relation x\n", None),
        ("names", b"ab\0cd", None),
        ("features", b"1,2\n3,4\n", "text/csv"),
        ("features", b"1 1:0.5 2:3,5\n", None),
        ("features", b"1\n2\n", None),
        ("features", b"\xff\xfe,", None),
        ("features", "id,x\n\xe9,1\n".encode("utf-16"), "text/csv"),
        ("features", gzip.compress(b"id,x\na,1\n"), "text/csv"),
        ("features", bz2.compress(b"id\tx\na\t1\n"), "text/tab-separated-values"),
        ("labels", lzma.compress(b"id,x\na,1\n"), "text/csv"),
        ("labels", gzip.compress(b"a\nb\n"), None),
        ("features", gzip.compress(b"id,x\na,1\n")[:12] + b"\xff" * 9, None),
        ("features", b'{"x": {"a": 1, "b": 2}, "y": {"a": 3, "b": 4}}', "application/json"),
        ("features", b'{"x": [1, 2], "y": [3, 4]}\n', "application/json"),
        ("features", b'{\n "x": [1, 2],\n "y": [3, 4]\n}\n', "application/json"),
        ("features", b'{"x": [1, 2]}\n{"x": [3, 4]}\n', "application/x-ndjson"),
        ("features", b'{"x": 1, "y": 2}\n', "application/x-ndjson"),
    ],
)
def test_other_content_on_standard_input_is_a_file(
    monkeypatch: pytest.MonkeyPatch, role: str, content: bytes, media_type: str | None
) -> None:
    piped(monkeypatch, content)
    file = values.input_of(role, "-")
    assert isinstance(file, File)
    assert Path(file.path).read_bytes() == content
    assert file.media_type == media_type
    assert file.member is None
    piped(monkeypatch, content)
    assert values.input_of(role, "-:train").member == "train"


def test_standard_input_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, b"1\n2\n")
    values.input_of("labels", "-")
    with pytest.raises(InputError, match="nothing came on standard input"):
        values.input_of("names", "-")


@pytest.mark.parametrize(
    ("content", "tree"),
    [
        (b"((a,b),c);\n", "((a,b),c);"),
        (b"[&R] ((a,b),c);", "[&R] ((a,b),c);"),
        (b'{"nodes": []}', {"nodes": []}),
        (b"animal/dog\nanimal/cat\n", ["animal/dog", "animal/cat"]),
        (b'["animal/dog"]', ["animal/dog"]),
        ("((\xe9,b),c);\n".encode("utf-16"), "((\xe9,b),c);"),
    ],
)
def test_a_tree_on_standard_input(
    monkeypatch: pytest.MonkeyPatch, content: bytes, tree: object
) -> None:
    piped(monkeypatch, content)
    assert values.tree_of("-") == tree


def test_a_tree_in_utf_16(tmp_path: Path) -> None:
    """As PowerShell writes what a program prints."""
    for name in ("t.nwk", "t.txt"):
        (tmp_path / name).write_text("((\xe9,b),c);", encoding="utf-16")
        assert values.tree_of(str(tmp_path / name)) == "((\xe9,b),c);"
    (tmp_path / "t.nwk").write_bytes(b"(a\0,b);")
    with pytest.raises(InputError, match="cannot be read"):
        values.tree_of(str(tmp_path / "t.nwk"))


def test_a_linkage_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, array([[0, 1, 1.5, 2]]))
    np.testing.assert_array_equal(values.tree_of("-"), [[0, 1, 1.5, 2]])
    for wrong in (b"\x93NUMPY", b"\xff\xfe\x00"):
        piped(monkeypatch, wrong)
        with pytest.raises(InputError, match="standard input"):
            values.tree_of("-")


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
    assert converted("names", path) == converted("names", ["3", "1"]), "the same in Python"
    for encoding in ("utf-16", "utf-32"):
        path.write_text("Öl\nTür\n", encoding=encoding)
        assert values.input_of("names", str(path)) == ["Öl", "Tür"]
    path.write_text("ab\ncd\n", encoding="utf-16-le")
    with pytest.raises(InputError, match="UTF-16 without its mark"):
        values.input_of("names", str(path))
    path.write_text("Öl\nTür\n", encoding="latin-1")
    with pytest.warns(UmbelWarning, match="read as Windows-1252"):
        assert values.input_of("names", str(path)) == ["Öl", "Tür"]
    path.write_bytes(b"\xff\x00\xfe")
    with pytest.raises(InputError, match="cannot be read as text"):
        values.input_of("labels", str(path))
    path.write_text("")
    with pytest.raises(InputError, match="is empty"):
        values.input_of("names", str(path))


def test_a_sentence_of_the_service_names_the_options_of_commands() -> None:
    sentence = "Choose others with ?columns= (features) and ?id_column=, or one with ?member=."
    for words in (sentence, as_arguments(sentence)):
        assert as_options(words) == (
            "Choose others with --columns (features) and --id-column, or one with FILE:NAME."
        )
    assert as_arguments(sentence) == (
        "Choose others with columns= (features) and id_column=, or one with member=."
    )


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


def test_every_form_of_a_tree_can_be_chosen() -> None:
    document = json.loads((ROOT / "openapi" / "openapi.json").read_text())
    path = document["paths"]["/v1/trees/{tree_id}.{form}"]
    shared = document["components"]["parameters"]
    parameters = (
        shared[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
        for each in path["get"]["parameters"]
    )
    (form,) = (each for each in parameters if each["name"] == "form")
    forms = {*form["schema"]["enum"], "json"}
    # With the command a CSV is of rows.
    assert {each.removeprefix(".") for each in outputs.TREE_FORMS} == forms - {"csv"}
    pages = ROOT / "app" / "dashboard" / "js"
    listed = (pages / "pages" / "tree_downloads.js").read_text()
    assert set(re.findall(r'^  \["([\w.]+)", "', listed, re.MULTILINE)) == forms
    menu = (pages / "tree" / "panels" / "file_menu.js").read_text()
    # The picture that is seen is drawn by the page, PNG and PDF as a figure for print.
    assert set(re.findall(r'save\("([\w.]+)"', menu)) == forms - {"png", "pdf"}


def test_standard_output_in_place_of_a_file(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert outputs.form_of("-") == ".nwk"
    assert outputs.form_of("linkage.npy:-") == ".linkage.npy"
    assert outputs.form_of("a:-.svg") == ".svg"
    assert outputs.standard_form("no/file:-") == ("no/file:-", False)
    with pytest.raises(InputError, match="ends with"):
        outputs.form_of("svvg:-")
    stream = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(stream, write_through=True))
    outputs.shower(False)
    outputs.require_place("svg:-")
    outputs.saved(b"\x89PNG", "png:-")
    outputs.put({"n": 1}, True, "")
    assert stream.getvalue() == b"\x89PNG"
    assert b'"n": 1' in capfdbinary.readouterr().err
    outputs.shower(False)
    outputs.table([{"a": 1}], "-")
    outputs.put(None, False, "text")
    assert stream.getvalue() == b"\x89PNGa\r\n1\r\n"
    outputs.shower(False)


@pytest.mark.parametrize(
    ("body", "size"),
    [
        ({"shape": [240, 6], "bytes": 5888}, "240 x 6, 5.89 kB"),
        ({"shape": [3], "bytes": 999_500}, "3, 1 MB"),
        ({"shape": None, "bytes": 5}, ""),
        ({"n_points": 1200, "n_leaves": 6}, "1,200 rows, 6 leaves"),
        (
            {"result": {"n_reference": 9, "n_batch": 8, "n_moves": 0}},
            "9 to 8 rows, 0 changes",
        ),
        ({"table": [{}, {}]}, "2 runs"),
        ({"result": None}, ""),
    ],
)
def test_sizes_of_what_is_listed(body: dict[str, object], size: str) -> None:
    assert outputs.size_of(body) == size


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (None, None),
        ("standardize", [{"step": "standardize"}]),
        ("missing, l2", [{"step": "missing"}, {"step": "l2"}]),
        ('{"step": "pca", "n": 2}', [{"step": "pca", "n": 2}]),
        ('[{"step": "l2"}]', [{"step": "l2"}]),
    ],
)
def test_steps_are_names_or_json(text: str | None, steps: object) -> None:
    assert work._steps(text) == steps


def test_what_is_refused_is_in_words_of_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flowers.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SystemExit) as ended:
        main(["run", "hac", "flower.csv", "--url", "http://127.0.0.1:1"])
    assert ended.value.code == 2
    refused = capsys.readouterr().err
    assert "accepted are files, and ids such as 'ds_...'. Is 'flowers.csv' meant?" in refused
    assert as_options("params.n_init: Input should be 1.") == "--n-init: Input should be 1."
    with pytest.raises(SystemExit) as ended:
        main(["list", "trees", "--url", "http://127.0.0.1:1"])
    assert ended.value.code == 3
    assert "`umbel serve`; or give the address of another: --url, or" in capsys.readouterr().err


def test_a_warning_that_joins_earlier_ones_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    outputs.shower(quiet=False)
    outputs.warn(["One is left out.", "Two are guessed.", "One is left out. Two are guessed."])
    assert capsys.readouterr().err.count("guessed") == 1


def test_parts_are_known_by_name() -> None:
    paths = json.loads((ROOT / "openapi" / "openapi.json").read_text())["paths"]
    nouns = {
        "at": "attachments",
        "cal": "calibrations",
        "dr": "drifts",
        "ds": "datasets",
        "hm": "heatmaps",
        "job": "jobs",
        "map": "maps",
        "md": "models",
        "nm": "namings",
        "tr": "trees",
    }
    for prefix, noun in nouns.items():
        begin = re.compile(rf"/v1/{noun}/{{\w+}}/([a-z]+)")
        found = {
            match[1]
            for path, methods in paths.items()
            if "get" in methods and (match := begin.match(path))
        }
        assert set(kept_work.PARTS[prefix]) == found, noun
