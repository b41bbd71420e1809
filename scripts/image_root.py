"""Build the image, and run it, where no container engine runs: `make image-root`.

`build` makes a Debian with debootstrap, which stands for Docker's `python:X.Y-slim` where Debian's
own Python has that version, and has Buildah carry out the Dockerfile on it; `run` runs the service
in the result as its user, with a root that can only be read. What it cannot show: that Docker's
base image has what the steps need, and the networks of an engine (the machine's is used).

    python -m scripts.image_root build --host-pip --build-arg EXTRAS=telemetry
    python -m scripts.image_root run --env UMBEL_REDIS_URL=... -- umbel worker --queues cpu
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from scripts.container import Bind, account, invocation, obstacle, remove

HERE = Path(__file__).parent.parent
OUT = HERE / "build" / "image-root"
NAME = "localhost/umbel"
PATHS = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
"""As in Docker's image of Python."""
INDEXES = ("index-url", "extra-index-url")
NEEDED = ("buildah", "debootstrap")


class BuildError(Exception):
    """A step that failed, or a machine that cannot build; the message says which."""


@dataclass(frozen=True)
class Image:
    """What an engine knows of an image."""

    user: str
    folder: str
    environment: dict[str, str]
    command: tuple[str, ...]
    volumes: tuple[str, ...]
    health: tuple[str, ...]
    stop_signal: str

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Image:
        """config : as the image has it."""
        return cls(
            user=config["User"],
            folder=config["WorkingDir"],
            environment=dict(entry.split("=", 1) for entry in config["Env"]),
            command=tuple(config["Cmd"]),
            volumes=tuple(config["Volumes"]),
            health=tuple(config["Healthcheck"]["Test"][1:]),
            stop_signal=config["StopSignal"],
        )


def pip_settings(listing: str) -> tuple[dict[str, str], list[Path]]:
    """What `pip config list` printed here, for the `[global]` of another pip's file, and the files
    and folders of this machine that it names. An index in a folder keeps its files beside that
    folder, so that the folder above is named."""
    settings: dict[str, str] = {}
    paths: list[Path] = []
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if section not in (":env:", "global", "install"):
            continue
        words = str(ast.literal_eval(value)).split()
        if section == ":env:" or name not in settings:
            settings[name] = " ".join(words)
        for word in words:
            path = Path(urlsplit(word).path if word.startswith("file://") else word)
            if name in INDEXES and len(path.parts) > 2:
                path = path.parent
            if path.is_absolute() and path.exists() and path not in paths:
                paths.append(path)
    return settings, paths


class Builder:
    """Buildah with its own store in a folder."""

    def __init__(self, work: Path) -> None:
        storage = ("--root", str(work / "store"), "--runroot", str(work / "run"))
        self._command = ("buildah", "--storage-driver", "vfs", *storage)

    def do(self, *words: str) -> None:
        """Raises BuildError for a command that fails."""
        done = subprocess.run((*self._command, *words), cwd=HERE)
        if done.returncode:
            raise BuildError(f"buildah {words[0]} failed with status {done.returncode}")

    def ask(self, *words: str) -> str:
        """What a command prints. Raises BuildError."""
        done = subprocess.run((*self._command, *words), stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise BuildError(f"buildah {words[0]} failed with status {done.returncode}")
        return done.stdout.strip()

    def base(self, root: Path, name: str) -> None:
        """Make an image of a folder."""
        container = self.ask("from", "scratch")
        self.do("add", "--quiet", container, str(root), "/")
        self.do("config", "--env", f"PATH={PATHS}", "--env", "LANG=C.UTF-8", container)
        self.do("commit", "--quiet", "--rm", container, name)


def image_named(dockerfile: str) -> str:
    """The one image from elsewhere that a Dockerfile begins with."""
    [name] = {line.split()[1] for line in dockerfile.splitlines() if line.startswith("FROM ")}
    return name


def debian(root: Path, suite: str, mirror: str | None, image: str) -> None:
    """Make a small Debian with Python, which stands for an image of Python.

    Raises BuildError with debootstrap's last message, and for another version of Python.
    """
    command = ["debootstrap", "--variant=minbase", "--include=python3,python3-venv,ca-certificates"]
    # In a separate namespace: what debootstrap mounts, and may leave mounted, ends with it.
    private = ["unshare", "--mount", "--", *command, suite, str(root)]
    done = subprocess.run([*private, *([mirror] if mirror else [])], capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f"debootstrap failed\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    version = os.readlink(root / "usr/bin/python3").removeprefix("python")
    if not image.startswith(f"python:{version}-slim"):
        raise BuildError(f"Debian {suite} has Python {version}, which cannot stand for {image}")
    (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    for name in ("resolv.conf", "hosts", "hostname"):
        (root / "etc" / name).write_text("")
    for folder in ("var/cache/apt/archives", "var/lib/apt/lists", "var/log"):
        for path in (root / folder).iterdir():
            remove(path) if path.is_dir() else path.unlink()


def build(options: argparse.Namespace) -> None:
    """Build the Dockerfile into `options.out`: `root`, `image.json`, `sbom.json`.

    Raises BuildError; then nothing is left of what was built.
    """
    if problem := obstacle():
        raise BuildError(problem)
    if missing := [name for name in NEEDED if shutil.which(name) is None]:
        raise BuildError(f"not installed: {', '.join(missing)}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    work = Path(tempfile.mkdtemp(prefix=f"{options.out.name}-", dir=options.out.parent))
    try:
        base = image_named((HERE / "Dockerfile").read_text())
        debian(work / "base", options.suite, options.mirror, base)
        builder = Builder(work)
        builder.base(work / "base", f"docker.io/library/{base}")
        arguments = [word for pair in options.build_arg for word in ("--build-arg", pair)]
        if options.host_pip:
            arguments += _host_pip(work / "pip.conf")
        # As root of this machine: Buildah's own isolation needs no runtime of containers.
        builder.do(
            *("bud", "--isolation", "chroot", "--pull-never", "--format", "docker"),
            *(*arguments, "--tag", NAME, "."),
        )
        config = json.loads(builder.ask("inspect", "--type", "image", NAME))["Docker"]["config"]
        result = work / "result"
        result.mkdir()
        container = builder.ask("from", "--pull-never", NAME)
        Path(builder.ask("mount", container)).rename(result / "root")
        describe(result, config, time.monotonic() - began)
        remove(options.out)
        result.rename(options.out)
    finally:
        remove(work)
    print((options.out / "image.json").read_text())


def _host_pip(file: Path) -> list[str]:
    """Options that give the steps the settings of this machine's pip; the image keeps none."""
    listing = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
    settings, paths = pip_settings(listed)
    lines = [f"{name} = {value}" for name, value in settings.items()]
    file.write_text("\n".join(["[global]", *lines, ""]))
    binds = [f"{file}:/etc/pip.conf:ro", *(f"{path}:{path}:ro" for path in paths)]
    return [word for bind in binds for word in ("--volume", bind)]


def describe(result: Path, config: Mapping[str, Any], took: float) -> None:
    """Write what is installed (`sbom.json`, the report of pip inspect), and what an engine would
    know of the image, with its figures (`image.json`)."""
    root, image = result / "root", Image.of(config)
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
    }
    facts = {"config": config, "figures": figures}
    (result / "image.json").write_text(json.dumps(facts, indent=1) + "\n")


def _output(root: Path, image: Image, *command: str) -> str:
    user = account(root, image.user)
    arguments = invocation(root, command, user, image.folder, sealed=True)
    environment = {"HOME": user.home, **image.environment}
    ran = subprocess.run(arguments, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return ran.stdout


def loaded(out: Path) -> tuple[Path, Image]:
    """The root in a folder that `build` wrote, and what an engine would know of the image."""
    return out / "root", Image.of(json.loads((out / "image.json").read_text())["config"])


def kill(process: subprocess.Popen[Any]) -> None:
    """End a container at once: all its processes end with its first."""
    for child in psutil.Process(process.pid).children():
        child.kill()
    process.kill()


@contextmanager
def container(
    out: Path, volume: Path, command: Sequence[str], environment: Mapping[str, str], **streams: Any
) -> Any:
    """A container of the image, running; its process, whose only child is the container's first.

    volume : a folder, the only one but /tmp that the container can write; an empty one gets what
    the image has in its volume, as of an engine. A volume that has anything is taken unchanged.
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


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = top.add_subparsers(dest="action", required=True)
    building = commands.add_parser("build", help="carry out the steps of the Dockerfile")
    running = commands.add_parser("run", help="run a command in what was built")
    for command in (building, running):
        command.add_argument("--out", type=Path, default=OUT, help="default: build/image-root")
    argument = {"action": "append", "default": [], "metavar": "NAME=VALUE"}
    building.add_argument("--build-arg", **argument, help="as of docker build; repeatable")
    building.add_argument("--suite", default="bookworm", help="Debian's release (bookworm)")
    building.add_argument("--mirror", help="of Debian; default: that of debootstrap")
    same = "pip gets in the steps what this machine's gets: its settings, files and folders"
    building.add_argument("--host-pip", action="store_true", help=same)
    running.add_argument(
        "--env", type=_pair, action=_Pairs, default={}, metavar="NAME[=VALUE]", help="repeatable"
    )
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
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
