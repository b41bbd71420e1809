"""The GPU path of L2H: the time to list rows on the device, and the total time of a scan.

On the device: the array is in its memory, times are by the device's clock, and one read is torch's
maximum over the array as 32-bit integers. In total: the memory-mapped file is in the page cache,
times are wall time, and the time of the transfer alone shows how much listing adds.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench import OUT, Size, gpu_fits, gpu_steps, synthetic
from bench.l2h import Case
from bench.report import Report
from models.inputs.rows import ArrayRows
from models.methods.logits.merging import block_lists, pass_gpu, row_digest
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.row_digest import Digest
from models.registry import method, methods
from models.running.progress import silent

CASES: dict[Size, tuple[Case, ...]] = {
    "quick": (Case(60_000, 1_000), Case(60_000, 1_000, "float16")),
    "default": (
        Case(480_000, 1_000),
        Case(480_000, 1_000, "float16"),
        Case(120_000, 1_000, "float64"),
        Case(480_000, 100),
        Case(60_000, 10_000),
    ),
    "full": (Case(1_281_167, 1_000), Case(1_281_167, 1_000, "float16")),
}
OF_INTEREST = (*("l2h", "turtle", "temi", "ghhc", "hyphc", "vmf", "bvmf", "deepect", "treevae"),)
"""Methods whose arithmetic a GPU could do."""
RUNS = 9
THREADS = 8
"""Threads that read the file for the GPU, and that scan it without one."""
GOAL = 5.0
"""The goal for listing rows on the device, in reads of the array, for the first case."""


def table(report: Report, size: Size) -> None:
    """Times on the device in "gpu_device", of whole scans in "gpu_scan", the goal in "gpu_goals".

    Columns: `reads` time relative to one read; `same_rows` rows with the same class and list as
    without a GPU; `transfers` time relative to the transfer alone.
    """
    _served(report)
    gpu_steps.table(report, size)
    gpu_fits.table(report, size)
    if not torch.cuda.is_available():
        report.note("gpu_device", "No GPU here: these arrays were not measured.")
        for case in CASES[size]:
            report.row(
                "gpu_planned",
                n=case.n_points,
                k=case.n_classes,
                dtype=case.dtype,
                logits_bytes=case.n_bytes,
            )
        return
    report.note("gpu_device", f"{torch.cuda.get_device_name()}, torch {torch.__version__}.")
    OUT.mkdir(exist_ok=True)
    reads = []
    with tempfile.TemporaryDirectory(prefix="logits-", dir=OUT) as folder:
        for case in CASES[size]:
            path = Path(folder) / "logits.npy"
            synthetic.write(path, case.n_points, case.n_classes, case.dtype)
            matrix = LogitMatrix(ArrayRows(np.load(path, mmap_mode="r")))
            reads.append(_on_device(report, case, matrix))
            _whole(report, case, matrix)
            path.unlink()
    report.heading(f"gpu: goals, on {CASES[size][0]}")
    report.row(
        "gpu_goals",
        what="listing / one read, on the device",
        value=reads[0],
        goal=f"at most {GOAL:g}",
        met=reads[0] <= GOAL,
    )


def _served(report: Report) -> None:
    """Which methods have a parameter `device`, in "gpu_methods"."""
    for name, used in sorted(methods().items()):
        if "cuda" in used.devices:
            report.row("gpu_methods", what=name, devices=", ".join(used.devices))
    lacking = [name for name in OF_INTEREST if "cuda" not in method(name).devices]
    report.note("gpu_methods", f"Without a device: {', '.join(lacking) or 'none'}.")


def _on_device(report: Report, case: Case, matrix: LogitMatrix) -> float:
    """The time of the fastest listing of the rows, in reads of the array."""
    x = torch.from_numpy(np.array(matrix.rows.read(0, case.n_points))).to("cuda")
    n_rows = pass_gpu.block_rows(matrix, "cuda")
    arguments = min(row_digest.LISTED, case.n_classes - 1), matrix.scale, *pass_gpu.bounds(matrix)

    def all_of_it(listed: Callable[..., block_lists.BlockLists]) -> None:
        for block in x.split(n_rows):
            listed(block, *arguments)

    read_ms = _device_ms(lambda: x.view(-1).view(torch.int32).amax())
    ways = {
        "one read": read_ms,
        "listing, in passes": _device_ms(lambda: all_of_it(block_lists.listed)),
    }
    quickest = pass_gpu.quickest(x)
    if quickest is not block_lists.listed:
        ways["listing, fused"] = _device_ms(lambda: all_of_it(quickest))
    for what, took in ways.items():
        report.row(
            "gpu_device",
            n=case.n_points,
            k=case.n_classes,
            dtype=case.dtype,
            what=what,
            device_ms=took,
            gb_per_s=case.n_bytes / took / 1e6,
            reads=took / read_ms,
            runs=RUNS,
        )
    return took / read_ms


def _whole(report: Report, case: Case, matrix: LogitMatrix) -> None:
    n = case.n_points
    transfer_s, _ = _wall_s(lambda: _transfer(case, pass_gpu.block_rows(matrix, "cuda")))
    gpu_s, gpu = _wall_s(lambda: pass_gpu.scan(matrix, 0, n, "cuda", silent, THREADS))
    cpu_s, cpu = _wall_s(lambda: row_digest.scan(matrix, 0, n, THREADS, silent))
    for what, wall_s, digest in (
        ("transfer", transfer_s, None),
        ("scan, GPU", gpu_s, gpu),
        (f"scan, {THREADS} threads", cpu_s, cpu),
    ):
        report.row(
            "gpu_scan",
            n=n,
            k=case.n_classes,
            dtype=case.dtype,
            what=what,
            wall_s=wall_s,
            gb_per_s=case.n_bytes / wall_s / 1e9,
            transfers=wall_s / transfer_s,
            same_rows=digest and _same_rows(digest, cpu),
        )


def _transfer(case: Case, n_rows: int) -> None:
    """Copy as many bytes as the array has from page-locked memory to the device, in blocks."""
    n_bytes = n_rows * case.n_bytes // case.n_points
    here = torch.empty(n_bytes, dtype=torch.uint8, pin_memory=True)
    buffer = torch.empty(n_bytes, dtype=torch.uint8, device="cuda")
    for _ in range(case.n_points // n_rows):
        buffer.copy_(here, non_blocking=True)
    rest = case.n_points % n_rows * n_bytes // n_rows
    buffer[:rest].copy_(here[:rest], non_blocking=True)
    torch.cuda.synchronize()


def _same_rows(a: Digest, b: Digest) -> int:
    return int(((a.label == b.label) & (a.listed == b.listed).all(axis=1)).sum())


def _device_ms(work: Callable[[], Any]) -> float:
    """Median over runs after two warm-up runs, in ms by the device's events."""
    times = []
    for _ in range(RUNS + 2):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times[2:])


def _wall_s(work: Callable[[], Any]) -> tuple[float, Any]:
    """Median seconds of three runs after a warm-up run, and the result of the last."""
    times = []
    for _ in range(4):
        began = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:]), result
