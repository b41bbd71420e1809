"""The clients of the three kinds of buckets, and which variables hold their credentials.

Everything but this is the same for all of them: `bucket.BucketBlobs`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from workers.errors import FatalError

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

    Store = S3Store | GCSStore | AzureStore

_RETRIES: RetryConfig = {
    "max_retries": 2,
    "retry_timeout": timedelta(seconds=5),
    "backoff": {
        "init_backoff": timedelta(milliseconds=100),
        "max_backoff": timedelta(seconds=1),
        "base": 2,
    },
}


@dataclass(frozen=True, slots=True)
class Cloud:
    """A kind of bucket.

    open : its client; takes the bucket, the prefix and the options. at : the options that name an
    endpoint. credentials : the variables of the environment that hold them, for messages. account :
    the variable without which a bucket has no address, "" where there is none.
    """

    open: Callable[..., Store]
    at: Callable[[str], Mapping[str, Any]]
    credentials: str
    account: str = ""


CLOUDS: Mapping[str, Cloud] = {
    "s3": Cloud(
        S3Store,
        lambda endpoint: {"endpoint": endpoint, "virtual_hosted_style_request": False},
        "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, or the role of the machine",
    ),
    "gs": Cloud(
        GCSStore,
        lambda endpoint: {"base_url": endpoint},
        "GOOGLE_SERVICE_ACCOUNT or GOOGLE_APPLICATION_CREDENTIALS, or the machine's account",
    ),
    "az": Cloud(
        AzureStore,
        lambda endpoint: {"endpoint": endpoint},
        "AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_KEY or an "
        "identity (AZURE_CLIENT_ID, ...)",
        "AZURE_STORAGE_ACCOUNT_NAME",
    ),
}
"""By the scheme of `UMBEL_STORE_URL`."""


def open_bucket(scheme: str, bucket: str, prefix: str, endpoint: str | None) -> Store:
    """The client of a bucket. It does not connect.

    Raises FatalError, whose text is for the operator, where the environment has no account or what
    cannot be a credential. The text has no value of a variable.
    """
    cloud = CLOUDS[scheme]
    if cloud.account and not os.environ.get(cloud.account):
        raise FatalError(f"{scheme}://{bucket} needs {cloud.account} in the environment")
    options: ClientConfig = {
        "allow_http": endpoint is not None and endpoint.startswith("http://"),
        "connect_timeout": "2s",
        "read_timeout": "10s",
        "timeout": "1h",
    }
    try:
        return cloud.open(
            bucket,
            prefix=prefix or None,
            **(cloud.at(endpoint) if endpoint else {}),
            client_options=options,
            retry_config=_RETRIES,
        )
    except (BaseError, OSError, ValueError) as error:
        raise FatalError(
            f"{scheme}://{bucket} cannot be opened with the credentials of the environment "
            f"({cloud.credentials}): {type(error).__name__}"
        ) from None


def place_of(scheme: str, bucket: str, prefix: str, endpoint: str | None) -> str:
    """What tells this place from every other: its address, and the endpoint or account."""
    account = CLOUDS[scheme].account
    where = endpoint or (os.environ.get(account) if account else None)
    return f"{scheme}://{bucket}/{prefix}" + (f"?{where}" if where else "")
