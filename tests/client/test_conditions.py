"""Conditions of pipelines, judged on results that are written here."""

from __future__ import annotations

import argparse
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from umbel_client import InputError
from umbel_client.commands import outputs
from umbel_client.commands.conditions import (
    ConditionHolds,
    conditions_of,
    figures_of,
    figures_of_runs,
    judge,
)
from umbel_client.commands.options import condition_options
from umbel_client.comparison import Comparison
from umbel_client.core.connection import Connection
from umbel_client.core.messages import Settings

RESULT = {
    "n_moves": 2,
    "area": None,
    "likelihood": {"before": -1.5, "after": -0.5},
    "moves": [{"node": 3, "p_value": 0.001}],
    "aspects": [
        {"aspect": "mass", "moved": True, "p_value": 0.004},
        {"aspect": "purity", "moved": False, "p_value": 1.0},
    ],
}


def given(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    condition_options(parser, "a < 1", under=True)
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args(words)


def judged(*words: str) -> str:
    """What holds; "" for nothing."""
    arguments = given(*words)
    try:
        judge(arguments, conditions_of(arguments), RESULT, "drift")
    except ConditionHolds as held:
        return str(held)
    return ""


def test_the_figures_of_a_result() -> None:
    assert figures_of(RESULT) == {
        "n_moves": 2,
        "area": None,
        "likelihood.before": -1.5,
        "likelihood.after": -0.5,
        "mass.moved": 1,
        "mass.p_value": 0.004,
        "purity.moved": 0,
        "purity.p_value": 1,
    }


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("mass.p < .01", True),
        ("mass.p_value<.004", False),
        ("mass.p_value <= 4e-3", True),
        ("n_moves > 2", False),
        ("n_moves>=2", True),
        ("purity.moved == 1", False),
        ("purity.p != 1", False),
        ("likelihood.after < -.4", True),
        ("area > 100", True),
        ("mass.p < .01 and n_moves > 2", False),
        ("mass.p < .01 and n_moves >= 2", True),
        ("n_moves > 2 or mass.p < .01", True),
        ("n_moves > 2 or purity.p < .01", False),
        ("mass.p < .01 and n_moves > 2 or purity.moved == 0", True),
        ("purity.moved == 0 or mass.p < .01 and n_moves > 2", True),
    ],
)
def test_a_condition(condition: str, holds: bool) -> None:
    assert bool(judged("--fail-if", condition)) is holds


def test_scores_below_a_number() -> None:
    assert judged("--fail-under", "n_moves=3") == "drift: n_moves < 3: n_moves is 2."
    assert not judged("--fail-under", "n_moves=2")


@pytest.mark.parametrize(
    "words",
    [
        ("--fail-if", "mass.p"),
        ("--fail-if", "mass.p < low"),
        ("--fail-if", "mass.p < nan"),
        ("--fail-if", "mass.p = 1"),
        ("--fail-if", "1 < mass.p < 2"),
        ("--fail-if", "mass.p < 1 and"),
        ("--fail-if", "or mass.p < 1"),
        ("--fail-if", "(mass.p < 1)"),
        ("--fail-if", "__import__('os') < 1"),
        ("--fail-if", "mass.p < 1 and and n_moves > 1"),
        ("--fail-under", "nmi"),
        ("--fail-under", "=1"),
        ("--junit", "j.xml"),
    ],
)
def test_what_is_no_condition_is_refused_before_any_work(words: tuple[str, ...]) -> None:
    with pytest.raises(InputError):
        conditions_of(given(*words))


def test_a_figure_that_is_not_there_is_refused_with_what_is() -> None:
    with pytest.raises(InputError, match=r"no figure 'nmi'; it has .*mass\.p_value, n_moves"):
        judged("--fail-if", "nmi < 1")
    with pytest.raises(InputError, match=r"Is 'mass\.p_value' meant"):
        judged("--fail-if", "mas.p < 1")
    with pytest.raises(InputError, match="Is 'n_moves' meant"):
        judged("--fail-if", "n_moves > 5 and n_move > 5")


def test_warnings_are_annotations_in_a_workflow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs.shower(False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    outputs.warn(["Few rows."])
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    outputs.warn(["Few rows.", "100%\n::error::of them"])
    assert capsys.readouterr().err.splitlines() == [
        "warning: Few rows.",
        "::warning title=umbel::100%25%0A::error::of them",
    ]


def test_junit_and_annotations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    path = tmp_path / "j.xml"
    held = judged("--fail-if", "mass.p < .01", "--fail-if", "area<1", "--fail-if", "n_moves > 5",
                  "--junit", str(path), "--quiet")  # fmt: skip
    assert held == "drift: mass.p < 0.01: mass.p is 0.004; area < 1: area has no value."
    assert capsys.readouterr().err.splitlines() == [
        "::error title=umbel drift::mass.p < 0.01: mass.p is 0.004",
        "::error title=umbel drift::area < 1: area has no value",
    ]
    suite = ElementTree.parse(path).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    assert [case.find("failure") is not None for case in suite] == [True, True, False]


def test_the_figures_of_a_comparison() -> None:
    def run(method: str, **means: float) -> dict[str, object]:
        return {"method": method, "metrics": {name: {"mean": own} for name, own in means.items()}}

    body = {
        "id": "cmp_1",
        "status": "succeeded",
        "table": [run("hac", nmi=0.5), run("kmeans", nmi=0.7, ari=0.25), run("hac", nmi=0.625)],
        "best": {"nmi": 1, "ari": 1},
    }
    connection = Connection(Settings("http://127.0.0.1:1"))
    assert figures_of(figures_of_runs(Comparison(connection, body))) == {
        "hac.nmi": 0.5,
        "hac-2.nmi": 0.625,
        "kmeans.nmi": 0.7,
        "kmeans.ari": 0.25,
        "best.nmi": 0.7,
        "best.ari": 0.25,
    }
