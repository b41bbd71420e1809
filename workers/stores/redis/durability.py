"""Whether a Redis can be used, and whether it would lose data that it has accepted.

The store is the truth, so what Redis loses is rebuilt; but a Redis that forgets keys while it runs
drops records of running jobs, and one that writes nothing down makes every restart a rebuild.
"""

from __future__ import annotations

from contextlib import suppress
from typing import cast

import redis
from redis.exceptions import ResponseError

from workers.errors import FatalError, StoreUnavailable
from workers.stores.redis.client import connect, translated

_CLUSTER = (
    "UMBEL_REDIS_URL names a node of a Redis Cluster, where one step cannot change keys of several "
    "slots, as every step of a job does. Use one primary with cluster-enabled no: alone, with "
    "replicas, or with Sentinel (sentinel://...)."
)


def refuse_cluster(url: str) -> None:
    """Raises FatalError, whose text is for the operator, for a node of a Redis Cluster.

    A server that does not answer now passes: `risks` names it when it does.
    """
    with suppress(StoreUnavailable, ResponseError), connect(url) as client:
        if _is_cluster(client):
            raise FatalError(_CLUSTER)


def _is_cluster(client: redis.Redis) -> bool:
    with translated():
        return bool(int(client.info("cluster").get("cluster_enabled", 0)))


def risks(client: redis.Redis) -> tuple[str, ...]:
    """What its settings may lose, a sentence each. Raises StoreUnavailable.

    A hosted Redis may refuse CONFIG; then what INFO does not say is not judged.
    """
    with translated():
        info = client.info("memory")
        info |= client.info("persistence")
        try:
            sync = cast("dict[str, str]", client.config_get("appendfsync")).get("appendfsync")
        except ResponseError:
            sync = None
    sentences = [_CLUSTER] if _is_cluster(client) else []
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        sentences.append(
            f"maxmemory-policy is {policy}: when its memory is full Redis forgets jobs. "
            "Set it to noeviction."
        )
    if not int(info.get("aof_enabled", 1)):
        sentences.append(
            "appendonly is off: a restart of Redis loses all records, which are then rebuilt from "
            "the store. Set it to yes."
        )
    elif sync == "no":
        sentences.append(
            "appendfsync is no: a crash of Redis's machine loses the records of the last half "
            "minute. Set it to always or everysec."
        )
    return tuple(sentences)
