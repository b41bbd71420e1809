"""Hints to the workers that a job waits: messages of Celery on its queues, lists in Redis.

They are written here as Celery would write them, so that the API need not load it. A hint may be
lost or come twice; the record of its job decides.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from workers.settings import WorkerSettings
from workers.stores.redis.client import connect

RUN = "umbel.run"
"""Name of the one task; its one argument is the job's id."""

QUEUES = ("cpu", "gpu")

_ANSWER_S = 0.5


def sender(settings: WorkerSettings) -> Callable[[str, str], None]:
    """send(queue, job id) for a `Ledger`: puts a hint on the queue, or raises.

    Fails within milliseconds where Redis refuses, within two seconds where it is silent.
    """
    client = connect(settings.redis_url, answer_s=_ANSWER_S)

    def send(queue: str, job_id: str) -> None:
        client.lpush(f"{settings.key_prefix}queue:{queue}", message(queue, job_id))

    return send


def message(queue: str, job_id: str) -> str:
    """The hint as the broker keeps it: kombu's envelope around Celery's task."""
    hint_id = str(uuid4())
    body = [[job_id], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}]
    return json.dumps(
        {
            "body": base64.b64encode(json.dumps(body).encode()).decode(),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": {
                "lang": "py",
                "task": RUN,
                "id": hint_id,
                "root_id": hint_id,
                "parent_id": None,
                "group": None,
                "argsrepr": repr([job_id]),
                "kwargsrepr": "{}",
                "retries": 0,
                "timelimit": [None, None],
                "eta": None,
                "expires": None,
                "ignore_result": True,
            },
            "properties": {
                "correlation_id": hint_id,
                "reply_to": "",
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": queue},
                "priority": 0,
                "body_encoding": "base64",
                "delivery_tag": str(uuid4()),
            },
        }
    )


def is_hint(value: Any) -> bool:
    """Whether `value`, parsed JSON, is like `message`: kombu's envelope around the task `RUN` with
    one job's id."""
    try:
        properties, headers = value["properties"], value["headers"]
        (job_id,), named, _ = json.loads(base64.b64decode(value["body"], validate=True))
        texts = (job_id, headers["id"], properties["delivery_tag"])
        return (
            headers["task"] == RUN
            and value["content-type"] == "application/json"
            and value["content-encoding"] == "utf-8"
            and properties["body_encoding"] == "base64"
            and isinstance(properties["delivery_info"], dict)
            and named == {}
            and all(isinstance(text, str) for text in texts)
        )
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return False
