"""What the kernel refuses to a job's process: a filter of system calls (seccomp), on Linux.

A job needs files, memory and threads. It may open no socket, so that a hostile input that takes the
process over reaches neither the network nor, by a socket in the file system, Redis; and it may not
look into other processes. The filter holds for all threads of the process and for all that it
starts, and cannot be taken off.

Internet sockets stay allowed (`sockets`) where inputs stay in the object store and are read by
address, and where a fit has several processes, which meet on the loopback interface.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import socket
import struct
import sys

from workers.errors import FatalError

_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER, _GET_ACTION_AVAIL = 1, 2
_TSYNC = 1
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_EPERM, _EACCES = _ERRNO | errno.EPERM, _ERRNO | errno.EACCES

# Offsets in the kernel's `struct seccomp_data`.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_X32 = 0x40000000
"""System calls of the x32 interface have this bit: without it they would pass by other numbers."""

_NUMBERS: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {
            "seccomp": 317,
            "socket": 41,
            "ptrace": 101,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "pidfd_getfd": 438,
            "io_uring_setup": 425,
            "bpf": 321,
            "userfaultfd": 323,
            "perf_event_open": 298,
            "unshare": 272,
            "setns": 308,
            "mount": 165,
            "umount2": 166,
            "pivot_root": 155,
            "chroot": 161,
            "keyctl": 250,
            "add_key": 248,
            "request_key": 249,
            "init_module": 175,
            "finit_module": 313,
            "kexec_load": 246,
            "open_by_handle_at": 304,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "seccomp": 277,
            "socket": 198,
            "ptrace": 117,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "pidfd_getfd": 438,
            "io_uring_setup": 425,
            "bpf": 280,
            "userfaultfd": 282,
            "perf_event_open": 241,
            "unshare": 97,
            "setns": 268,
            "mount": 40,
            "umount2": 39,
            "pivot_root": 41,
            "chroot": 51,
            "keyctl": 219,
            "add_key": 217,
            "request_key": 218,
            "init_module": 105,
            "finit_module": 273,
            "kexec_load": 104,
            "open_by_handle_at": 265,
        },
    ),
}
"""By machine: the kernel's name of its calling convention, and the numbers of system calls."""

_INTERNET = (int(socket.AF_INET), int(socket.AF_INET6))


class _Program(ctypes.Structure):
    """The kernel's `struct sock_fprog`."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def missing() -> str | None:
    """Why this machine cannot confine a process; None if it can."""
    if not sys.platform.startswith("linux"):
        return f"{sys.platform} has no seccomp"
    if platform.machine() not in _NUMBERS:
        return f"the numbers of system calls on {platform.machine()} are not known"
    action = ctypes.c_uint32(_ERRNO)
    if _seccomp(_GET_ACTION_AVAIL, 0, ctypes.byref(action)) != 0:
        return f"the kernel has no seccomp: {os.strerror(ctypes.get_errno())}"
    return None


def confine(*, sockets: bool) -> None:
    """Confine this process, all its threads and all that it starts; for good.

    sockets : whether internet sockets stay allowed.

    Does nothing where `missing()`. Raises FatalError if the kernel refuses although it could.
    """
    if missing() is not None:
        return
    instructions = _filter(*_NUMBERS[platform.machine()], sockets)
    program = _Program(len(instructions) // 8, instructions)
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise FatalError(f"the kernel refuses no_new_privs: {os.strerror(ctypes.get_errno())}")
    if (refused := _seccomp(_SET_MODE_FILTER, _TSYNC, ctypes.byref(program))) != 0:
        why = os.strerror(ctypes.get_errno()) if refused < 0 else f"thread {refused} has another"
        raise FatalError(f"the kernel refuses the filter of system calls: {why}")


def _seccomp(operation: int, flags: int, argument: object) -> int:
    call = ctypes.CDLL(None, use_errno=True).syscall
    number = _NUMBERS[platform.machine()][1]["seccomp"]
    return int(call(ctypes.c_long(number), operation, flags, argument))


def _filter(architecture: int, numbers: dict[str, int], sockets: bool) -> bytes:
    """The filter's program: each instruction is (code, jump if true, jump if false, operand)."""
    refused = [n for name, n in numbers.items() if name not in ("seccomp", "socket")]
    program = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, architecture, if_true=1),
        _instruction(_RETURN, _EPERM),
        _instruction(_LOAD, _NUMBER),
        # Also -1, which a debugger uses for a call that is left out.
        _instruction(_AT_LEAST, _X32, if_false=1),
        _instruction(_RETURN, _EPERM),
    ]
    for number in refused:
        program += [_instruction(_EQUAL, number, if_false=1), _instruction(_RETURN, _EPERM)]
    program += [
        _instruction(_EQUAL, numbers["socket"], if_true=1),
        _instruction(_RETURN, _ALLOW),
        _instruction(_LOAD, _FIRST_ARGUMENT),
    ]
    for family in _INTERNET if sockets else ():
        program += [_instruction(_EQUAL, family, if_false=1), _instruction(_RETURN, _ALLOW)]
    return b"".join([*program, _instruction(_RETURN, _EACCES)])


def _instruction(code: int, operand: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, operand)
