"""A process, confined as a job's is, that tries system calls and reports what came of each.

Run as a program: `system_calls_kit.py <sockets>` writes the results as JSON to standard output. As
root it first becomes an ordinary user, so that it is the confinement that refuses, and rights do
not help.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import mmap
import os
import platform
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Callable

NOBODY = 65534
_REFUSED = """
mount 165 40; umount2 166 39; pivot_root 155 41; chroot 161 51; open_tree 428 428;
open_tree_attr 467 467; move_mount 429 429; fsopen 430 430; fsconfig 431 431; fsmount 432 432;
fspick 433 433; mount_setattr 442 442; statmount 457 457; listmount 458 458; unshare 272 97;
setns 308 268; listns 470 470; ptrace 101 117; process_vm_readv 310 270;
process_vm_writev 311 271; process_madvise 440 440; pidfd_open 434 434; pidfd_getfd 438 438;
pidfd_send_signal 424 424; kcmp 312 272; bpf 321 280; perf_event_open 298 241;
userfaultfd 323 282; keyctl 250 219; add_key 248 217; request_key 249 218; io_uring_setup 425 425;
io_uring_enter 426 426; io_uring_register 427 427; kexec_load 246 104; kexec_file_load 320 294;
init_module 175 105; finit_module 313 273; delete_module 176 106; quotactl 179 60;
quotactl_fd 443 443; swapon 167 224; swapoff 168 225; reboot 169 142; name_to_handle_at 303 264;
open_by_handle_at 304 265; setuid 105 146; setgid 106 144; setresuid 117 147; setgroups 116 159;
capset 126 91; move_pages 279 239; migrate_pages 256 238; shmget 29 194; msgget 68 186;
semget 64 190; mq_open 240 180; fanotify_init 300 262; acct 163 89; syslog 103 116;
sethostname 170 161; settimeofday 164 170; clock_settime 227 112; adjtimex 159 171;
personality 135 92; seccomp 317 277; lookup_dcookie 212 18; iopl 172 -; ioperm 173 -;
modify_ldt 154 -;"""
_COLUMN = {"x86_64": 1, "aarch64": 2}.get(platform.machine(), 0)
_ROWS = [entry.split() for entry in _REFUSED.replace("\n", " ").split(";") if entry.strip()]
REFUSED = {row[0]: int(row[_COLUMN]) for row in _ROWS if _COLUMN and row[_COLUMN] != "-"}
"""Calls that no job may make, with their numbers on this machine."""

NAMESPACES = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
TYPING = (0x5412, 0x541C, 0x5412 | 1 << 32)
"""TIOCSTI and TIOCLINUX; of the number the kernel reads the low half."""
_room = ctypes.create_string_buffer(b"\1", 64)
SCHEDULING = {
    "sched_setparam": (ctypes.addressof(_room),),
    "sched_setscheduler": (0, ctypes.addressof(_room)),
    "sched_setattr": (ctypes.addressof(_room), 0),
}
"""Calls that change how another process is given cores, with their further arguments."""
_libc = ctypes.CDLL(None, use_errno=True)


def call(number: int, *arguments: int) -> int:
    """The error number of a call; 0 if it succeeds."""
    six = (*arguments, *(0,) * (6 - len(arguments)))
    ctypes.set_errno(0)
    result = _libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, six))
    return ctypes.get_errno() if result < 0 else 0


def become_nobody() -> None:
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        # As a process is that such a user has started.
        _libc.prctl(4, 1, 0, 0, 0)


def error_of(attempt: Callable[[], object]) -> int:
    """The error number of an attempt; 0 if it succeeds."""
    try:
        attempt()
    except OSError as error:
        return error.errno or -1
    return 0


def clone(flags: int) -> int:
    """The error number of `clone` with these flags; a process that it makes ends at once."""
    number = {"x86_64": 56, "aarch64": 220}[platform.machine()]
    result = _libc.syscall(
        ctypes.c_long(number), ctypes.c_long(flags | signal.SIGCHLD), *[None] * 4
    )
    if result == 0:
        os._exit(0)
    if result > 0:
        os.waitpid(result, 0)
    return ctypes.get_errno() if result < 0 else 0


def by_interrupt(number: int) -> int | None:
    """The error number of a call of 32-bit programs (x86); None where the kernel has none."""
    code = b"\x53\xb8" + number.to_bytes(4, "little") + b"\xcd\x80\x5b\xc3"
    room = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    room.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(room))
    child = os.fork()
    if child == 0:
        os._exit(min(255, max(0, -ctypes.CFUNCTYPE(ctypes.c_int)(address)())))
    status = os.waitpid(child, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None


def uses() -> dict[str, int]:
    """What jobs do need."""

    def thread() -> None:
        started = threading.Thread(target=lambda: None)
        started.start()
        started.join()

    def forked() -> None:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    def program() -> None:
        subprocess.run(["/bin/sh", "-c", "exit 0"], check=True)

    def pair() -> None:
        for end in socket.socketpair():
            end.close()

    attempts: dict[str, Callable[[], object]] = {
        "thread": thread,
        "fork": forked,
        "program": program,
        "pair": pair,
        "nice": lambda: os.nice(0),
        "affinity": lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)),
        "window": lambda: fcntl.ioctl(os.pipe()[0], termios.FIONREAD, bytes(4)),
        "map": lambda: mmap.mmap(-1, 4096).close(),
    }
    return {name: error_of(attempt) for name, attempt in attempts.items()}


def main() -> None:
    from workers.child import confinement
    from workers.child.system_calls import NEWEST, TABLES

    become_nobody()
    ours, theirs = os.pipe()
    other = os.fork()
    if other == 0:
        # It cannot be sent a signal: it ends when this process does.
        os.close(theirs)
        os.read(ours, 1)
        os._exit(0)
    sockets = sys.argv[1] == "True"
    confinement.confine(sockets=sockets)
    table = TABLES[platform.machine()]
    allowed = {
        *table.free.values(),
        *table.conditional.values(),
        *(table.internet.values() if sockets else ()),
    }
    # The kernel's own probes on x86-64 pass every filter; made by anyone else they end the process.
    probes = {335, 336}
    rest = [number for number in range(NEWEST + 40) if number not in allowed | probes]
    datagrams = (socket.AF_UNIX, socket.SOCK_DGRAM)
    results = {
        "named": {name: call(number) for name, number in REFUSED.items()},
        "rest": {str(number): call(number) for number in rest},
        "namespaces": [clone(flag) for flag in NAMESPACES],
        "x32": call(0x40000000 | 39),
        "negative": call(-1),
        "interrupt": by_interrupt(20) if platform.machine() == "x86_64" else None,
        "clone3": call(435),
        "limits": call(table.conditional["prlimit64"], other, 7),
        "priority": call(table.conditional["setpriority"], 0, other, 19),
        "scheduling": [
            call(table.conditional["sched_setaffinity"], other, 8, ctypes.addressof(_room)),
            *(
                call(table.conditional[name], other, *arguments)
                for name, arguments in SCHEDULING.items()
            ),
        ],
        "typing": [call(table.conditional["ioctl"], 0, request, 0) for request in TYPING],
        "datagrams": error_of(lambda: socket.socketpair(*datagrams)),
        "memory": error_of(lambda: os.open(f"/proc/{other}/mem", os.O_RDWR)),
        "environment": error_of(lambda: os.open(f"/proc/{other}/environ", os.O_RDONLY)),
        "signal": error_of(lambda: os.kill(other, 0)),
        "uses": uses(),
    }
    print(json.dumps(results))


if __name__ == "__main__":
    main()
