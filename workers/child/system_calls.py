"""The system calls of Linux that a job's process may make, with their numbers on each machine.

An allow list: what is not here is refused, what newer kernels add included. It has files, memory,
threads, programs that a job starts, clocks and signals. It leaves out mounts, namespaces, other
processes' memory, descriptors and limits, keys, modules, tracing, io_uring, bpf, System V's shared
memory, and changes of the user.
"""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass

NEWEST = 470
"""The last number that Linux 6.19 uses, on both machines; a greater one does not exist (ENOSYS)."""

CLONE3 = 435
"""On both machines. Its flags lie in memory, where no filter sees them; the C library uses `clone`
where it does not exist (ENOSYS)."""

_NAMESPACES = 0x7E020000
"""All flags of `clone` that make a namespace: mounts, cgroup, names, IPC, user, processes, net."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A call is allowed if `argument & mask` is one of `values`, or, where `but` is true, is none
    of them; else it fails with `error`."""

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    error: int = errno.EPERM
    but: bool = False


# Each call: its name, and its number on x86-64 and on ARM64; "-" where it does not exist.
_FREE = """
read 0 63; write 1 64; open 2 -; close 3 57; stat 4 -; fstat 5 80; lstat 6 -; newfstatat 262 79;
poll 7 -; lseek 8 62; pread64 17 67; pwrite64 18 68; readv 19 65; writev 20 66; preadv 295 69;
pwritev 296 70; preadv2 327 286; pwritev2 328 287; access 21 -; faccessat 269 48;
faccessat2 439 439; pipe 22 -; pipe2 293 59; select 23 -; pselect6 270 72; ppoll 271 73;
dup 32 23; dup2 33 -; dup3 292 24; sendfile 40 71; fcntl 72 25; flock 73 32; fsync 74 82;
fdatasync 75 83; truncate 76 45; ftruncate 77 46; fallocate 285 47; getdents 78 -;
getdents64 217 61; getcwd 79 17; chdir 80 49; fchdir 81 50; rename 82 -; renameat 264 38;
renameat2 316 276; mkdir 83 -; mkdirat 258 34; rmdir 84 -; creat 85 -; link 86 -; linkat 265 37;
unlink 87 -; unlinkat 263 35; symlink 88 -; symlinkat 266 36; readlink 89 -; readlinkat 267 78;
chmod 90 -; fchmod 91 52; fchmodat 268 53; fchmodat2 452 452; chown 92 -; fchown 93 55;
lchown 94 -; fchownat 260 54; umask 95 166; utime 132 -; utimes 235 -; utimensat 280 88;
futimesat 261 -; statfs 137 43; fstatfs 138 44; statx 332 291; sync 162 81; syncfs 306 267;
sync_file_range 277 84; fadvise64 221 223; readahead 187 213; copy_file_range 326 285;
splice 275 76; tee 276 77; vmsplice 278 75; openat 257 56; openat2 437 437; close_range 436 436;
memfd_create 319 279; getxattr 191 8; lgetxattr 192 9; fgetxattr 193 10; listxattr 194 11;
llistxattr 195 12; flistxattr 196 13; setxattr 188 5; lsetxattr 189 6; fsetxattr 190 7;
removexattr 197 14; lremovexattr 198 15; fremovexattr 199 16;
eventfd 284 -; eventfd2 290 19; epoll_create 213 -; epoll_create1 291 20; epoll_ctl 233 21;
epoll_wait 232 -; epoll_pwait 281 22; epoll_pwait2 441 441; timerfd_create 283 85;
timerfd_settime 286 86; timerfd_gettime 287 87; signalfd 282 -; signalfd4 289 74;
mmap 9 222; mprotect 10 226; munmap 11 215; brk 12 214; mremap 25 216; msync 26 227;
mincore 27 232; madvise 28 233; mlock 149 228; munlock 150 229; mlock2 325 284; mlockall 151 230;
munlockall 152 231; pkey_alloc 330 289; pkey_free 331 290; pkey_mprotect 329 288;
membarrier 324 283; mbind 237 235; get_mempolicy 239 236; set_mempolicy 238 237;
set_mempolicy_home_node 450 450; map_shadow_stack 453 453; mseal 462 462; cachestat 451 451;
fork 57 -; vfork 58 -; execve 59 221; execveat 322 281; exit 60 93; exit_group 231 94;
wait4 61 260; waitid 247 95; kill 62 129; tkill 200 130; tgkill 234 131; getpid 39 172;
getppid 110 173; gettid 186 178; getuid 102 174; geteuid 107 175; getgid 104 176; getegid 108 177;
getresuid 118 148; getresgid 120 150; getgroups 115 158; getpgid 121 155; getpgrp 111 -;
setpgid 109 154; setsid 112 157; getsid 124 156; capget 125 90; prctl 157 167; arch_prctl 158 -;
set_tid_address 218 96; set_robust_list 273 99; rseq 334 293; futex 202 98; futex_waitv 449 449;
futex_wake 454 454; futex_wait 455 455; futex_requeue 456 456; sched_yield 24 124;
sched_getaffinity 204 123; sched_getparam 143 121; sched_getscheduler 145 120;
sched_getattr 315 275; sched_get_priority_max 146 125;
sched_get_priority_min 147 126; sched_rr_get_interval 148 127; getpriority 140 141;
getrlimit 97 163; setrlimit 160 164; getrusage 98 165; times 100 153; sysinfo 99 179;
uname 63 160; getcpu 309 168; getrandom 318 278; time 201 -; gettimeofday 96 169;
clock_gettime 228 113; clock_getres 229 114; clock_nanosleep 230 115; nanosleep 35 101;
alarm 37 -; getitimer 36 102; setitimer 38 103; timer_create 222 107; timer_settime 223 110;
timer_gettime 224 108; timer_getoverrun 225 109; timer_delete 226 111; pause 34 -;
rt_sigaction 13 134; rt_sigprocmask 14 135; rt_sigpending 127 136; rt_sigreturn 15 139;
rt_sigsuspend 130 133; rt_sigtimedwait 128 137; sigaltstack 131 132; restart_syscall 219 128;
landlock_create_ruleset 444 444; landlock_add_rule 445 445; landlock_restrict_self 446 446;
sendto 44 206; recvfrom 45 207; sendmsg 46 211; recvmsg 47 212; sendmmsg 307 269;
recvmmsg 299 243; shutdown 48 210; getsockname 51 204; getpeername 52 205; setsockopt 54 208;
getsockopt 55 209;
"""
_CONDITIONAL = """
clone 56 220; ioctl 16 29; personality 135 92; prlimit64 302 261; setpriority 141 140;
sched_setaffinity 203 122; sched_setparam 142 118; sched_setscheduler 144 119;
sched_setattr 314 274; socketpair 53 199; socket 41 198;
"""
_INTERNET = """
connect 42 203; bind 49 200; listen 50 201; accept 43 202; accept4 288 242;
"""
"""Only where internet sockets are: a pair of datagram sockets would reach others by it."""

CONDITIONS = {
    "clone": Condition(0, (0,), _NAMESPACES),
    # Not what types into a terminal (TIOCSTI, TIOCLINUX): a worker may share one with a shell.
    "ioctl": Condition(1, (0x5412, 0x541C), but=True),
    # Only the question what it is.
    "personality": Condition(0, (0xFFFFFFFF,)),
    # Only the limits of the process that calls.
    "prlimit64": Condition(0, (0,)),
    "setpriority": Condition(1, (0,)),
    # Only the thread that calls: its worker would hardly run any more.
    "sched_setaffinity": Condition(0, (0,)),
    "sched_setparam": Condition(0, (0,)),
    "sched_setscheduler": Condition(0, (0,)),
    "sched_setattr": Condition(0, (0,)),
    # A pair of datagram sockets could send elsewhere, too.
    "socketpair": Condition(1, (socket.SOCK_STREAM,), 0xF, errno.EACCES),
}


def of_socket(*, internet: bool) -> Condition:
    """Families of sockets that `socket` may make."""
    families = (int(socket.AF_INET), int(socket.AF_INET6)) if internet else ()
    return Condition(0, families, error=errno.EACCES)


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of one machine.

    architecture : the kernel's name of its calling convention. seccomp, capset : calls with which a
        process confines itself. free, conditional, internet : allowed calls by name.
    """

    architecture: int
    seccomp: int
    capset: int
    free: dict[str, int]
    conditional: dict[str, int]
    internet: dict[str, int]


LANDLOCK = 444
"""`landlock_create_ruleset`, on both machines; `landlock_restrict_self` is 446."""


def _column(text: str, index: int) -> dict[str, int]:
    rows = [entry.split() for entry in text.replace("\n", " ").split(";") if entry.strip()]
    return {row[0]: int(row[index]) for row in rows if row[index] != "-"}


def _table(architecture: int, seccomp: int, capset: int, column: int) -> Table:
    free, conditional, internet = (_column(t, column) for t in (_FREE, _CONDITIONAL, _INTERNET))
    return Table(architecture, seccomp, capset, free, conditional, internet)


TABLES = {
    "x86_64": _table(0xC000003E, 317, 126, 1),
    "aarch64": _table(0xC00000B7, 277, 91, 2),
}
"""By machine."""
