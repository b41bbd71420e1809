"""The main job by the client that openapi-python-client generates, named `generated_client` here.

Usage: main_job.py URL LOGITS.npy. Prints the Newick text and the number of clusters.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

from generated_client import AuthenticatedClient
from generated_client.api.datasets import create_dataset
from generated_client.api.jobs import create_job
from generated_client.api.trees import get_assignments, get_tree_as
from generated_client.models.assignments import Assignments
from generated_client.models.create_dataset_role import CreateDatasetRole
from generated_client.models.dataset import Dataset
from generated_client.models.get_tree_as_form import GetTreeAsForm
from generated_client.models.inputs import Inputs
from generated_client.models.job import Job
from generated_client.models.l2h_job import L2HJob
from generated_client.models.l2h_params import L2HParams
from generated_client.models.l2h_params_aggregation import L2HParamsAggregation
from generated_client.types import File, Unset


def main(url: str, path: str) -> None:
    client = AuthenticatedClient(base_url=url, token="none", timeout=None)
    file = File(payload=BytesIO(Path(path).read_bytes()))
    dataset = create_dataset.sync(client=client, body=file, role=CreateDatasetRole.LOGITS)
    assert isinstance(dataset, Dataset), dataset
    inputs = Inputs.from_dict({"logits": dataset.id, "names": ["rose", "cat", "dog"]})
    body = L2HJob(
        method="l2h", inputs=inputs, params=L2HParams(aggregation=L2HParamsAggregation.MEAN_SUM)
    )
    job = create_job.sync(client=client, body=body, prefer="wait=60")
    assert isinstance(job, Job), job
    assert job.status == "succeeded", job.error
    assert job.result is not None
    tree = job.result.tree
    assert not isinstance(tree, Unset)
    newick = get_tree_as.sync(tree, GetTreeAsForm.NWK, client=client)
    assert isinstance(newick, str), newick
    cut = get_assignments.sync(tree, client=client, k=2)
    assert isinstance(cut, Assignments), cut
    print(newick.strip(), len(cut.clusters))


if __name__ == "__main__":
    main(*sys.argv[1:])
