"""The API client of the tests over HTTP."""

from __future__ import annotations

import io
import time
from typing import Any

import httpx
import numpy as np
import numpy.typing as npt

from tests.e2e.conftest import PATIENCE_S

ENDED = ("succeeded", "failed", "cancelled")


def npy(array: npt.NDArray[Any]) -> bytes:
    """The bytes of a .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


class Api:
    """A running service and the steps that many tests share."""

    def __init__(self, client: httpx.Client, workers: int = 2) -> None:
        self.client = client
        self.workers = workers

    def post_dataset(
        self,
        content: bytes,
        *,
        media: str = "application/x-npy",
        role: str | None = None,
        **query: str,
    ) -> httpx.Response:
        params = {**query, **({"role": role} if role else {})}
        return self.client.post(
            "/v1/datasets", params=params, content=content, headers={"Content-Type": media}
        )

    def upload(self, content: bytes, **options: Any) -> str:
        """Upload content and wait for its inspection; the id of the dataset."""
        answer = self.post_dataset(content, **options)
        assert answer.status_code == 201, answer.text
        dataset = self.inspected(answer.json())
        assert dataset["status"] == "ready", dataset
        return str(dataset["id"])

    def inspected(self, dataset: dict[str, Any], timeout: float = PATIENCE_S) -> dict[str, Any]:
        deadline = time.monotonic() + timeout
        while dataset["status"] == "inspecting":
            assert time.monotonic() < deadline, dataset
            time.sleep(0.05)
            dataset = self.client.get(f"/v1/datasets/{dataset['id']}").json()
        return dataset

    def run(self, method: str, inputs: dict[str, Any], **fields: Any) -> dict[str, Any]:
        """Submit a job, wait for its end and return it."""
        answer = self.client.post(
            "/v1/jobs",
            json={"method": method, "inputs": inputs, **fields},
            headers={"Prefer": "wait=30"},
        )
        assert answer.status_code in (201, 202), answer.text
        return self.ended(answer.json()["id"])

    def ended(self, job_id: str, timeout: float = PATIENCE_S) -> dict[str, Any]:
        deadline = time.monotonic() + timeout
        while True:
            job = self.client.get(f"/v1/jobs/{job_id}").json()
            if job["status"] in ENDED:
                return dict(job)
            assert time.monotonic() < deadline, job
            time.sleep(0.03)

    def count(self, resource: str) -> int:
        items, cursor = 0, None
        while True:
            query = {"limit": 200, **({"cursor": cursor} if cursor else {})}
            page = self.client.get(f"/v1/{resource}", params=query).json()
            items += len(page["items"])
            cursor = page["next_cursor"]
            if cursor is None:
                return items

    def long_job(self) -> dict[str, Any]:
        """The request of a job that computes for many seconds inside one C call."""
        if not hasattr(self, "_points"):
            rng = np.random.default_rng(0)
            self._points = self.upload(npy(rng.normal(size=(12_000, 64))), role="features")
        return {
            "method": "hac",
            "inputs": {"features": self._points},
            "params": {"linkage": "average"},
        }
