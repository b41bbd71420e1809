"""What is done to the parts of the service; each fault is over when its function returns."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import redis

from tests.chaos.parts_kit import Parts
from tests.chaos.proxy_kit import Mode, Proxy

Fault = Callable[[Parts, random.Random], bool]
"""Does it; False if there was nothing to do it to."""

LONG_S = 2.0


def kill(name: str) -> Fault:
    def fault(parts: Parts, dice: random.Random) -> bool:
        names = [n for n in parts.processes if n.startswith(name)]
        parts.kill(dice.choice(names))
        return True

    return fault


def kill_api(parts: Parts, dice: random.Random) -> bool:
    """One process that serves, where another one keeps them; else the whole."""
    return _kill_one(parts.serving(), dice) or kill("api")(parts, dice)


def kill_apis(parts: Parts, dice: random.Random) -> bool:
    """All of them at once, but not the process that keeps them."""
    return _kill_all(parts.serving())


def kill_api_keeper(parts: Parts, dice: random.Random) -> bool:
    """The process that keeps those that serve, which die with it."""
    return bool(parts.serving()) and kill("api")(parts, dice)


def kill_worker(parts: Parts, dice: random.Random) -> bool:
    return _kill_one(parts.workers(), dice)


def kill_workers(parts: Parts, dice: random.Random) -> bool:
    """All of them at once."""
    return _kill_all(parts.workers())


def kill_keeper(parts: Parts, dice: random.Random) -> bool:
    """The process that keeps the workers, which die with it."""
    return "workers" in parts.processes and kill("workers")(parts, dice)


def kill_template(parts: Parts, dice: random.Random) -> bool:
    return _kill_one(parts.below_workers()[0], dice)


def kill_child(parts: Parts, dice: random.Random) -> bool:
    """A child that computes, if there is one; else one that waits for a job."""
    children = [child for child in parts.below_workers()[1] if not _is_dead(child)]
    busy = [child for child in children if _cpu_s(child) > 0.3 and not _stopped(child)]
    return _kill_one(busy or children, dice)


def flush(parts: Parts, dice: random.Random) -> bool:
    with contextlib.suppress(redis.RedisError):
        parts.redis.flushall()
        return True
    return False


def forget(parts: Parts, dice: random.Random) -> bool:
    parts.forget_redis()
    return True


def fill_memory(parts: Parts, dice: random.Random) -> bool:
    with contextlib.suppress(redis.RedisError):
        parts.redis.config_set("maxmemory", "1")
        time.sleep(LONG_S)
        parts.redis.config_set("maxmemory", "0")
        return True
    return False


def fill_disk(parts: Parts, dice: random.Random) -> bool:
    """Only where the store has its own small disk."""
    disk = parts.folder
    if not disk.is_mount():
        return False
    path = disk / "filler"
    with path.open("wb", buffering=0) as filler:
        for size in (1 << 16, 1 << 9):
            with contextlib.suppress(OSError):
                while True:
                    filler.write(bytes(size))
    time.sleep(LONG_S)
    path.unlink()
    return True


def connections(
    mode: Mode, proxy_of: Callable[[Parts], Proxy | None] = lambda parts: parts.proxy
) -> Fault:
    """The proxy does this for a while; "pass": it cuts all connections once."""

    def fault(parts: Parts, dice: random.Random) -> bool:
        proxy = proxy_of(parts)
        if proxy is None:
            return False
        proxy.mode = mode
        proxy.cut_all()
        time.sleep(0.0 if mode == "pass" else LONG_S)
        proxy.mode = "pass"
        proxy.cut_all()
        return True

    return fault


def move_clock(parts: Parts, dice: random.Random) -> bool:
    """An hour forth or back for every process, Valkey included; then back to the right time."""
    if not parts.moves_clock:
        return False
    _write(parts.clock, dice.choice(["+3600s", "-3600s"]))
    time.sleep(LONG_S)
    _write(parts.clock, "+0")
    return True


KILLS: dict[str, Fault] = {
    "kill api": kill_api,
    "kill apis": kill_apis,
    "kill api keeper": kill_api_keeper,
    "kill worker": kill_worker,
    "kill workers": kill_workers,
    "kill keeper": kill_keeper,
    "kill valkey": kill("valkey"),
    "kill template": kill_template,
    "kill child": kill_child,
}
FAULTS: dict[str, Fault] = {
    **KILLS,
    "redis flushed": flush,
    "redis forgets": forget,
    "redis full": fill_memory,
    "disk full": fill_disk,
    "connections cut": connections("pass"),
    "connections refused": connections("refuse"),
    "connections slow": connections("delay"),
    "connections silent": connections("swallow"),
    "clock jumps": move_clock,
}


def before_s3(parts: Parts) -> Proxy | None:
    return parts.s3_proxy


S3_FAULTS: dict[str, Fault] = {
    "s3 fails": connections("error", before_s3),
    "s3 is busy": connections("busy", before_s3),
    "s3 bodies cut": connections("cut", before_s3),
    "s3 connections cut": connections("pass", before_s3),
    "s3 refuses": connections("refuse", before_s3),
    "s3 slow": connections("delay", before_s3),
    "s3 silent": connections("swallow", before_s3),
    "kill worker": KILLS["kill worker"],
    "kill child": KILLS["kill child"],
    "redis flushed": flush,
}
"""What is done where the store is on S3."""


def _kill_one(processes: list[psutil.Process], dice: random.Random) -> bool:
    if processes:
        with contextlib.suppress(psutil.Error):
            dice.choice(processes).kill()
            return True
    return False


def _kill_all(processes: list[psutil.Process]) -> bool:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()
    return bool(processes)


def _cpu_s(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.Error):
        return float(process.cpu_times().user)
    return 0.0


def _is_dead(process: psutil.Process) -> bool:
    """Whether it is gone, or only its exit status is there."""
    with contextlib.suppress(psutil.Error):
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    return True


def _stopped(process: psutil.Process) -> bool:
    """Whether it has done a job and waits for another one."""
    with contextlib.suppress(psutil.Error):
        return bool(process.status() == psutil.STATUS_STOPPED)
    return False


def _write(path: Path, text: str) -> None:
    beside = path.with_suffix(".new")
    beside.write_text(text)
    beside.replace(path)
