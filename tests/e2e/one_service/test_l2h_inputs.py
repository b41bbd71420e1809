"""Inputs of `l2h` besides plain logits, over HTTP: probabilities, best classes, an earlier job."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from tests.e2e.client import Api, npy


@pytest.fixture(scope="module")
def logits() -> np.ndarray:
    rng = np.random.default_rng(5)
    group = np.arange(12)
    affinity = 3.0 * np.eye(12) + 1.5 * (group[:, None] // 3 == group[None, :] // 3)
    label = rng.integers(12, size=3000)
    return (affinity[label] + rng.normal(size=(3000, 12))).astype(np.float32)


def newick(api: Api, job: dict[str, Any]) -> str:
    assert job["status"] == "succeeded", job
    return api.client.get(f"/v1/trees/{job['result']['tree']}.nwk").text


@pytest.fixture
def plain(api: Api, logits: np.ndarray) -> str:
    return newick(api, api.run("l2h", {"logits": api.upload(npy(logits), role="logits")}))


def test_probabilities_and_their_logarithms(api: Api, logits: np.ndarray, plain: str) -> None:
    wide = logits.astype(np.float64)
    probs = np.exp(wide) / np.exp(wide).sum(axis=1, keepdims=True)
    for kind, values in (("probs", probs), ("log_probs", np.log(probs))):
        dataset = api.upload(npy(values), role="logits")
        assert newick(api, api.run("l2h", {"logits": dataset}, params={"input": kind})) == plain


def test_bfloat16(api: Api, logits: np.ndarray) -> None:
    bits = (logits.view(np.uint32) >> 16).astype(np.uint16)
    header = save({"logits": bits}).replace(b'"U16"', b'"BF16"', 1)
    size = int.from_bytes(header[:8], "little") + 1
    content = size.to_bytes(8, "little") + header[8:]
    short = (bits.astype(np.uint32) << 16).view(np.float32)
    job = api.run(
        "l2h", {"logits": api.upload(content, media="application/safetensors", role="logits")}
    )
    same = api.run("l2h", {"logits": api.upload(npy(short), role="logits")})
    assert newick(api, job) == newick(api, same)


def test_only_the_best_classes(api: Api, logits: np.ndarray, plain: str) -> None:
    best = np.argsort(-logits, axis=1)
    for k, exact in ((12, True), (2, False)):
        top = np.ascontiguousarray(best[:, :k])
        job = api.run(
            "l2h",
            {
                "logits": api.upload(npy(np.take_along_axis(logits, top, axis=1)), role="logits"),
                "top_classes": api.upload(npy(top)),
            },
        )
        text = newick(api, job)
        n_open = job["result"]["metrics"]["n_undecided_merges"]
        assert (n_open == 0) is exact
        assert any("are given of each row" in warning for warning in job["warnings"]) is not exact
        if exact:
            assert text == plain


def test_growing_from_an_earlier_job(api: Api, logits: np.ndarray, plain: str) -> None:
    params = {"growable": True}
    first = api.run("l2h", {"logits": api.upload(npy(logits[:2000]), role="logits")}, params=params)
    second = api.run(
        "l2h", {"logits": logits[2000:2010].tolist(), "base": first["id"]}, params=params
    )
    rest = api.upload(npy(logits[2010:]), role="logits")
    third = api.run("l2h", {"logits": rest, "base": second["id"]})
    assert newick(api, third) == plain
    tree = api.client.get(f"/v1/trees/{third['result']['tree']}").json()
    assert tree["n_points"] == 3000


def test_an_invalid_base_is_refused(api: Api, logits: np.ndarray) -> None:
    dataset = api.upload(npy(logits), role="logits")
    for base, words in (("job_" + "0" * 26, "there is no job"), ([1, 2], "give its id")):
        answer = api.client.post(
            "/v1/jobs", json={"method": "l2h", "inputs": {"logits": dataset, "base": base}}
        )
        assert answer.status_code == 422
        assert words in answer.text
    plain_job = api.run("l2h", {"logits": dataset})
    job = api.run("l2h", {"logits": dataset, "base": plain_job["id"]})
    assert job["status"] == "failed"
    assert "growable" in job["error"]["detail"]
