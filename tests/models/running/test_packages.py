"""Packages of extras: what needs them, how each is installed, and that no default needs one."""

from __future__ import annotations

import platform
import sys
import tomllib
from typing import Any, get_args

import pytest
from packaging.requirements import Requirement

from models.errors import UsageError
from models.maps.options import NEEDS, By, MapTerms
from models.method import Method
from models.running import packages
from models.running.packages import COMPILED, OPTIONAL
from tests.conftest import ROOT
from tests.contract.contract_kit import every_method

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
ARM = ("linux", "aarch64")


def machine(patch: pytest.MonkeyPatch, place: tuple[str, str]) -> None:
    patch.setattr(sys, "platform", place[0])
    patch.setattr(platform, "machine", lambda: place[1])


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_package_is_in_its_extra_and_not_in_the_base(name: str) -> None:
    (found,) = [
        each for each in map(Requirement, EXTRAS[OPTIONAL[name].extra]) if each.name == name
    ]
    assert name not in {Requirement(each).name for each in PROJECT["dependencies"]}
    for place in (ARM, ("linux", "x86_64"), ("darwin", "arm64")):
        marked = {"sys_platform": place[0], "platform_machine": place[1]}
        is_left_out = found.marker is not None and not found.marker.evaluate(marked)
        assert is_left_out == (COMPILED.get(name) == place)


def test_all_is_every_extra_of_the_service() -> None:
    (whole,) = map(Requirement, EXTRAS["all"])
    assert whole.extras == {package.extra for package in OPTIONAL.values()} | {"telemetry", "oidc"}


def test_the_command_is_the_extra_but_where_that_leaves_the_package_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine(monkeypatch, ("linux", "x86_64"))
    assert packages.command("openTSNE") == "pip install 'umbel[maps]'"
    assert "compiles" not in packages.absence("A map", "openTSNE", parameter="by").detail
    machine(monkeypatch, ARM)
    assert packages.command("openTSNE") == "pip install openTSNE"
    assert packages.command("umap-learn") == "pip install 'umbel[maps]'"
    assert "which compiles it" in packages.absence("A map", "openTSNE", parameter="by").detail


def test_what_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda module: None if module == "umap" else module)
    assert packages.missing() == ["umap-learn"]
    packages.require("A map", ("openTSNE",), parameter="by")
    with pytest.raises(UsageError, match=r"A map needs the package umap-learn.*umbel\[maps\]") as e:
        packages.require("A map", ("openTSNE", "umap-learn"), parameter="by")
    assert (e.value.code, e.value.where) == ("method-unavailable", {"parameter": "by"})


def test_only_the_lack_of_an_extra_becomes_a_refusal() -> None:
    with (
        pytest.raises(UsageError, match=r"umbel\[cones\]"),
        packages.refusing("Method 'x'", parameter="method"),
    ):
        raise ModuleNotFoundError(name="cvxpy")
    with (
        pytest.raises(ModuleNotFoundError),
        packages.refusing("Method 'x'", parameter="method"),
    ):
        raise ModuleNotFoundError(name="pynndescent")


@every_method
def test_no_default_needs_a_package(method: Method[Any]) -> None:
    fields = method.Params.model_fields
    for parameter, value, needed in method.values_with_needs():
        assert set(needed) <= set(OPTIONAL)
        assert value in get_args(fields[parameter].annotation)
        assert fields[parameter].default != value
        assert method.example.get(parameter) != value
    assert set(method.needs) <= set(OPTIONAL)


def test_the_default_map_needs_no_package() -> None:
    assert set(NEEDS) < set(get_args(By))
    assert MapTerms().by not in NEEDS
