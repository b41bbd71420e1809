"""A service without PyTorch: it says which methods wait for it, and runs the others."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from models.registry import methods
from tests.app.conftest import problem_of
from tests.conftest import ROOT
from tests.e2e.conftest import Service, running

HIDDEN = """
from importlib.machinery import PathFinder

find_spec = PathFinder.find_spec
PathFinder.find_spec = lambda name, *further: None if name == "torch" else find_spec(name, *further)
"""
WAITING = {
    *("deepect", "treevae", "temi", "turtle"),
    *("ghhc", "ghhc-glove", "ghhc-mtl", "hyphc"),
}
LOGITS = [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """An environment whose Python finds no torch."""
    folder = tmp_path_factory.mktemp("hidden")
    (folder / "sitecustomize.py").write_text(HIDDEN)
    paths = [str(folder), str(ROOT), str(ROOT / "client")]
    return {"PYTHONPATH": os.pathsep.join(paths)}


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, environment: Mapping[str, str]
) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("service") / "data", workers=1, **environment) as service:
        yield service


@pytest.mark.slow
def test_the_catalogue_says_which_methods_wait(service: Service) -> None:
    items = service.client.get("/v1/methods").json()["items"]
    assert {item["id"] for item in items} == set(methods())
    assert {item["id"] for item in items if not item["available"]} == WAITING
    assert {item["id"] for item in items if item["needs"] == ["torch"]} == WAITING
    assert service.client.get("/v1/methods/turtle").json()["available"] is False
    assert "torch is not installed" in service.log()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"method": "turtle", "inputs": {"features": LOGITS}}, ["method"]),
        ({"method": "l2h", "inputs": {"logits": LOGITS}, "params": {"device": "cuda"}}, ["method"]),
        (
            {"method": "tcs", "inputs": {"features": LOGITS, "labels": [0, 1, -1]}, "then": "ghhc"},
            ["then", "method"],
        ),
    ],
)
def test_a_job_that_needs_it_is_refused(
    service: Service, body: Mapping[str, object], pointer: list[str]
) -> None:
    problem = problem_of(service.client.post("/v1/jobs", json=body), 422, "method-unavailable")
    assert "pip install 'umbel[torch]'" in problem["detail"]
    assert [error["pointer"] for error in problem["errors"]] == [pointer]


@pytest.mark.slow
def test_the_other_methods_run(service: Service) -> None:
    for method, role in (("l2h", "logits"), ("hac", "features")):
        job = service.ended(service.submit({"method": method, "inputs": {role: LOGITS}}))
        assert job["status"] == "succeeded", job["error"]


def test_the_settings_name_the_methods(environment: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "umbel", "settings"]
    shown = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    last = shown.stdout.splitlines()[-1]
    assert last.startswith("torch is not installed; these methods wait for it: deepect, ghhc")


@pytest.mark.slow
def test_no_other_method_imports_it(environment: Mapping[str, str], tmp_path: Path) -> None:
    script = """
import warnings
from tests.contract.contract_kit import METHODS, example, ways

warnings.simplefilter("ignore")
for method in METHODS:
    for roles in ways(method) * (not method.needs):
        data = example(method, roles)
        fitted = method.fit(data, method.Params(**method.example))
        if method.predicts:
            for role in [role for role in roles if method.inputs[role].fit_only]:
                del data.values[role]
            method.predict(fitted.model, fitted.tree, data)
"""
    env = {**os.environ, **environment}
    subprocess.run([sys.executable, "-c", script], env=env, cwd=ROOT, check=True)
