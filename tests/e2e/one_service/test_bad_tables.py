"""Tables with a mistake, by every door: the same sentence, with column and row."""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from app.cli import main
from tests.e2e.client import Api
from tests.e2e.conftest import Service
from umbel_client import Umbel, UmbelError

FEATURES = b"id,x,y\na,0,0\nb,0,1\nc,9,0\nd,9,1.5\n"
LONG = b"x,y\n" + (b"1." + b"5" * 50 + b",2\n") * 22_000 + b"word,2\n"
WIDE = b",".join(b"c%d" % at for at in range(10_000)) + b"\n" + b",".join([b"0.5"] * 10_000) + b"\n"

BAD: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "two columns of one name": (
        b"x,y,x\n1,2,3\n4,5,6.5\n",
        ("two columns of the name 'x'", "column 2 (counted from 0)"),
    ),
    "an id twice": (
        b"id,x,y\na,1,2\nb,3,4.5\na,5,6\n",
        ("'id' is not taken as the ids", "row 2 has that of row 0"),
    ),
    "another type far below": (
        LONG,
        ("'word' at row 22000, column 0 ('x')", "line 22002 of the file"),
    ),
    "too many cells in a row": (
        b"x,y\n1,2\n3,4,5\n",
        ("row 1 (counted from 0; line 3 of the file) has 3 cells",),
    ),
    "many columns and one more cell": (
        WIDE + WIDE[:-1] + b",1\n",
        ("row 2 (counted from 0; line 4 of the file) has 10001 cells, the first line has 10000",),
    ),
}


def by_http(api: Api, content: bytes, path: Path, service: Service) -> str:
    dataset = api.inspected(api.post_dataset(content, media="text/csv", role="features").json())
    return " ".join([*dataset["warnings"], (dataset["problem"] or {}).get("detail", "")])


def by_client(api: Api, content: bytes, path: Path, service: Service) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            Umbel(service.url).upload(str(path), role="features", progress=False)
        except UmbelError as error:
            return str(error)
    return " ".join(str(each.message) for each in caught)


@pytest.mark.parametrize("words", BAD)
def test_each_door_says_where(
    words: str,
    api: Api,
    service: Service,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content, expected = BAD[words]
    monkeypatch.setenv("UMBEL_URL", service.url)
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    answers = [door(api, content, path, service) for door in (by_http, by_client)]
    with pytest.raises(SystemExit):
        main(("upload", str(path), "--role", "features"))
    answers.append(" ".join(capsys.readouterr().err.split()))
    for answer in answers:
        assert [word for word in expected if word not in answer] == [], answer


@pytest.mark.parametrize("how", ["http", "client", "command"])
def test_a_name_in_another_case(
    how: str,
    api: Api,
    service: Service,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(FEATURES)
    if how == "http":
        given = api.post_dataset(FEATURES, media="text/csv", role="features", columns="X")
        answer = api.inspected(given.json())["problem"]["detail"]
    elif how == "client":
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            Umbel(service.url).upload(str(path), role="features", columns=["X"], progress=False)
        answer = " ".join(str(each.message) for each in caught)
    else:
        monkeypatch.setenv("UMBEL_URL", service.url)
        with suppress(SystemExit):
            main(("upload", str(path), "--role", "features", "--columns", "X"))
        answer = " ".join(capsys.readouterr().err.split())
    assert "no column 'X'. 'x' is written otherwise: case and spaces count." in answer


ONE_VALUE = b"x,y,c\n0,0,7\n0,1,7\n9,0,7\n9,1.5,7\n"
JOBS: dict[str, tuple[str, dict[str, bytes | list[list[int]]], str]] = {
    "a column of one value": (
        "hac",
        {"features": ONE_VALUE},
        "1 column(s) have one value: 'c'.",
    ),
    "labels of ids that are not there": (
        "bsvm",
        {"features": FEATURES, "labels": b"id,label\nd,two\nc,two\nb,one\nq,one\n"},
        "Input 'labels' has the id 'q' at row 3, column 'id' (counted from 0), which input "
        "'features' has not",
    ),
    "contradictory constraints": (
        "hac",
        {"features": FEATURES, "must_link": [[0, 1], [1, 2]], "cannot_link": [[3, 1], [0, 2]]},
        "rows 0 and 2 are apart ('cannot_link', pair 1), yet one cluster",
    ),
    "negative weights": (
        "kmeans",
        {
            "features": b"x,sample_weight\n.5,2\n.5,-3\n"
            + b"".join(b"%d,1\n" % (at * at) for at in range(9))
        },
        "Input 'sample_weight' is -3 at row 1 (counted from 0); weights are 0 or more.",
    ),
    "weights that a method does not take": (
        "hdbscan",
        {"features": b"x,sample_weight\n" + b"".join(b"%d,2\n" % (at * at) for at in range(9))},
        "Column 'sample_weight', the weights of the rows, is not used",
    ),
}


@pytest.mark.parametrize("how", ["http", "client", "command"])
@pytest.mark.parametrize("words", JOBS)
def test_each_door_says_what_a_fit_found(
    words: str,
    how: str,
    api: Api,
    service: Service,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    method, inputs, expected = JOBS[words]
    files: dict[str, str] = {}
    for role, value in inputs.items():
        if isinstance(value, bytes):
            files[role] = str(tmp_path / f"{role}.csv")
            Path(files[role]).write_bytes(value)
        else:
            files[role] = str(tmp_path / f"{role}.npy")
            np.save(files[role], np.array(value))
    if how == "http":
        given = {
            role: api.post_dataset(value, media="text/csv", role=role).json()["id"]
            if isinstance(value, bytes)
            else value
            for role, value in inputs.items()
        }
        job = api.run(method, given)
        answer = " ".join([*job["warnings"], (job["error"] or {}).get("detail", "")])
    elif how == "client":
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                tree = Umbel(service.url).run(method, **files)
                answer = " ".join([*(str(each.message) for each in caught), *tree.warnings])
            except UmbelError as error:
                answer = str(error)
    else:
        monkeypatch.setenv("UMBEL_URL", service.url)
        options = [part for role, file in files.items() for part in (_option(role), file)]
        with suppress(SystemExit):
            main(("run", method, *options))
        answer = " ".join(capsys.readouterr().err.split())
    assert expected in answer, answer


def _option(role: str) -> str:
    return f"--{role.replace('_', '-')}"


def test_labels_of_other_ids(api: Api) -> None:
    """Labels in another order are brought into that of the features; ids that are not there are
    refused with their column and row."""
    features = api.post_dataset(FEATURES, media="text/csv", role="features").json()["id"]
    rows = ["d,two", "c,two", "b,one", "a,one"]
    for last, status in (("a,one", "succeeded"), ("q,one", "failed")):
        content = "\n".join(["id,label", *rows[:3], last, ""]).encode()
        labels = api.post_dataset(content, media="text/csv", role="labels").json()["id"]
        job = api.run("bsvm", {"features": features, "labels": labels})
        assert job["status"] == status, job
        sentence = " ".join(job["warnings"]) if status == "succeeded" else job["error"]["detail"]
        where = (
            "order of input 'features' by their ids"
            if last[0] == "a"
            else ("'q' at row 3, column 'id' (counted from 0)")
        )
        assert where in sentence
