"""A service without any extra: it says what waits for which, and runs the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from app.resources.figures.schemas import EXAMPLE
from models.registry import methods
from models.running.packages import OPTIONAL
from tests.app.conftest import problem_of
from tests.conftest import ROOT
from tests.e2e.conftest import Service, running

MODULES = [package.module for package in OPTIONAL.values()]
HIDDEN = f"""
from importlib.machinery import PathFinder

find_spec = PathFinder.find_spec
PathFinder.find_spec = lambda name, *further: (
    None if name in {MODULES} else find_spec(name, *further)
)
"""
WAITING = {
    *("deepect", "treevae", "temi", "turtle"),
    *("ghhc", "ghhc-glove", "ghhc-mtl", "hyphc"),
}
ON_A_GPU = {name for name, method in methods().items() if "cuda" in method.devices}
CUDA, TORCH = ("device", "cuda"), (["torch"], ["pip install 'umbel[torch]'"])
LOGITS = [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """An environment whose Python finds no package of an extra."""
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
    values = {
        (item["id"], each["parameter"], each["value"]): (each["needs"], each["install"])
        for item in items
        for each in item["waiting"]
    }
    cones = ["pip install 'umbel[cones]'"]
    assert values == {
        **{(method, *CUDA): TORCH for method in ON_A_GPU},
        ("tcs-cs", "solver", "clarabel"): (["cvxpy", "clarabel"], cones),
        ("tcs-cs", "solver", "scs"): (["cvxpy"], cones),
    }
    assert f"not installed: {', '.join(OPTIONAL)}; `umbel settings`" in service.log()


@pytest.mark.slow
def test_the_version_says_which_maps_and_forms_wait(service: Service) -> None:
    waiting = service.client.get("/v1/version").json()["waiting"]
    assert [(each["parameter"], each["value"], each["needs"]) for each in waiting] == [
        ("by", "umap", ["umap-learn"]),
        ("by", "tsne", ["openTSNE"]),
        ("form", "pdf", ["typst"]),
        ("format", "h5ad", ["h5py"]),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"method": "turtle", "inputs": {"features": LOGITS}}, "/method"),
        (
            {"method": "l2h", "inputs": {"logits": LOGITS}, "params": {"device": "cuda"}},
            "/params/device",
        ),
        (
            {"method": "tcs", "inputs": {"features": LOGITS, "labels": [0, 1, -1]}, "then": "ghhc"},
            "/then/method",
        ),
        (
            {
                "method": "tcs-cs",
                "inputs": {"features": LOGITS, "labels": [0, 1, -1]},
                "params": {"solver": "scs"},
            },
            "/params/solver",
        ),
    ],
)
def test_a_job_that_needs_one_is_refused(
    service: Service, body: Mapping[str, object], pointer: str
) -> None:
    problem = problem_of(service.client.post("/v1/jobs", json=body), 422, "method-unavailable")
    extra = "cones" if "solver" in pointer else "torch"
    assert f"pip install 'umbel[{extra}]'" in problem["detail"]
    assert [error["pointer"] for error in problem["errors"]] == [pointer]


@pytest.mark.slow
def test_maps_and_pdfs_are_refused_and_others_made(service: Service) -> None:
    features = {"method": "hac", "inputs": {"features": LOGITS}}
    tree = service.ended(service.submit(features))["result"]["tree"]
    for by in ("umap", "tsne"):
        answer = service.client.post(f"/v1/trees/{tree}/maps", json={"by": by})
        problem = problem_of(answer, 422, "method-unavailable")
        assert "pip install 'umbel[maps]'" in problem["detail"]
        assert [error["pointer"] for error in problem["errors"]] == ["/by"]
    assert service.client.get(f"/v1/trees/{tree}/maps").json()["items"] == []
    made = service.client.post(
        f"/v1/trees/{tree}/maps", json={}, headers={"Prefer": "wait=60"}
    ).json()
    assert (made["status"], made["by"]) == ("succeeded", "pca")

    answer = service.client.post("/v1/datasets", content=b"\x89HDF\r\n\x1a\n")
    problem = problem_of(answer, 415, "unsupported-format")
    assert "pip install 'umbel[h5ad]'" in problem["detail"]

    path, pdf = f"/v1/trees/{tree}", "application/pdf"
    for answer in (
        service.client.get(f"{path}.pdf"),
        service.client.get(path, headers={"Accept": pdf}),
        service.client.post("/v1/figures", json={**EXAMPLE, "form": "pdf"}),
    ):
        problem = problem_of(answer, 406, "not-acceptable")
        assert "pip install 'umbel[pdf]'" in problem["detail"]
    for accepted in (f"{pdf}, image/svg+xml;q=0.1", f"{pdf}, image/*;q=0.1"):
        answer = service.client.get(path, headers={"Accept": accepted})
        assert answer.headers["content-type"] == "image/svg+xml"
    assert service.client.get(f"{path}.png").content.startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_other_methods_run(service: Service) -> None:
    for method, role in (("l2h", "logits"), ("hac", "features")):
        job = service.ended(service.submit({"method": method, "inputs": {role: LOGITS}}))
        assert job["status"] == "succeeded", job["error"]


def test_the_settings_name_all_that_waits(environment: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "umbel", "settings"]
    shown = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    lines = shown.stdout.splitlines()[-len(OPTIONAL) :]
    waiting = {line.split()[0]: line.partition("; what waits for it: ")[2] for line in lines}
    assert waiting.keys() == OPTIONAL.keys()
    assert set(waiting.pop("torch").split(", ")) == {
        *WAITING,
        *(f"{method} with device=cuda" for method in ON_A_GPU - WAITING),
    }
    assert waiting == {
        "cvxpy": "tcs-cs with solver=clarabel, tcs-cs with solver=scs",
        "clarabel": "tcs-cs with solver=clarabel",
        "umap-learn": "maps by umap",
        "openTSNE": "maps by tsne",
        "typst": "pictures as pdf",
        "h5py": "files of h5ad",
    }
    assert "(`pip install 'umbel[maps]'`)" in lines[-3]


@pytest.mark.slow
def test_no_other_method_imports_one(environment: Mapping[str, str], tmp_path: Path) -> None:
    script = """
import warnings
from tests.contract.contract_kit import EXAMPLES

warnings.simplefilter("ignore")
for example in EXAMPLES:
    method = example.method
    if method.needs:
        continue
    data = example.data()
    fitted = example.fit(data)
    if method.predicts:
        for role in [role for role in example.roles if method.inputs[role].fit_only]:
            del data.values[role]
        method.predict(fitted.model, fitted.tree, data)
"""
    env = {**os.environ, **environment}
    subprocess.run([sys.executable, "-c", script], env=env, cwd=ROOT, check=True)
