"""A job's record from the fields of its hash in Redis."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from workers.errors import worker_lost
from workers.model import Advance, Annotation, MethodStep, Pause, Record, Retry, Retrying, Webhook

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def record_of(fields: Mapping[str, str], pauses: Mapping[str, str] | None = None) -> Record | None:
    """A record from the fields of its hash; None without fields.

    pauses : as Redis has them, to find the one for which the job waits.
    """
    if not fields:
        return None
    request: dict[str, Any] = json.loads(fields["request"])
    started = fields.get("started_at") or None
    if started is None and "started_us" in fields:
        started = time_of(fields["started_us"])
    then = request["then"]
    submitted = Annotation.model_validate(request)
    annotation = submitted.model_copy(update=_json(fields.get("annotation")) or {})
    return Record(
        id=request["id"],
        tenant=request["tenant"],
        kind=request["kind"],
        queue=request["queue"],
        method=request["method"],
        name=annotation.name,
        description=annotation.description,
        tags=tuple(annotation.tags),
        submitted=submitted,
        status=cast("Any", fields["status"]),
        attempt=int(fields["attempt"]),
        progress=Advance.model_validate_json(fields["progress"]),
        inputs=request["inputs"],
        params=request["params"],
        preprocess=tuple(request.get("preprocess", ())),
        then=None if then is None else MethodStep.model_validate(then),
        support=request.get("support"),
        name_by=request.get("name_by"),
        tree=request.get("options", {}).get("tree"),
        result=_json(fields.get("result")),
        warnings=tuple(_json(fields.get("warnings")) or ()),
        error=_json(fields.get("error")),
        created_at=request["created_at"],
        started_at=started,
        finished_at=fields.get("finished_at") or None,
        retry=_retry(fields),
        paused=_paused(fields, pauses or {}),
        given_up=given_up_of(fields.get("given_up", "")),
        retrying=Retrying.model_validate(request.get("retrying", {})),
        retry_of=request.get("retry_of"),
        webhook=webhook_of(request.get("webhook"), fields),
        expires_at=request.get("expires_at"),
        trace=request.get("trace"),
        version=int(fields["version"]),
    )


def _retry(fields: Mapping[str, str]) -> Retry | None:
    if "retry_at" not in fields:
        return None
    return Retry(
        attempt=int(fields["retry_attempt"]),
        error=_json(fields["retry"]) or worker_lost(),
        counted=fields["retry_counted"] == "1",
        at=time_of(f"{fields['retry_at']}000"),
    )


def _paused(fields: Mapping[str, str], pauses: Mapping[str, str]) -> Pause | None:
    """The first pause for which a queued job waits."""
    if fields["status"] != "queued":
        return None
    queue = fields["queue"]
    names = (
        f"lane {queue}:{fields.get('lane', 'fit')}",
        f"lane {queue}",
        f"tenant {fields['tenant']}",
        f"method {fields['method']}",
    )
    text = next((pauses[name] for name in names if name in pauses), None)
    return None if text is None else Pause.model_validate_json(text)


def given_up_of(text: str) -> tuple[Retry, ...]:
    """Why attempts were given up, from the lines of a record."""
    return tuple(map(_given_up, text.splitlines()))


def lines_of(given_up: Iterable[Retry]) -> str:
    """The inverse of `given_up_of`."""
    return "\n".join(
        f"{each.attempt} {int(each.counted)} {_ms_of(each.at)} {json.dumps(each.error)}"
        for each in given_up
    )


def _ms_of(at: str) -> int:
    return (datetime.fromisoformat(at) - _EPOCH) // timedelta(milliseconds=1)


def _given_up(line: str) -> Retry:
    attempt, counted, at, why = line.split(" ", 3)
    return Retry(
        attempt=int(attempt),
        error=_json(why) or worker_lost(),
        counted=counted == "1",
        at=time_of(f"{at}000"),
    )


def webhook_of(url: str | None, fields: Mapping[str, str]) -> Webhook | None:
    """How a webhook stands, by what Redis keeps of it."""
    if url is None:
        return None
    due = fields.get("hook_due")
    return Webhook(
        url=url,
        status=cast("Any", fields["hook"]),
        attempts=int(fields["hook_attempts"]),
        next_at=time_of(f"{due}000") if due else None,
        reason=fields.get("hook_reason") or None,
    )


def _json(text: str | None) -> Any:
    return json.loads(text) if text else None


def time_of(micros: str) -> str:
    """A time as clients get it, from microseconds since 1970."""
    whole = int(micros)
    moment = datetime.fromtimestamp(whole // 1_000_000, UTC)
    moment = moment.replace(microsecond=whole % 1_000_000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
