"""What the kernel refuses to a job's process, on Linux.

A job needs files, memory and threads. A filter of system calls (seccomp) allows these and refuses
all others (`calls`): no socket, so that a hostile input that takes the process over reaches neither
the network nor, by a socket in the file system, Redis; no namespaces, mounts or other processes.
Where the kernel has Landlock, the process has a separate domain besides: it can neither read nor
write the memory of processes outside, nor send them signals. It gives up the capabilities that a
worker which runs as root has, but for those on files. All of this holds for its threads and for
all that it starts, and cannot be taken off.

Internet sockets stay allowed (`sockets`) where inputs stay in the object store and are read by
address, and where a fit has several processes, which meet on the loopback interface.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from workers.child.system_calls import (
    CLONE3,
    CONDITIONS,
    LANDLOCK,
    NEWEST,
    TABLES,
    Condition,
    Table,
    of_socket,
)
from workers.errors import FatalError

_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38
_SET_MODE_FILTER, _GET_ACTION_AVAIL = 1, 2
_TSYNC = 1
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000

# Offsets in the kernel's `struct seccomp_data`; an argument has eight bytes, the low ones first.
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06

_LANDLOCK_VERSION = 1
_MAKE_DEVICES = 1 << 6 | 1 << 11
"""A domain must refuse something of files: to make devices, which no job does."""
_SCOPES = 3
"""Signals and abstract sockets, kept within the domain."""
_SCOPES_SINCE = 6

_CAPABILITIES = 0x20080522
"""The version of `struct __user_cap_header_struct`."""
_OF_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3
"""Rights on files whatever their owner: of a worker as root on files of others."""


_enclosed: int | None = None
"""The process that has called `enclose`: a fork has not."""


class _Program(ctypes.Structure):
    """The kernel's `struct sock_fprog`."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def missing() -> str | None:
    """Why this machine cannot confine a process; None if it can."""
    if not sys.platform.startswith("linux"):
        return f"{sys.platform} has no seccomp"
    if platform.machine() not in TABLES:
        return f"the numbers of system calls on {platform.machine()} are not known"
    action = ctypes.c_uint32(_ERRNO)
    if _seccomp(_GET_ACTION_AVAIL, 0, ctypes.byref(action)) != 0:
        return f"the kernel has no seccomp: {os.strerror(ctypes.get_errno())}"
    return None


def weaker() -> str | None:
    """What the confinement of this machine lacks though it has the filter; None if nothing."""
    version = _landlock_version()
    if version >= _SCOPES_SINCE:
        return None
    if version > 0:
        return (
            f"the kernel's Landlock is of version {version}: jobs may send signals to processes of "
            f"the worker's user; version {_SCOPES_SINCE} (Linux 6.12) keeps them from it"
        )
    return (
        "the kernel has no Landlock: jobs may send signals to processes of the worker's user, and "
        "read and write the memory of those that do not refuse it, as Redis"
    )


def states() -> list[str]:
    """Sentences that say what the confinement of jobs lacks on this machine."""
    if (reason := missing()) is not None:
        return [f"Jobs may open sockets and look into other processes: {reason}."]
    return [] if (reason := weaker()) is None else [f"Jobs are confined less: {reason}."]


def close_memory() -> None:
    """Let no other process of this user read or write the memory or the environment of this one.

    Linux only. Not kept by `exec`. Core files are not written, either.
    """
    if sys.platform.startswith("linux"):
        _libc().prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def open_memory() -> None:
    """Undo `close_memory`, which children inherit: a process whose memory is closed cannot open
    its own files in `/proc` that are written."""
    if sys.platform.startswith("linux"):
        _libc().prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def enclose() -> None:
    """Part this process from others, as far as the kernel can: call it before a thread starts.

    Its memory is closed, it has no capability but those on files, and a separate domain. Does
    nothing where `missing()`, and where it is done. Raises FatalError if the kernel refuses
    although it could.
    """
    global _enclosed
    if missing() is not None or _enclosed == os.getpid():
        return
    _enclosed = os.getpid()
    _no_new_privileges()
    close_memory()
    _drop_capabilities()
    version = _landlock_version()
    if version <= 0:
        return
    scopes = _SCOPES if version >= _SCOPES_SINCE else 0
    size = 24 if scopes else 8
    rules = struct.pack("=QQQ", _MAKE_DEVICES, 0, scopes)[:size]
    descriptor = _call(LANDLOCK, ctypes.c_char_p(rules), ctypes.c_size_t(size), 0)
    if descriptor < 0 or _call(LANDLOCK + 2, descriptor, 0) != 0:
        raise FatalError(f"the kernel refuses a domain: {os.strerror(ctypes.get_errno())}")
    os.close(descriptor)


def confine(*, sockets: bool) -> None:
    """Confine this process, all its threads and all that it starts; for good.

    sockets : whether internet sockets stay allowed.

    Encloses it first, if it is not. Does nothing where `missing()`. Raises FatalError if the kernel
    refuses although it could.
    """
    if missing() is not None:
        return
    enclose()
    instructions = _filter(TABLES[platform.machine()], sockets)
    program = _Program(len(instructions) // 8, instructions)
    if (refused := _seccomp(_SET_MODE_FILTER, _TSYNC, ctypes.byref(program))) != 0:
        why = os.strerror(ctypes.get_errno()) if refused < 0 else f"thread {refused} has another"
        raise FatalError(f"the kernel refuses the filter of system calls: {why}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    return int(_libc().syscall(ctypes.c_long(number), *arguments))


def _no_new_privileges() -> None:
    if _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise FatalError(f"the kernel refuses no_new_privs: {os.strerror(ctypes.get_errno())}")


def _seccomp(operation: int, flags: int, argument: object) -> int:
    return _call(TABLES[platform.machine()].seccomp, operation, flags, argument)


def _landlock_version() -> int:
    """The version of the interface of the kernel; not above 0 where it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    return _call(LANDLOCK, None, ctypes.c_size_t(0), _LANDLOCK_VERSION)


def _drop_capabilities() -> None:
    """Keep, of those that this process has, the ones on files; they do not come back by `exec`."""
    status = Path("/proc/self/status").read_text()
    has = {
        name: int(value, 16)
        for name, value in (line.split() for line in status.splitlines() if line[:3] == "Cap")
    }
    kept = has["CapPrm:"] & _OF_FILES
    if kept == has["CapPrm:"] == has["CapEff:"]:
        return
    header = struct.pack("=Ii", _CAPABILITIES, 0)
    data = struct.pack("=6I", kept, kept, 0, 0, 0, 0)
    capset = TABLES[platform.machine()].capset
    if _call(capset, ctypes.c_char_p(header), ctypes.c_char_p(data)) != 0:
        raise FatalError(
            f"the kernel does not take capabilities: {os.strerror(ctypes.get_errno())}"
        )


def _filter(table: Table, sockets: bool) -> bytes:
    """The filter's program: each instruction is (code, jump if true, jump if false, operand)."""
    program = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, table.architecture, if_true=1),
        _refusal(errno.EPERM),
        _instruction(_LOAD, _NUMBER),
        _instruction(_EQUAL, CLONE3, if_false=1),
        _refusal(errno.ENOSYS),
        # Also calls of the x32 interface, and -1, which a debugger uses for one that is left out.
        _instruction(_AT_LEAST, NEWEST + 1, if_false=1),
        _refusal(errno.ENOSYS),
    ]
    conditions = {**CONDITIONS, "socket": of_socket(internet=sockets)}
    for name, number in table.conditional.items():
        tested = _tested(conditions[name])
        program += [_instruction(_EQUAL, number, if_false=len(tested)), *tested]
    allowed = {**table.free, **(table.internet if sockets else {})}
    for first, last in _runs(sorted(allowed.values())):
        program += [
            _instruction(_AT_LEAST, last + 1, if_true=3),
            _instruction(_AT_LEAST, first, if_false=1),
            _instruction(_RETURN, _ALLOW),
            _refusal(errno.EPERM),
        ]
    return b"".join([*program, _refusal(errno.EPERM)])


def _tested(condition: Condition) -> list[bytes]:
    """Returns for a call whose number has been recognised."""
    program = [
        _instruction(_LOAD, _ARGUMENTS + 8 * condition.argument),
        _instruction(_AND, condition.mask),
    ]
    allowed, refused = _instruction(_RETURN, _ALLOW), _refusal(condition.error)
    named, other = (refused, allowed) if condition.but else (allowed, refused)
    for value in condition.values:
        program += [_instruction(_EQUAL, value, if_false=1), named]
    return [*program, other]


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """The first and last of each run of successive numbers."""
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last


def _refusal(error: int) -> bytes:
    return _instruction(_RETURN, _ERRNO | error)


def _instruction(code: int, operand: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, operand)
