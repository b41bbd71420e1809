"""Jobs on inputs in the object store: which are streamed, and which are downloaded."""

from __future__ import annotations

import io
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from models.clusters import lloyd
from models.inputs.data import Data
from models.inputs.oddities import ANY_FAR, MIDDLE, SPREAD
from models.inputs.rows import ArrayRows, Rows
from models.methods.logits.l2h import L2H
from models.methods.partitions.mixtures import gaussian_rows, multinomial_rows, topic_rows
from models.registry import methods
from tests.workers.child.process_kit import child_pool
from tests.workers.conftest import Server
from tests.workers.formats.files_kit import bfloat16, bfloat16_file
from tests.workers.jobs_kit import request
from tests.workers.supervisor.inputs_kit import StoredInputs
from workers.assembly import Assembly, assemble
from workers.child.run import run
from workers.model import Request, sibling
from workers.settings import WorkerSettings
from workers.supervisor.supervisor import Supervisor
from workers.work.job import Spec
from workers.work.remote_rows import RemoteRows
from workers.work.sources import Source, of_role, values_of

LOGITS = np.random.default_rng(3).normal(size=(300, 6)).astype(np.float32) * 4
SECRET = "X-Amz-Signature"


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


BFLOAT16 = bfloat16(LOGITS)
COUNTS = np.random.default_rng(1).poisson(2.0, size=(120, 7)).astype(np.float32)
UNIT = LOGITS[:120] / np.linalg.norm(LOGITS[:120], axis=1, keepdims=True)
CONTENTS = {
    "npy": npy(LOGITS),
    "unit": npy(UNIT),
    "counts": npy(COUNTS),
    "fortran": npy(np.asfortranarray(LOGITS)),
    "safetensors": save({"x": LOGITS}),
    "bfloat16": bfloat16_file(BFLOAT16),
    "csv": "\n".join(",".join(map(repr, row)) for row in LOGITS.tolist()).encode(),
}
FORMAT = {"unit": "npy", "counts": "npy", "fortran": "npy", "bfloat16": "safetensors"}


@pytest.fixture
def settings(settings: WorkerSettings, s3_endpoint: str) -> WorkerSettings:
    """Settings of an S3 store that streams objects of any size."""
    url = f"s3://umbel-tests/{secrets.token_hex(8)}"
    more = {"store_url": url, "s3_endpoint": s3_endpoint, "stream_bytes": 1}
    return settings.model_copy(update=more)


@pytest.fixture
def stored(assembly: Assembly, tmp_path: Path) -> StoredInputs:
    folder = tmp_path / "inputs"
    folder.mkdir()
    return StoredInputs(assembly, folder)


def dataset(stored: StoredInputs, kind: str, **facts: Any) -> str:
    return stored.dataset(CONTENTS[kind], format=FORMAT.get(kind, kind), **facts)


def fit(method: str = "l2h", **inputs: Any) -> Request:
    return request(method=method, params={}, inputs=inputs)


def cached(settings: WorkerSettings) -> list[Path]:
    folder = settings.scratch_dir / "cache"
    return list(folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("kind", ["npy", "safetensors", "bfloat16"])
def test_inputs_read_by_rows_are_not_downloaded(
    kind: str, stored: StoredInputs, settings: WorkerSettings
) -> None:
    assert L2H.inputs["logits"].by_rows
    spec = stored.prepared(fit(logits=dataset(stored, kind)))
    source = of_role(spec.sources, "logits")
    assert source.link is not None
    assert source.path is None
    assert source.n_bytes == len(CONTENTS[kind])
    assert SECRET in source.link.url
    assert SECRET not in repr(spec)
    assert Spec.model_validate_json(spec.model_dump_json()) == spec
    outcome = run(spec, lambda _: None)
    assert outcome.error is None
    assert cached(settings) == []


@pytest.mark.parametrize("kind", ["fortran", "csv"])
def test_files_that_cannot_be_streamed_are_downloaded(kind: str, stored: StoredInputs) -> None:
    spec = stored.prepared(fit(logits=dataset(stored, kind)))
    source = of_role(spec.sources, "logits")
    assert source.link is None
    assert source.file.read_bytes() == CONTENTS[kind]
    assert source.n_bytes == len(CONTENTS[kind])
    outcome = run(spec, lambda _: None)
    assert outcome.error is None


def test_small_objects_are_downloaded(stored: StoredInputs, settings: WorkerSettings) -> None:
    settings = settings.model_copy(update={"stream_bytes": len(CONTENTS["npy"])})
    stored = StoredInputs(assemble(settings, lambda *_: None), stored._folder)
    source = of_role(stored.prepared(fit(logits=dataset(stored, "npy"))).sources, "logits")
    assert source.link is None
    assert source.file.read_bytes() == CONTENTS["npy"]


def test_a_method_that_does_not_read_by_rows_never_sees_rows(stored: StoredInputs) -> None:
    dense_inputs = [
        (method.id, role)
        for method in methods().values()
        for role, described in method.inputs.items()
        if not described.by_rows and role in ("logits", "features", "distances")
    ]
    assert dense_inputs
    content = {kind: dataset(stored, kind) for kind in ("npy", "bfloat16")}
    for method_id, role in dense_inputs:
        for kind, dataset_id in content.items():
            spec = stored.prepared(fit(method_id, **{role: dataset_id}))
            assert of_role(spec.sources, role).link is None
            value = values_of(spec.sources)[role]
            assert isinstance(value, np.ndarray), (method_id, role, kind)
            assert value.dtype == np.float32
    fitted, _ = stored.finished()
    options = {"tree": sibling(fitted.id, "tr")}
    evaluation = request(kind="evaluate", inputs={"logits": content["npy"]}, options=options)
    assert of_role(stored.prepared(evaluation).sources, "logits").link is None


def test_a_prediction_reads_by_rows_as_the_method_does(stored: StoredInputs) -> None:
    fitted, _ = stored.finished()
    options = {"tree": sibling(fitted.id, "tr")}
    rows = stored.dataset(npy(np.eye(3)), format="npy")
    spec = stored.prepared(request(kind="predict", inputs={"logits": rows}, options=options))
    assert of_role(spec.sources, "logits").link is not None
    assert isinstance(values_of(spec.sources, but=("tree",))["logits"], RemoteRows)
    outcome = run(spec, lambda _: None)
    assert outcome.result is not None
    assert outcome.result["predictions"] == {"n_rows": 3}


ALONE = sorted(
    (name, role)
    for name, each in methods().items()
    for role in ("features", "logits")
    if role in each.inputs
    and each.inputs[role].by_rows
    and not {other for other, given in each.inputs.items() if given.required} - {role}
    and not each.needs
)
"""Methods that read by rows and need no other input, with the role."""

FEW = {
    "bvmf": {"n_init": 1, "max_iter": 3, "burn_in": 2, "n_samples": 2},
    "hvmf": {"n_init": 1, "max_iter": 3},
    "lda": {"max_iter": 3},
}
"""Parameters by which rows are read a few times and not some hundred times."""


@pytest.mark.parametrize(("name", "role"), ALONE)
def test_rows_of_the_store_give_the_fit_of_local_rows(
    name: str, role: str, stored: StoredInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Larger than what a method reads at once.
    for module in (lloyd, gaussian_rows, multinomial_rows, topic_rows):
        monkeypatch.setattr(module, "WHOLE", 1)
    kind, local = ("counts", COUNTS) if name in ("lda", "multinomial") else ("unit", UNIT)
    spec = stored.prepared(fit(name, **{role: dataset(stored, kind)}))
    remote = values_of(spec.sources)[role]
    assert isinstance(remote, RemoteRows)
    method = methods()[name]
    params = method.Params.model_validate({**method.example, **FEW.get(name, {})})
    far, near = (method.fit(Data({role: rows}), params) for rows in (remote, ArrayRows(local)))
    assert far.tree.leaf_of_point.tolist() == near.tree.leaf_of_point.tolist()
    assert far.tree.height.tolist() == near.tree.height.tolist()
    assert far.metrics == pytest.approx(near.metrics, nan_ok=True, rel=0, abs=0)
    if near.model is not None:
        # Rows of which every reading is a download are not searched for far ones.
        for array in near.model.arrays.keys() - {MIDDLE, SPREAD, ANY_FAR}:
            np.testing.assert_array_equal(far.model.arrays[array], near.model.arrays[array])


@pytest.mark.parametrize("kind", ["npy", "fortran", "safetensors", "bfloat16"])
def test_a_local_file_read_by_rows(kind: str, stored: StoredInputs, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(CONTENTS[kind])
    where = {"kind": "dataset", "path": tmp_path / "x", "format": FORMAT.get(kind, kind)}
    source = Source(role="logits", by_rows=True, **where)  # type: ignore[arg-type]
    spec = Spec(request=fit(logits="ds_x"), sources=(source,), folder=tmp_path)
    rows = values_of(spec.sources)["logits"]
    assert isinstance(rows, Rows)
    assert rows.bfloat16 == (kind == "bfloat16")
    expected = LOGITS
    if kind == "bfloat16":
        expected = (BFLOAT16.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(rows.values(0, 300), expected)


def test_an_inspection_reads_no_more_than_the_header(
    stored: StoredInputs, settings: WorkerSettings
) -> None:
    inspected = dataset(stored, "bfloat16", status="inspecting")
    spec = stored.prepared(request(kind="inspect", inputs={}, options={"dataset": inspected}))
    outcome = run(spec, lambda _: None)
    assert outcome.result == {"dataset": {"shape": [300, 6], "dtype": "bfloat16"}}
    assert cached(settings) == []


def test_an_object_deleted_before_its_job_reads_it(stored: StoredInputs) -> None:
    logits = dataset(stored, "npy")
    spec = stored.prepared(fit(logits=logits))
    stored.parts.datasets.delete("ada", logits)
    outcome = run(spec, lambda _: None)
    assert outcome.error is not None
    assert outcome.error["type"] == "/problems/input-deleted"
    assert outcome.error["where"] == {"role": "logits"}
    assert SECRET not in outcome.model_dump_json()
    assert stored.refused(fit(logits=logits)).code == "input-deleted"


@pytest.fixture
def supervisor(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> Iterator[Supervisor]:
    scratch = tmp_path / "scratch" / "w"
    scratch.mkdir(parents=True)
    with child_pool(0, threads=1) as pool:
        yield Supervisor(settings, assembly, pool, scratch=scratch, threads=1, worker="w")


def test_a_job_on_s3_makes_no_local_copy(
    supervisor: Supervisor, stored: StoredInputs, settings: WorkerSettings, valkey: Server
) -> None:
    parts = stored.parts
    parents = []
    for kind in ("npy", "safetensors"):
        job = fit(logits=dataset(stored, kind))
        parts.ledger.submit(job, {})
        supervisor.run(job.id)
        record = parts.ledger.get("ada", job.id)
        assert record is not None
        assert record.status == "succeeded", record.error
        assert cached(settings) == []
        tree = parts.trees.load("ada", sibling(job.id, "tr"))
        assert tree is not None
        parents.append(tree.parent.tolist())
        for file in cached(settings):
            file.unlink()
    assert parents[0] == parents[1]
    # Nothing that outlives the job contains the address: no object, no command sent to Redis.
    stored_bytes = [parts.blobs.get(key) for key in parts.blobs.keys("")]
    stored_bytes += [file.read_bytes() for file in valkey.folder.rglob("*.aof")]
    assert len(stored_bytes) > 8
    assert any(job.id.encode() in content for content in stored_bytes)
    assert all(SECRET.encode() not in content for content in stored_bytes)
