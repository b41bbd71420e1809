"""`umbel demo`: a hierarchy of the shipped sample, over HTTP, as any client would make it.

Starts the service with its embedded Valkey in a separate folder, uploads logits of a real language
identifier, turns them into a hierarchy of languages, evaluates and draws it, and prints where the
files are.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from app.pictures.outline import outline
from umbel import floors

SAMPLE = Path(__file__).parent / "sample"


def demo(out: Path) -> None:
    """Run the demo; writes the tree, its pictures and its evaluation into `out`."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="umbel-demo-") as data_dir, service(data_dir) as url:
        print(f"The service runs at {url} ({time.perf_counter() - began:.1f} s)")
        with httpx.Client(base_url=url, timeout=90) as client:
            _show(client, out)
    print(f"\nDone in {time.perf_counter() - began:.1f} s.")
    print("Keep a service running:  make serve   (or: .venv/bin/umbel serve --data-dir my-data)")


@contextmanager
def service(data_dir: str, *options: str) -> Iterator[str]:
    """`umbel serve` on a free port with its data in `data_dir`; yields its address when ready.

    options : further ones of the command.

    Raises RuntimeError with what it printed if it is not ready within two minutes: a start takes
    seconds, but on a busy machine many times as long.
    """
    url_file = Path(data_dir) / "url"
    command = floors.command("app.cli", "serve", "--port", "0", "--data-dir", data_dir, *options)
    log = Path(data_dir) / "demo.log"
    with log.open("wb") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 120
        while not url_file.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the service did not start:\n{log.read_text()[-4000:]}")
            time.sleep(0.02)
        yield url_file.read_text().strip()
    finally:
        process.terminate()
        process.wait(timeout=20)


def _show(client: httpx.Client, out: Path) -> None:
    names = json.loads((SAMPLE / "names.json").read_text())
    logits = _upload(client, "logits.npy", "logits")
    labels = _upload(client, "labels.npy", "labels")
    families = _upload(client, "families.json", "labels")
    rows, classes = logits["shape"]
    print(f"Uploaded {rows:,} x {classes} logits of a language identifier ({logits['id']})")

    answer = _checked(
        client.post(
            "/v1/jobs",
            json={"method": "l2h", "inputs": {"logits": logits["id"], "names": names}},
        )
    )
    job = _follow(client, answer.json()["id"])
    if job["status"] != "succeeded":
        raise RuntimeError(f"the job failed: {job['error']}")
    for warning in job["warnings"]:
        print(f"  note: {warning}")
    tree_id = job["result"]["tree"]

    tree = _checked(client.get(f"/v1/trees/{tree_id}")).json()
    print(f"\nThe hierarchy, {tree['n_leaves']} languages, small branches on one line:\n")
    print(outline(tree["nodes"]))

    evaluation = _computed(client, f"/v1/trees/{tree_id}/evaluations", {"labels": labels["id"]})
    print("\nAgainst the true languages:")
    for name, value in evaluation["metrics"].items():
        if value is not None:
            print(f"  {name:<22} {value:.4f}")

    import numpy as np

    logits_array = np.load(SAMPLE / "logits.npy", mmap_mode="r")
    top = np.sort(np.asarray(logits_array, dtype=np.float64), axis=1)[:, -2:]
    picked = np.argsort(top[:, 1] - top[:, 0], kind="stable")[[20, 200, 600]].tolist()
    new = np.asarray(logits_array[picked], dtype=np.float64).tolist()
    placed = _computed(client, f"/v1/trees/{tree_id}/predictions", {"inputs": {"logits": new}})
    by_id = {node["id"]: node for node in tree["nodes"]}
    print("\nThree doubtful rows placed in it, and how sure each node on the path is:")
    for row, item in zip(picked, placed["items"], strict=True):
        steps = " > ".join(f"{p:.2f}" for p in item["probabilities"])
        print(f"  row {row}: {by_id[item['leaf']]['name']:<12} {steps}")

    out.mkdir(parents=True, exist_ok=True)
    print()
    query = {"shape": "circular", "color_by": families["id"], "title": "Languages by family"}
    for suffix, params in (
        ("nwk", {}),
        ("json", {}),
        ("svg", query),
        ("png", {**query, "px": "1600"}),
    ):
        answer = _checked(client.get(f"/v1/trees/{tree_id}.{suffix}", params=params))
        path = out / f"languages.{suffix}"
        path.write_bytes(answer.content)
        print(f"Wrote {path} ({len(answer.content):,} bytes)")


def _upload(client: httpx.Client, file: str, role: str) -> dict[str, Any]:
    media = "application/json" if file.endswith(".json") else "application/x-npy"
    answer = client.post(
        "/v1/datasets",
        params={"name": file, "role": role},
        headers={"Content-Type": media},
        content=(SAMPLE / file).read_bytes(),
    )
    return dict(_checked(answer).json())


def _computed(client: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """What is computed within a minute; a slow machine needs more than the service's own wait."""
    answer = _checked(client.post(path, json=body, headers={"Prefer": "wait=60"}))
    if answer.status_code != 200:
        raise RuntimeError(f"POST {path} takes longer than a minute: {answer.text}")
    return dict(answer.json())


def _follow(client: httpx.Client, job_id: str) -> dict[str, Any]:
    """Print the job's events until it ends; the whole job."""
    event = ""
    with client.stream("GET", f"/v1/jobs/{job_id}/events") as stream:
        for line in stream.iter_lines():
            if line.startswith("event:"):
                event = line.partition(":")[2].strip()
            elif line.startswith("data:"):
                data = json.loads(line.partition(":")[2])
                if event == "done":
                    print(f"\r  l2h {_bar(1.0)} {data['status']:<30}")
                    return dict(data)
                if event == "progress":
                    shown = f"{data['stage']} {data['message']}"[:30]
                    print(f"\r  l2h {_bar(data['fraction'])} {shown:<30}", end="", flush=True)
    return dict(_checked(client.get(f"/v1/jobs/{job_id}")).json())


def _bar(fraction: float, width: int = 30) -> str:
    done = round(fraction * width)
    return f"[{'#' * done}{'.' * (width - done)}] {fraction:4.0%}"


def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.is_error:
        raise RuntimeError(f"{answer.request.method} {answer.request.url}: {answer.text}")
    return answer
