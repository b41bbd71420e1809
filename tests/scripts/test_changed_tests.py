"""Which tests a change is taken to affect."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts import changed_tests
from scripts.changed_tests import RULES, by_rule, changed, choose
from tests.conftest import ROOT


def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return listed.stdout.splitlines()


def test_a_method_affects_its_family_and_its_own_contract() -> None:
    choice = choose(["models/methods/sphere/vmf.py"])
    assert choice.methods == {"vmf"}
    assert not choice.whole
    assert {"tests/models/methods/sphere/test_vmf.py", "tests/test_docs.py"} <= choice.tests.keys()
    assert choice.arguments()[-2:] == ["tests/contract", "--methods=vmf"]
    # The API and the workers reach methods by the registry alone.
    assert not [test for test in choice.tests if test.startswith(("tests/app/r", "tests/workers"))]


def test_what_methods_are_made_of_affects_them() -> None:
    choice = choose(["models/methods/sphere/mixture/stochastic.py"])
    assert "vmf" in choice.methods
    assert "kmeans" not in choice.methods
    assert "tests/models/methods/sphere/mixture/test_stochastic.py" in choice.tests


def test_what_the_contract_tests_use_affects_the_contract_of_all() -> None:
    choice = choose(["models/registry.py"])
    assert choice.whole
    assert not [part for part in choice.arguments() if part.startswith("--methods")]
    assert "tests/app/resources/jobs/test_routes.py" in choice.tests


def test_a_module_started_by_name_affects_the_tests_of_the_service() -> None:
    for path in ("workers/main.py", "workers/child/preload.py", "app/cli.py"):
        assert "tests/e2e/test_kill.py" in choose([path]).tests, path


def test_a_conftest_affects_the_tests_below_it() -> None:
    tests = choose(["tests/app/conftest.py"]).tests
    assert "tests/app/http/test_bodies.py" in tests
    assert "tests/workers/test_worker.py" not in tests


def test_a_packages_docstring_affects_the_house_alone() -> None:
    assert choose(["models/methods/sphere/__init__.py"]).arguments() == ["tests/test_house.py"]


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("docs/operations.md", "tests/test_docs.py"),
        ("openapi/openapi.json", "tests/app/openapi/test_document.py"),
        ("app/dashboard/js/main.js", "tests/dashboard"),
        ("tests/dashboard/pictures/tree.png", "tests/dashboard"),
        ("workers/stores/redis/lua/claim.lua", "tests/workers/stores/redis"),
        ("pyproject.toml", "tests"),
    ],
)
def test_other_files_affect_tests_by_rules(path: str, test: str) -> None:
    assert test in choose([path]).tests


def test_everything_is_chosen_once() -> None:
    assert choose(["pyproject.toml", "models/methods/sphere/vmf.py"]).arguments() == ["tests"]
    arguments = choose(["app/dashboard/js/main.js", "app/main.py"]).arguments()
    assert "tests/dashboard" in arguments
    assert not [path for path in arguments if path.startswith("tests/dashboard/")]


def test_every_file_has_a_rule_and_every_rule_tests_that_exist() -> None:
    for _, tests in RULES:
        assert all((ROOT / test).exists() for test in tests), tests
    # Nothing imports the others.
    others = [path for path in tracked() if not path.endswith(".py") or path.startswith("scripts/")]
    assert [path for path in others if by_rule(path) is None] == []


def test_what_differs_is_seen_by_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        known = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *known, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def commit(name: str) -> None:
        (tmp_path / name).write_text(name)
        git("add", name)
        git("commit", "-m", name)

    monkeypatch.setattr(changed_tests, "ROOT", tmp_path)
    git("init", "-b", "main")
    commit("first")
    commit("second")
    assert changed(None)[1] == {"second"}  # On main: the last commit.
    git("checkout", "-b", "own")
    commit("third")
    (tmp_path / "first").write_text("changed")
    (tmp_path / "new").write_text("unknown")
    assert changed(None)[1] == {"first", "third", "new"}
    assert changed("HEAD~2")[1] == {"first", "second", "third", "new"}
