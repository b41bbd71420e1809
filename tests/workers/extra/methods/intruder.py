"""A method that tries what a job must not do, and reports what came of it as metrics."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from models.inputs.data import Data
from models.method import Fitted, Input, Method, Paper, Run
from models.parameters import Params
from models.tree.build import from_partition

PTRACE_ATTACH = 16
CLONE_NEWUSER = 0x10000000


class IntruderParams(Params):
    port: int = 1
    path: str = ""
    opens: bool = False


class Intruder(Method[IntruderParams]):
    """Opens sockets, looks into its parent, makes its own namespace."""

    id: ClassVar = "intruder"
    title: ClassVar = "Intruder"
    family: ClassVar = "tests"
    paper: ClassVar = Paper("None", 2025)
    Params: ClassVar = IntruderParams
    inputs: ClassVar = {"features": Input()}

    def opens_sockets(self, params: Mapping[str, Any]) -> bool:
        return bool(params.get("opens"))

    def _fit(self, data: Data, params: IntruderParams, run: Run) -> Fitted:
        address = ("127.0.0.1", params.port)
        connect = f"import socket; socket.create_connection({address})"
        attempts: dict[str, Callable[[], object]] = {
            "internet": lambda: socket.create_connection(address).close(),
            "datagram": lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).close(),
            "local": lambda: socket.socket(socket.AF_UNIX).connect(params.path),
            "kernel": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(),
            "thread": lambda: in_thread(lambda: socket.create_connection(address).close()),
            "program": lambda: program(connect),
            "trace": lambda: libc("ptrace", PTRACE_ATTACH, os.getppid(), 0, 0),
            "namespace": lambda: libc("unshare", CLONE_NEWUSER),
            "secret": secret,
            "pair": lambda: [end.close() for end in socket.socketpair()],
            "file": lambda: os.stat("/"),
        }
        metrics = {name: result_of(attempt) for name, attempt in attempts.items()}
        n_points = len(data.dense("features"))
        return Fitted(tree=from_partition(np.zeros(n_points, np.int32), 1), metrics=metrics)


def result_of(attempt: Callable[[], object]) -> float:
    """1, or minus the error number."""
    try:
        attempt()
    except OSError as error:
        return -float(error.errno or 1000)
    return 1.0


def in_thread(attempt: Callable[[], object]) -> None:
    errors: list[OSError] = []

    def run() -> None:
        try:
            attempt()
        except OSError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    for error in errors:
        raise error


def program(text: str) -> None:
    status = subprocess.run([sys.executable, "-c", text], capture_output=True, check=False)
    if status.returncode != 0:
        raise OSError(13 if b"PermissionError" in status.stderr else 999, "the program failed")


def secret() -> None:
    """Look for an address with a password in what the process was started with."""
    with open("/proc/self/environ", "rb") as environment:
        if b"UMBEL_REDIS_URL" not in environment.read():
            raise PermissionError(13, "not there")


def libc(name: str, *arguments: int) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)
