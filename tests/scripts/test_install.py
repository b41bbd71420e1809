"""The installation: which PyTorch is taken, and what a user reads where it cannot go on.

Wheels of a few bytes stand for PyTorch's; pip itself is the real one, in its own environment.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scripts import install
from tests.conftest import ROOT

VERSION = next(
    line.removeprefix("torch==")
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if line.startswith("torch==")
)
OPTIONS = argparse.Namespace(cuda=False, without_torch=False, torch_index="")


def package_wheel(folder: Path, name: str, version: str, *requires: str) -> None:
    """Write a wheel that holds nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
    files = {
        "METADATA": "\n".join(metadata) + "\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for file, text in files.items():
            archive.writestr(f"{info}/{file}", text)


def cuda_wheel(folder: Path, version: str = VERSION) -> None:
    package_wheel(folder, "torch", version, "triton==3.7.1", "nvidia-cublas==13.0.0")


def cpu_wheel(folder: Path, version: str = f"{VERSION}+cpu") -> None:
    package_wheel(folder, "torch", version)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds pip alone, made where a half-made one was."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(folder / "gone")
    (folder / "left").touch()
    return install.environment(folder)


def packages_of(environment: Path) -> Path:
    """Where its packages are."""
    (folder,) = environment.parent.parent.glob("lib/python3*/site-packages")
    return folder


@pytest.fixture
def own(environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder in which pip looks, empty; PyTorch is not installed, no index is reached."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "own"
    (folder / "torch").mkdir(parents=True)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setattr(install, "TORCH_INDEX", "http://127.0.0.1:9/whl/cpu")
    for name in ("torch", "triton", "nvidia_cublas"):
        for all_of_it in packages_of(environment).glob(f"{name}-*.dist-info"):
            shutil.rmtree(all_of_it)
    return folder


@pytest.fixture
def bare(own: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same; `pip show torch` is not run, which takes a second of a core."""
    monkeypatch.setattr(install.Pip, "torch", lambda pip: ("", False))
    return own


@pytest.fixture
def index(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """The folder of an index on this machine, and its address."""
    folder = tmp_path / "index"
    folder.mkdir()
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder / "torch", f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def chosen(environment: Path, **changed: object) -> tuple[bool, str, str]:
    """Whether PyTorch is there, the line for the user, and the version that is installed."""
    pip = install.Pip(environment)
    there, line = install.choose_torch(pip, argparse.Namespace(**{**vars(OPTIONS), **changed}))
    # `pip show` gives the same for half a second of a core.
    found = [each.name for each in packages_of(environment).glob("torch-*.dist-info")]
    assert len(found) <= 1
    version = found[0].removeprefix("torch-").removesuffix(".dist-info") if found else ""
    return there, line, version


def test_a_cpu_build_of_pips_own_folder_is_taken(environment: Path, own: Path) -> None:
    cuda_wheel(own)
    cpu_wheel(own)
    assert chosen(environment) == (True, "", f"{VERSION}+cpu")


def test_a_cpu_build_need_not_be_named_so(environment: Path, bare: Path) -> None:
    cpu_wheel(bare, VERSION)
    assert chosen(environment) == (True, "", VERSION)


def test_where_pip_has_it_for_cuda_alone_the_next_index_is_tried(
    environment: Path, bare: Path, index: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, address = index
    cuda_wheel(bare)
    cpu_wheel(folder)
    monkeypatch.setattr(install, "TORCH_INDEX", address)
    assert chosen(environment) == (True, "", f"{VERSION}+cpu")


def test_torch_index_replaces_pytorchs_own(
    environment: Path, bare: Path, index: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, address = index
    cpu_wheel(folder)
    monkeypatch.setattr(install, "TORCH_INDEX", "http://127.0.0.1:9/not-requested")
    assert chosen(environment, torch_index=address) == (True, "", f"{VERSION}+cpu")


def test_an_index_with_cuda_alone_is_passed_over(
    environment: Path, bare: Path, index: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, address = index
    cuda_wheel(bare)
    cuda_wheel(folder, f"{VERSION}+cu130")
    there, line, version = chosen(environment, torch_index=address)
    assert (there, version) == (False, "")
    assert f"{address} has torch {VERSION} for a GPU alone" in line
    assert "TORCH_INDEX" in capsys.readouterr().out


def test_without_any_build_setup_goes_on_and_says_so(environment: Path, bare: Path) -> None:
    cuda_wheel(bare)
    there, line, version = chosen(environment)
    assert (there, version) == (False, "")
    assert "127.0.0.1:9/whl/cpu was not reached or has no torch" in line


def test_cuda_takes_the_build_for_a_gpu_also_in_place_of_another(
    environment: Path, own: Path
) -> None:
    cpu_wheel(own)
    assert chosen(environment) == (True, "", f"{VERSION}+cpu")
    cuda_wheel(own)
    package_wheel(own, "triton", "3.7.1")
    package_wheel(own, "nvidia_cublas", "13.0.0")
    assert chosen(environment, cuda=True) == (True, "", VERSION)
    assert install.Pip(environment).torch() == (VERSION, True)
    assert chosen(environment, cuda=True) == (True, "", VERSION)
    assert chosen(environment) == (True, "", VERSION)


def test_what_is_installed_stays(environment: Path, own: Path) -> None:
    cpu_wheel(own)
    chosen(environment)
    (own / f"torch-{VERSION}+cpu-py3-none-any.whl").unlink()
    assert chosen(environment) == (True, "", f"{VERSION}+cpu")


def test_an_index_that_cannot_be_reached_is_named(environment: Path, own: Path) -> None:
    arguments = argparse.Namespace(requirements=True)
    with pytest.raises(install.Failed, match=r"cannot reach its index.*HTTPS_PROXY"):
        install.install_umbel(install.Pip(environment), [], arguments)


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("ERROR: [Errno 28] No space left on device", "no room left"),
        ("SSLError(SSLCertVerificationError(1, 'CERTIFICATE_VERIFY_FAILED'", "PIP_CERT"),
        ("PermissionError: [Errno 13] Permission denied: '/venv/bin'", "cannot be written"),
        ("OSError: [Errno 30] Read-only file system: '/venv'", "cannot be written"),
    ],
)
def test_usual_causes_have_a_sentence(output: str, sentence: str) -> None:
    with pytest.raises(install.Failed, match=sentence):
        install._raise_cause(f"Looking in indexes\n{output}\n")


def test_other_output_is_no_cause() -> None:
    install._raise_cause("ERROR: No matching distribution found for umbel\n")


@pytest.mark.parametrize("version", [(3, 10), (3, 15), (2, 7)])
def test_other_pythons_are_refused_by_name(version: tuple[int, int]) -> None:
    with pytest.raises(install.Failed, match=rf"Python {version[0]}\.{version[1]}.*PYTHON="):
        install.require_python(version)


def test_systems_without_wheels_are_refused() -> None:
    install.require_system("Linux", "glibc")
    install.require_system("Darwin", "")
    with pytest.raises(install.Failed, match="WSL"):
        install.require_system("Windows", "")
    with pytest.raises(install.Failed, match="glibc"):
        install.require_system("Linux", "")


def test_a_half_made_environment_is_made_anew_and_a_whole_one_stays(environment: Path) -> None:
    folder = environment.parent.parent
    assert not (folder / "left").exists()
    made = environment.lstat()
    assert install.environment(folder) == environment
    assert environment.lstat() == made


def test_an_environment_without_pip_is_not_whole(environment: Path) -> None:
    assert install._usable(environment)
    pip = packages_of(environment) / "pip"
    hidden = pip.rename(pip.with_name("hidden"))
    try:
        assert not install._usable(environment)
    finally:
        hidden.rename(pip)


def test_tests_of_packages_and_pips_bytecode_are_removed(tmp_path: Path) -> None:
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    kept = ["scipy/stats/_tests.py", "numpy/testing/utils.py", "other/tests/a.py", "pip/tests/a.py"]
    gone = ["scipy/stats/tests/test_a.py", "numpy/tests/data/tests/a", "pip/_vendor/__pycache__/a"]
    for file in (*kept, *gone):
        (packages / file).parent.mkdir(parents=True, exist_ok=True)
        (packages / file).touch()
    install.make_smaller(tmp_path)
    install.make_smaller(tmp_path)
    left = [str(path.relative_to(packages)) for path in packages.rglob("*") if path.is_file()]
    assert sorted(left) == sorted(kept)


def test_too_little_room_is_reported_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("venv").mkdir()
    arguments = argparse.Namespace(**vars(OPTIONS), venv=tmp_path / "venv", dev=False)
    install.require_room(arguments)
    usage = install.shutil.disk_usage(tmp_path)._replace(free=300 * 2**20)
    monkeypatch.setattr(install.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(install.Failed, match=r"300 MB are free.*VENV="):
        install.require_room(arguments)


def test_the_script_runs_on_an_old_python_to_say_that_it_is_old() -> None:
    """Its syntax is Python 3.7's, so that an old interpreter reads it at all."""
    import ast

    ast.parse((ROOT / "scripts" / "install.py").read_text(), feature_version=(3, 7))
    imported = subprocess.run(
        [sys.executable, "-S", "-c", "import install"], cwd=ROOT / "scripts", check=False
    )
    assert imported.returncode == 0


def test_requirements_for_the_image_are_those_of_both_projects() -> None:
    lines = install._requirements(["pdf"], argparse.Namespace(requirements=True))
    assert any(line.startswith("fastapi") for line in lines)
    assert any(line.startswith("httpx") for line in lines)
    assert any(line.startswith("typst") for line in lines) or "pdf" not in install.EXTRAS
    assert not [line for line in lines if line.startswith("umbel")]
