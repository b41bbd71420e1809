"""Build the image's root, and run it, where no container engine is at hand: `make image-root`.

`build` makes a Debian with debootstrap, which stands for Docker's `python:X.Y-slim` where Debian's
own Python has that version, and carries out the steps of the Dockerfile in it; `run` runs the
service in the result as its user, with a root that can only be read. What it cannot show: that the
base image itself has what the steps need, layers and their caches, other architectures, and the
networks of an engine (the machine's is used).

    python scripts/image_root.py build --host-pip --build-arg EXTRAS=telemetry
    python scripts/image_root.py run --env UMBEL_REDIS_URL=... -- umbel worker --queues cpu
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from docker.utils import exclude_paths

from scripts.container import Bind, account, invocation, obstacle, remove, targets
from scripts.dockerfile import Copy, DockerfileError, Folder, Image, Run, Stage, Step, plan

HERE = Path(__file__).parent.parent
OUT = HERE / "build" / "image-root"
BASE_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
}
"""As in Docker's image of Python."""
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
"""What an engine, too, gives the steps without being asked."""
INDEXES = ("index-url", "extra-index-url")


class BuildError(Exception):
    """A step that failed, or a root that cannot stand for the image; the message says which."""


def pip_settings(listing: str) -> tuple[dict[str, str], list[Path]]:
    """The environment that tells another pip what `pip config list` printed here, and the files and
    folders of this machine that it names. An index in a folder keeps its files beside that folder,
    so that the folder above is named."""
    environment: dict[str, str] = {}
    paths: list[Path] = []
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if section not in (":env:", "global", "install"):
            continue
        words = str(ast.literal_eval(value)).split()
        variable = f"PIP_{name.upper().replace('-', '_')}"
        if section == ":env:" or variable not in environment:
            environment[variable] = " ".join(words)
        for word in words:
            path = Path(urlsplit(word).path if word.startswith("file://") else word)
            if name in INDEXES and len(path.parts) > 2:
                path = path.parent
            if path.is_absolute() and path.exists() and path not in paths:
                paths.append(path)
    return environment, paths


def _log(message: str) -> None:
    print(message, flush=True)


class Build:
    """One build of a Dockerfile's stages, in a folder of its own.

    environment, binds : what the steps get besides; the image keeps nothing of either.
    """

    def __init__(
        self, work: Path, environment: Mapping[str, str], binds: Sequence[Bind], options: Any
    ) -> None:
        self.work, self.environment, self.binds, self.options = work, environment, binds, options
        self.roots: list[Path] = []
        self.seconds: list[tuple[str, float]] = []
        patterns = (HERE / ".dockerignore").read_text().splitlines()
        ignore = [line.strip() for line in patterns if line.strip() and not line.startswith("#")]
        self.context = exclude_paths(str(HERE), ignore)

    def stage(self, stage: Stage) -> None:
        """Carry out the steps of one stage.

        Raises BuildError at the first that fails.
        """
        root = self.work / f"stage-{len(self.roots)}"
        began = time.monotonic()
        source = self.roots[stage.base] if isinstance(stage.base, int) else self._base(stage.base)
        subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(root)], check=True)
        self._took(f"FROM {stage.base} AS {stage.name}", began)
        self.roots.append(root)
        for line, text, step in stage.steps:
            began = time.monotonic()
            _log(f"line {line}: {text}")
            try:
                self._step(root, step)
            except subprocess.CalledProcessError as error:
                raise BuildError(f"line {line}, {text}\nstatus {error.returncode}") from error
            except (OSError, KeyError) as error:
                raise BuildError(f"line {line}, {text}\n{error}") from error
            self._took(f"line {line}: {text}", began)

    def _took(self, text: str, began: float) -> None:
        self.seconds.append((text, round(time.monotonic() - began, 1)))
        _log(f"    {self.seconds[-1][1]} s")

    def _base(self, image: str) -> Path:
        """The root that stands for an image from elsewhere; debootstrap makes it once."""
        if image in self.options.base:
            return Path(self.options.base[image])
        wanted = re.fullmatch(r"python:(\d+\.\d+)-slim(?:-(\w+))?", image)
        if wanted is None or wanted[2] not in (None, self.options.suite):
            raise BuildError(
                f"nothing here stands for the image {image}: give a folder with its files by "
                f"--base {image}=FOLDER"
            )
        root = self.work / "base"
        if not root.exists():
            debian(root, self.options.suite, self.options.mirror)
        version = ["/usr/bin/python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        output = self._run(root, Run(tuple(version), dict(BASE_ENVIRONMENT), "/", "root"), True)
        if output.strip() != wanted[1]:
            raise BuildError(
                f"{image} has Python {wanted[1]}, Debian {self.options.suite} {output.strip()}"
            )
        return root

    def _step(self, root: Path, step: Step) -> None:
        match step:
            case Run():
                self._run(root, step)
            case Folder():
                path, user = inside(root, step.path), account(root, step.user)
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.mkdir()
                    os.chown(path, user.uid, user.gid)
            case Copy():
                self._copy(root, step)

    def _run(self, root: Path, step: Run, capture: bool = False) -> str:
        user = account(root, step.user)
        environment = {"HOME": user.home, **self.environment, **step.environment}
        with targets(root, self.binds):
            arguments = invocation(root, step.command, user, step.folder, self.binds, sealed=False)
            output = subprocess.PIPE if capture else None
            with subprocess.Popen(
                arguments, env=environment, stdin=subprocess.DEVNULL, stdout=output, text=True
            ) as process:
                try:
                    text = process.communicate()[0] or ""
                except BaseException:
                    kill(process)
                    raise
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, step.command)
        return text

    def _copy(self, root: Path, step: Copy) -> None:
        target = inside(root, step.target)
        for source in step.sources:
            origin = inside(HERE if step.stage is None else self.roots[step.stage], source)
            if step.stage is None and str(origin.relative_to(HERE)) not in self.context:
                raise FileNotFoundError(f"{source}: not in the build's context")
            if not origin.is_dir():
                into = step.target.endswith("/") or len(step.sources) > 1 or target.is_dir()
                place = target / origin.name if into else target
                place.parent.mkdir(parents=True, exist_ok=True)
                copied(origin, place)
                continue
            if not target.exists():
                target.mkdir(parents=True)
                shutil.copystat(origin, target)
            if step.stage is not None:
                as_root = ("-a", "--no-preserve=ownership")
                subprocess.run(["cp", *as_root, f"{origin}/.", str(target)], check=True)
            else:
                name = f"{origin.relative_to(HERE)}/"
                for below in sorted(path for path in self.context if path.startswith(name)):
                    copied(HERE / below, target / below.removeprefix(name))


def copied(source: Path, target: Path) -> None:
    """Copy one file, link or empty folder with its times and mode, for root."""
    if source.is_dir() and not source.is_symlink():
        target.mkdir(exist_ok=True)
        shutil.copystat(source, target)
    else:
        shutil.copy2(source, target, follow_symlinks=False)
    os.chown(target, 0, 0, follow_symlinks=False)


def inside(root: Path, path: str) -> Path:
    """The place of an absolute or relative path in a root.

    Raises OSError for a path that leads out of it, by `..` or by a link.
    """
    place = root / path.strip("/")
    if not place.resolve().is_relative_to(root.resolve()):
        raise OSError(f"{path} leads out of the root")
    return place


def kill(process: subprocess.Popen[Any]) -> None:
    """End a container at once: all its processes end with its first."""
    for child in psutil.Process(process.pid).children():
        child.kill()
    process.kill()


def debian(root: Path, suite: str, mirror: str | None) -> None:
    """Make a small Debian with Python and without a trace of the machine.

    Raises BuildError with what debootstrap said last.
    """
    _log(f"debootstrap of {suite}")
    command = ["debootstrap", "--variant=minbase", "--include=python3,python3-venv,ca-certificates"]
    # In a namespace of its own: what debootstrap mounts, and may leave mounted, ends with it.
    private = [
        "unshare",
        "--mount",
        "--",
        *command,
        suite,
        str(root),
        *([mirror] if mirror else []),
    ]
    made = subprocess.run(private, capture_output=True, text=True)
    if made.returncode:
        raise BuildError(f"debootstrap failed\n{made.stdout[-2000:]}{made.stderr[-2000:]}")
    (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    for name in ("resolv.conf", "hosts", "hostname"):
        (root / "etc" / name).write_text("")
    for folder in ("var/cache/apt/archives", "var/lib/apt/lists", "var/log"):
        for path in (root / folder).iterdir():
            remove(path) if path.is_dir() else path.unlink()


def build(options: Any) -> None:
    """Build the Dockerfile into `options.out`: `root`, `image.json`, `sbom.json`.

    Raises BuildError, DockerfileError; then nothing is left of what was built.
    """
    if problem := obstacle():
        raise BuildError(problem)
    environment = {name: os.environ[name] for name in PROXIES if name in os.environ}
    paths = list(options.bind)
    if options.host_pip:
        listing = [sys.executable, "-m", "pip", "config", "list"]
        listed = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
        more, files = pip_settings(listed)
        environment.update(more)
        paths += files
    environment.update(options.env)
    binds = [Bind(path, str(path)) for path in dict.fromkeys(paths)]
    stages = plan((HERE / "Dockerfile").read_text(), options.build_arg, BASE_ENVIRONMENT)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    work = Path(tempfile.mkdtemp(prefix=f"{options.out.name}-", dir=options.out.parent))
    try:
        building = Build(work, environment, binds, options)
        for stage in stages:
            building.stage(stage)
        result = work / "result"
        result.mkdir()
        building.roots[-1].rename(result / "root")
        took = time.monotonic() - began
        describe(result, stages[-1].image, took, building.seconds)
        remove(options.out)
        result.rename(options.out)
    finally:
        remove(work)
    _log((options.out / "image.json").read_text())


def describe(result: Path, image: Image, took: float, steps: list[tuple[str, float]]) -> None:
    """Write what is installed (`sbom.json`, the report of pip inspect), and what an engine would
    know of the image, with its figures (`image.json`)."""
    root = result / "root"
    inspected = _output(root, image, "python", "-m", "pip", "--no-cache-dir", "inspect", "--local")
    (result / "sbom.json").write_text(inspected)
    packages = _output(root, image, "dpkg-query", "-W", "-f", "${Package}\n").split()
    used = subprocess.run(
        ["du", "-sx", "--block-size=1", str(root)], capture_output=True, text=True, check=True
    )
    figures = {
        "build_s": round(took, 1),
        "bytes": int(used.stdout.split()[0]),
        "debian_packages": len(packages),
        "python_packages": len(json.loads(inspected)["installed"]),
        "steps_s": steps,
    }
    facts = {**asdict(image), "figures": figures}
    (result / "image.json").write_text(json.dumps(facts, indent=1) + "\n")


def _output(root: Path, image: Image, *command: str) -> str:
    user = account(root, image.user)
    arguments = invocation(root, command, user, image.folder, sealed=True)
    environment = {"HOME": user.home, **image.environment}
    ran = subprocess.run(arguments, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return ran.stdout


def loaded(out: Path) -> tuple[Path, Image]:
    """The root in a folder that `build` wrote, and what an engine would know of the image."""
    facts = json.loads((out / "image.json").read_text())
    facts.pop("figures")
    lists = ("command", "health", "volumes", "ports")
    return out / "root", Image(**{**facts, **{name: tuple(facts[name]) for name in lists}})


@contextmanager
def container(
    out: Path, volume: Path, command: Sequence[str], environment: Mapping[str, str], **streams: Any
) -> Any:
    """A container of the image, running; its process, whose only child is the container's first.

    volume : a folder, the only one but /tmp that the container can write; an empty one gets what
    the image has in its volume, as of an engine. A volume that has anything is taken as it is.
    """
    root, image = loaded(out)
    user = account(root, image.user)
    [target] = image.volumes
    if not any(volume.iterdir()):
        subprocess.run(["cp", "-a", f"{root}{target}/.", str(volume)], check=True)
    bind = Bind(volume.resolve(), target, writable=True)
    words = command or image.command
    arguments = invocation(root, words, user, image.folder, (bind,), sealed=True)
    whole = {"HOME": user.home, **image.environment, **environment}
    with subprocess.Popen(arguments, env=whole, **streams) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                kill(process)


def run(options: Any) -> int:
    """Run a command, or the image's own, until it ends; signals go to it."""
    volume = options.volume or Path(tempfile.mkdtemp(prefix="volume-", dir=options.out))
    try:
        with container(options.out, volume, options.command, options.env) as process:

            def forward(number: int, frame: object) -> None:
                for child in psutil.Process(process.pid).children():
                    child.send_signal(number)

            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, forward)
            return int(process.wait())
    finally:
        if options.volume is None:
            remove(volume)


def _pair(text: str) -> tuple[str, str]:
    name, given, value = text.partition("=")
    if not given and name in os.environ:
        return name, os.environ[name]
    if not given or not name:
        raise argparse.ArgumentTypeError("expected NAME=VALUE, or NAME of a variable that is set")
    return name, value


class _Pairs(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, value: Any, option: Any = None) -> None:
        setattr(namespace, self.dest, {**getattr(namespace, self.dest), value[0]: value[1]})


def _repeated(command: argparse.ArgumentParser, flag: str, metavar: str, help: str) -> None:
    command.add_argument(
        flag, type=_pair, action=_Pairs, default={}, metavar=metavar, help=f"{help}; repeatable"
    )


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = top.add_subparsers(dest="action", required=True)
    building = commands.add_parser("build", help="carry out the steps of the Dockerfile")
    running = commands.add_parser("run", help="run a command in what was built")
    for command in (building, running):
        command.add_argument("--out", type=Path, default=OUT, help="default: build/image-root")
        _repeated(command, "--env", "NAME[=VALUE]", "a variable that the image does not keep")
    _repeated(building, "--build-arg", "NAME=VALUE", "as of docker build")
    _repeated(building, "--base", "IMAGE=FOLDER", "a root that stands for an image")
    building.add_argument("--suite", default="bookworm", help="Debian's release (bookworm)")
    building.add_argument("--mirror", help="of Debian; default: that of debootstrap")
    same = "pip gets in the steps what this machine's gets: its settings, files and folders"
    building.add_argument("--host-pip", action="store_true", help=same)
    seen = "a file or folder that the steps can read at the same place"
    building.add_argument("--bind", type=Path, action="append", default=[], help=seen)
    running.add_argument("--volume", type=Path, help="a folder that is kept; default: a new one")
    running.add_argument("command", nargs="*", help="default: the image's own")
    return top


def main() -> int:
    # An end by SIGTERM cleans up as well.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    options = parser().parse_args()
    options.out = options.out.resolve()
    try:
        if options.action == "run":
            return run(options)
        build(options)
    except (BuildError, DockerfileError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
