"""`Prefer: dedupe`: an upload that the tenant has already is answered with that dataset."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Header

from app.http.dependencies import Service
from app.http.keyring import Access
from workers.artifacts.datasets import Dataset
from workers.settings import of_tenant

Prefer = Annotated[
    str | None,
    Header(
        description="`dedupe`: if a dataset of the caller has the same content, name, role, member "
        "and n_features, and expires no earlier, answer with that one (200 and "
        "`Preference-Applied`), and store nothing.",
        examples=["dedupe"],
    ),
]

APPLIED = {"Preference-Applied": "dedupe"}


def wanted(prefer: str | None) -> bool:
    """Whether a `Prefer` header asks for it; other preferences are ignored, as in RFC 7240."""
    preferences = (prefer or "").split(",")
    return any(each.partition(";")[0].strip().lower() == "dedupe" for each in preferences)


def earlier(service: Service, dataset: Dataset, caller: Access) -> Dataset | None:
    """The dataset that a new one of the caller would only repeat; blocks.

    Where the service removes datasets by age, only one whose time is not half over will do: whoever
    uploads now counts on having it for a while.
    """
    days = of_tenant(service.settings.keep_datasets_days, dataset.tenant)
    after = None if days is None else datetime.now(UTC) - timedelta(days=days / 2)
    return service.datasets.same(dataset, after, caller.reach)
