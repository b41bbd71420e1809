"""Install Umbel into an environment by pip alone: what `make setup`, `make dev` and the image do.

    python scripts/install.py [--venv .venv] [--dev] [--extras maps,pdf] [--torch-index URL]

PyTorch for the CPU is looked for before anything large is fetched: in pip's own index and folders,
then in PyTorch's index of CPU wheels. Where neither has it, everything else is installed, and one
line says what waits for it. An extra whose packages have no wheel for this machine is left out the
same way. Nothing is compiled.

A second run mends what a first one left half done. What goes wrong ends in a sentence that says
what to do. Only the standard library is used, in the syntax of Python 3.7: an old Python is to say
that it is old.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
OLDEST, NEWEST = (3, 11), (3, 14)

TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's own index of CPU wheels."""

REFUSED = (
    "cuda-bindings<0",
    "cuda-toolkit<0",
    "nvidia-cublas<0",
    "nvidia-cublas-cu12<0",
    "nvidia-cuda-runtime<0",
    "nvidia-cuda-runtime-cu12<0",
    "pytorch-triton-rocm<0",
    "pytorch-triton-xpu<0",
    "triton<0",
)
"""What builds for CUDA, ROCm or XPU depend on, and no build for the CPU does: with these refused,
pip finds a build for the CPU or none."""

EXTRAS = ("maps", "cones", "pdf", "h5ad", "oidc")
"""Extras that are installed where they have wheels. PyTorch's goes by the rule above."""

NEEDED_MB = {"base": 900, "torch": 900, "dev": 700, "cuda": 7000}
"""Free space that an installation needs, with what pip unpacks on the way."""

TESTED = ("numba", "numpy", "pyarrow", "scipy", "sklearn")
"""Packages whose wheels hold their own tests, 42 MB together, which nothing else imports."""

LONGEST_PROBE_S = 5


class Failed(Exception):
    """The installation cannot go on; the message is for the user."""


def main(argv=None):
    arguments = _parser().parse_args(argv)
    try:
        require_python(sys.version_info[:2])
        require_system(platform.system(), platform.libc_ver()[0])
        install(arguments)
    except Failed as error:
        sys.exit(f"Umbel was not installed: {error}")
    except KeyboardInterrupt:
        sys.exit("Umbel was not installed: interrupted. The same command goes on from here.")


def _parser():
    parser = argparse.ArgumentParser(description="Install Umbel by pip alone.")
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv", help="made if it is not there")
    parser.add_argument("--dev", action="store_true", help="also what the tests need")
    parser.add_argument(
        "--extras", default=",".join(EXTRAS), help="comma-separated (default: %(default)s)"
    )
    parser.add_argument("--cuda", action="store_true", help="PyTorch for CUDA (2.7 GB)")
    parser.add_argument("--without-torch", action="store_true", help="no PyTorch, wherever it is")
    parser.add_argument("--torch-index", default="", help="in place of " + TORCH_INDEX)
    parser.add_argument(
        "--requirements",
        action="store_true",
        help="what Umbel needs, without Umbel (for the image)",
    )
    return parser


def require_python(version):
    """Raises Failed for a version that has no wheels of what Umbel needs."""
    if not OLDEST <= tuple(version) <= NEWEST:
        raise Failed(
            "it needs Python 3.11 to 3.14, and {} is Python {}.{}. Name another one: "
            "make setup PYTHON=python3.12".format(sys.executable, *version)
        )


def require_system(system, libc):
    """Raises Failed where packages have no wheels."""
    if system == "Windows":
        raise Failed("on Windows it runs in WSL (wsl --install), as on Linux.")
    if system == "Linux" and libc != "glibc":
        raise Failed(
            "this Linux has no glibc (musl, as Alpine?), for which scikit-learn and others have no "
            "wheels. Use an image or a system with glibc, as Debian, Ubuntu or Fedora."
        )


def install(arguments):
    """Install by the rules above. Raises Failed."""
    began = time.monotonic()
    python = environment(arguments.venv)
    # Where the image's service runs, its environment cannot be written.
    pip = Pip(python, bytecode=arguments.requirements)
    require_room(arguments)
    torch, missing = choose_torch(pip, arguments)
    extras = [extra for extra in arguments.extras.split(",") if extra]
    extras += ["torch"] * torch
    if arguments.dev:
        extras += ["dev", "telemetry", *["dev-torch"] * torch, *["dev-node"] * (not has_node())]
    left_out = install_umbel(pip, extras, arguments)
    if not arguments.requirements:
        make_smaller(arguments.venv)
    seconds = time.monotonic() - began
    print(f"Installed in {seconds:.0f} s, {_size_mb(arguments.venv)} MB: {arguments.venv}")
    for line in left_out:
        print(line)
    if missing:
        print(missing + waiting_for_torch(python))


def has_node():
    """Whether there is a Node.js that runs the page's tests, 18.18 or newer."""
    path = shutil.which("node")
    version = re.match(r"v(\d+)\.(\d+)", _run([path, "--version"]).stdout) if path else None
    return bool(version) and (int(version.group(1)), int(version.group(2))) >= (18, 18)


def environment(folder):
    """The Python of the environment in `folder`, made anew if it is not whole. Raises Failed."""
    python = folder / "bin" / "python"
    if _usable(python):
        return python
    if folder.exists():
        print(f"{folder} is not whole (or of another Python) and is made anew")
    options = ["--clear"] if folder.exists() else []
    made = _run([sys.executable, "-m", "venv", *options, str(folder)])
    if made.returncode:
        _raise_cause(made.stdout)
        if "ensurepip" in made.stdout:
            raise Failed(
                f"{sys.executable} cannot make environments. On Debian and Ubuntu: "
                "apt-get install python3-venv"
            )
        raise Failed(f"no environment could be made in {folder}:\n{made.stdout[-2000:]}")
    # Python 3.11 puts it there; nothing here needs it.
    _run([str(python), "-m", "pip", "uninstall", "-q", "-y", "setuptools"])
    return python


def _usable(python):
    if not python.exists():
        return False
    code = "import sys, pip; print(*sys.version_info[:2])"
    try:
        seen = _run([str(python), "-c", code])
    except OSError:
        return False
    words = seen.stdout.split()
    return seen.returncode == 0 and OLDEST <= tuple(map(int, words[-2:])) <= NEWEST


def require_room(arguments):
    """Raises Failed where the disk of the environment has too little room."""
    parts = ["base", *["dev"] * arguments.dev]
    if not arguments.without_torch:
        parts.append("cuda" if arguments.cuda else "torch")
    needed = sum(NEEDED_MB[part] for part in parts)
    free = shutil.disk_usage(str(arguments.venv)).free // 2**20
    if free + _size_mb(arguments.venv) < needed:
        raise Failed(
            f"it needs about {needed:,} MB in {arguments.venv}, where {free:,} MB are free. Make "
            "room, or install elsewhere: make setup VENV=/another/disk/venv"
        )


def make_smaller(environment):
    """Remove the tests of `TESTED`, and pip's bytecode, which pip makes again when it is used."""
    for packages in environment.glob("lib/python3*/site-packages"):
        unused = [each for name in TESTED for each in packages.glob(name + "/**/tests")]
        for folder in [*unused, *packages.glob("pip/**/__pycache__")]:
            shutil.rmtree(str(folder), ignore_errors=True)


class Pip:
    """pip of an environment, with the versions of `constraints.txt` and wheels alone.

    bytecode : whether modules are compiled now. Otherwise each is when it is first imported: most
        never are, and all would take a third more room.
    """

    def __init__(self, python, bytecode=False):
        self._command = [str(python), "-m", "pip", "--disable-pip-version-check"]
        self._options = ["-q", "--only-binary", ":all:", "-c", str(CONSTRAINTS)]
        self._options += [] if bytecode else ["--no-compile"]

    def install(self, *requirements):
        """The finished process; its output is `stdout`."""
        return _run([*self._command, "install", *self._options, *requirements])

    def torch(self):
        """The version of PyTorch that is installed, or an empty text; whether it is for a GPU."""
        shown = _run([*self._command, "show", "torch"]).stdout
        version = re.search(r"^Version: (\S+)", shown, flags=re.MULTILINE)
        requires = re.search(r"^Requires: (.*)$", shown, flags=re.MULTILINE)
        names = requires.group(1).split(", ") if requires else []
        refused = {line.partition("<")[0] for line in REFUSED}
        return version.group(1) if version else "", not refused.isdisjoint(names)

    def versions(self, package, index=""):
        """The versions of a package that an index has, by default pip's own: none where it cannot
        be reached soon."""
        options = ["--timeout", str(LONGEST_PROBE_S), "--retries", "0"]
        # Folders and further indexes of pip's configuration are not that index.
        alone = {"PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": ""} if index else {}
        options += ["--index-url", index] if index else []
        listed = _run([*self._command, "index", "versions", package, *options], **alone)
        found = re.search(r"^Available versions: (.*)$", listed.stdout, flags=re.MULTILINE)
        return found.group(1).split(", ") if found and not listed.returncode else []


def choose_torch(pip, arguments):
    """Whether PyTorch is there now, and else the line that says what waits for it. Raises Failed.

    A build for the CPU is recognized by what it depends on, which pip reads from a wheel
    without fetching it.
    """
    if arguments.without_torch:
        return False, "PyTorch was left out"
    installed, for_gpu = pip.torch()
    if installed and (for_gpu or not arguments.cuda):
        return True, ""
    version = re.search(r"^torch==(\S+)$", CONSTRAINTS.read_text(), flags=re.MULTILINE).group(1)
    if arguments.cuda:
        # Three signs: not the build for the CPU (+cpu), which would count as the newer one.
        _checked(pip.install("torch===" + version))
        return True, ""
    index = arguments.torch_index or TORCH_INDEX
    with tempfile.TemporaryDirectory() as folder:
        refused = Path(folder, "refused.txt")
        refused.write_text("\n".join(REFUSED) + "\n")
        # Metadata by ranges of a wheel, so that what is refused is never fetched.
        options = ["--use-feature=fast-deps", "-c", str(refused), "torch==" + version]
        own = pip.install(*options)
        if own.returncode == 0:
            return True, ""
        _raise_cause(own.stdout, ("room", "rights"))
        offered = pip.versions("torch", index)
        if not any(each.split("+")[0] == version for each in offered):
            reason = f"{index} was not reached or has no torch {version}"
        else:
            other = pip.install("--extra-index-url", index, *options)
            if other.returncode == 0:
                return True, ""
            _raise_cause(other.stdout, ("room", "rights"))
            reason = f"{index} has torch {version} for a GPU alone"
    if arguments.torch_index:
        print("TORCH_INDEX: " + reason)
    return False, (
        "PyTorch is not installed, since pip's own index has no build for the CPU here, and "
        + reason
    )


def waiting_for_torch(python):
    """What waits for PyTorch, by the catalogue of what was installed, and what brings it."""
    code = (
        "import umbel.floors; from models.registry import waiting; "
        "print(*waiting().get('torch', []), sep=', ')"
    )
    shown = _run([str(python), "-c", code])
    methods = shown.stdout.strip() if shown.returncode == 0 else "methods that learn by gradients"
    return (
        f"; waiting for it: {methods}. It comes by: make setup TORCH_INDEX=https://... (an index "
        "of CPU wheels) or make setup CUDA=yes (2.7 GB)"
    )


def install_umbel(pip, extras, arguments):
    """Install Umbel with what it needs; lines about extras that were left out. Raises Failed."""
    whole = pip.install(*_requirements(extras, arguments))
    if whole.returncode == 0:
        return []
    _raise_cause(whole.stdout)
    if not pip.versions("pydantic"):
        raise Failed(CAUSES["network"][1])
    optional = [extra for extra in extras if extra in EXTRAS]
    if not optional:
        raise Failed(f"pip ends with\n{whole.stdout[-3000:]}")
    held = [extra for extra in extras if extra not in EXTRAS]
    _checked(pip.install(*_requirements(held, arguments)))
    lines = []
    for extra in optional:
        tried = pip.install(*_requirements([extra], arguments))
        if tried.returncode == 0:
            continue
        _raise_cause(tried.stdout)
        last = tried.stdout.strip().splitlines()[-1]
        lines.append(f"The extra {extra!r} was left out, it has no wheels here: {last}")
    return lines


def _requirements(extras, arguments):
    if not arguments.requirements:
        umbel = str(ROOT) + ("[{}]".format(",".join(extras)) if extras else "")
        return ["-e", umbel, "-e", str(ROOT / "client")]
    import tomllib

    requirements = []
    for file in (ROOT / "pyproject.toml", ROOT / "client" / "pyproject.toml"):
        project = tomllib.loads(file.read_text())["project"]
        requirements += project["dependencies"]
        for extra in extras:
            requirements += project.get("optional-dependencies", {}).get(extra, [])
    return [each for each in requirements if not each.startswith("umbel")]


CAUSES = {
    "room": (
        ("No space left on device", "Errno 28"),
        "there is no room left on the disk (of the environment, or of temporary files: TMPDIR "
        "names another folder). Make room, then run the same command again.",
    ),
    "network": (
        (
            "Temporary failure in name resolution",
            "Name or service not known",
            "nodename nor servname",
            "getaddrinfo failed",
            "Failed to establish a new connection",
            "Network is unreachable",
            "Connection refused",
            "ConnectTimeoutError",
            "Read timed out",
            "ProxyError",
        ),
        "pip cannot reach its index. Look at the network, at proxies (HTTPS_PROXY) and at pip's "
        "configuration (pip config list), then run the same command again.",
    ),
    "certificates": (
        ("CERTIFICATE_VERIFY_FAILED", "SSLError"),
        "the certificate of pip's index is not trusted here. Where a proxy has one: "
        "PIP_CERT=/path/to/its.pem make setup",
    ),
    "rights": (
        ("Permission denied", "Read-only file system", "Errno 13", "Errno 30"),
        "a folder cannot be written (the line above names it). VENV=/another/folder names another "
        "one for the environment.",
    ),
}
"""Kinds of failures: words of pip's output, and what the user can do."""


def _raise_cause(output, kinds=tuple(CAUSES)):
    """Raise Failed if the output of pip or venv names one of the usual causes."""
    for kind in kinds:
        words, advice = CAUSES[kind]
        named = [line for line in output.splitlines() if any(word in line for word in words)]
        if named:
            print(named[-1][:500], file=sys.stderr)
            raise Failed(advice)


def _checked(finished):
    if finished.returncode:
        _raise_cause(finished.stdout)
        raise Failed(f"pip ends with\n{finished.stdout[-3000:]}")


def _run(command, **environment):
    return subprocess.run(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def _size_mb(folder):
    total = 0
    for place, _, files in os.walk(str(folder)):
        for name in files:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
            except OSError:
                continue
    return total // 2**20


if __name__ == "__main__":
    main()
