"""The answer of work whose result is a dataset."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Response

from app.creation.creation import Submission
from app.http import threads
from app.http.addresses import address
from app.http.etags import answer
from app.http.problems import not_found
from app.resources.datasets.schemas import DatasetBody
from workers.model import Record, sibling


async def made_dataset(
    submission: Submission, done: Record, headers: Mapping[str, str]
) -> Response:
    """The dataset that a job has made, with its address. Raises Refused `not-found`."""
    service, tenant = submission.service, submission.tenant
    dataset_id = sibling(done.id, "ds")
    dataset = await threads.run_sync(service.datasets.get, tenant, dataset_id)
    if dataset is None:
        raise not_found("dataset", dataset_id)
    location = {"Location": address(submission.request, f"/v1/datasets/{dataset_id}")}
    body = DatasetBody.of(dataset)
    return answer(submission.request, body, status=201, headers={**location, **headers})
