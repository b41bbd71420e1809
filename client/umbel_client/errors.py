"""What a call can raise: every exception is an `UmbelError`.

A refusal of the service is a `ProblemError`; `umbel_client.problems` has a subclass for each type
of problem, so that `except TooLarge:` catches one of them. A failed job raises its problem in the
same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from umbel_client.quoting import as_arguments, shown
from umbel_client.version import API_VERSION, VERSION


class UmbelError(Exception):
    """Base of all exceptions of the client."""


class UmbelWarning(UserWarning):
    """What a method approximated or found unusual, or what a form of a tree cannot hold."""


class ProblemError(UmbelError):
    """The service refused a request, or a job failed.

    type : the stable name of the problem, such as `/problems/too-large`.
    title : the problem in words, the same for all of its type.
    detail : what is wrong, where, and what is accepted.
    status : the HTTP status.
    errors : one entry for each wrong field, `{"detail": ..., "pointer": "/params/linkage"}`; in
        place of `pointer`, a JSON pointer, `parameter` or `header` where that is wrong.
    request_id : to quote when asking about it; None for a job's problem.
    job : the id of the job that failed; None for a refused request.
    problem : the whole problem as the service gave it.
    """

    def __init__(self, problem: Mapping[str, Any], job: str | None = None) -> None:
        self.problem = dict(problem)
        self.job = job
        self.type = str(problem.get("type", "about:blank"))
        self.title = str(problem.get("title", ""))
        self.detail = as_arguments(str(problem.get("detail") or self.title))
        self.status = int(problem.get("status", 0))
        self.errors: list[dict[str, Any]] = list(problem.get("errors") or [])
        self.request_id: str | None = problem.get("request_id")
        super().__init__(self.problem, job)

    @property
    def pointers(self) -> list[tuple[str | int, ...]]:
        """The keys and indices that lead to each wrong part of the request's body."""
        return [_parts(entry["pointer"]) for entry in self.errors if entry.get("pointer")]

    def __str__(self) -> str:
        lines = [self.detail]
        if len(self.errors) > 1:
            lines += [f"  {_place(entry)}: {entry['detail']}" for entry in self.errors]
        facts = [self.type.rpartition("/")[2]]
        facts += [f"HTTP {self.status}"] if self.job is None else [self.job]
        facts += [] if self.request_id is None else [f"request {self.request_id}"]
        lines[-1] += f" [{', '.join(facts)}]"
        return "\n".join(lines)


def _parts(pointer: str) -> tuple[str | int, ...]:
    """The keys and indices of a JSON pointer (RFC 6901)."""
    parts = [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]
    return tuple(int(each) if each.isdecimal() else each for each in parts)


def _place(entry: Mapping[str, Any]) -> str:
    """What an entry of `errors` is about, for a message."""
    outside = entry.get("parameter") or entry.get("header")
    return str(outside or ".".join(map(str, _parts(entry.get("pointer") or ""))) or "the body")


class InputError(UmbelError, ValueError):
    """A value cannot be an input; nothing was sent.

    role : the input's role, such as `features`.
    """

    def __init__(self, role: str, detail: str) -> None:
        self.role = role
        self.detail = detail
        super().__init__(role, detail)

    def __str__(self) -> str:
        return f"Input {shown(self.role)}: {self.detail}"


class ConnectionFailed(UmbelError, ConnectionError):
    """The service cannot be reached, or the connection was cut more often than is retried."""


class UploadInterrupted(ConnectionFailed):
    """An upload in parts was cut off; the parts that arrived are kept for seven days.

    upload : pass it as `resume=` to go on, with the same data.
    """

    def __init__(self, detail: str, upload: str) -> None:
        self.upload = upload
        super().__init__(f"{detail} The parts that arrived are kept: resume={upload!r} goes on.")

    def __reduce__(self) -> tuple[Any, ...]:
        return ConnectionFailed, (str(self),)


class UnexpectedResponse(UmbelError):
    """The response is none of the API that this client speaks: another service or version.

    status : the HTTP status. beginning : the first bytes of the body as text. service : its
    version, where that is known.
    """

    def __init__(self, what: str, status: int, beginning: str = "") -> None:
        self.what = what
        self.status = status
        self.beginning = beginning
        self.service: str | None = None
        super().__init__(what, status, beginning)

    def __str__(self) -> str:
        body = f" It begins with {shown(self.beginning, 200)}." if self.beginning else ""
        client = f"This client, umbel-client {VERSION}, speaks version {API_VERSION} of Umbel's API"
        doubt = "is the address that of an Umbel service, and of that version?"
        if self.service is not None:
            doubt = f"the service is {self.service}."
        return f"{self.what} (HTTP {self.status}). {client}: {doubt}{body}"


class JobCancelled(UmbelError):
    """The job was cancelled. job : its id."""

    def __init__(self, job: str) -> None:
        self.job = job
        super().__init__(job)

    def __str__(self) -> str:
        return f"The job {self.job} was cancelled."


class WaitTimeout(UmbelError, TimeoutError):
    """A job has not ended within the time that was given for it; it goes on.

    job : its id. wait_s : the time in seconds.
    """

    def __init__(self, job: str, wait_s: float) -> None:
        self.job = job
        self.wait_s = wait_s
        super().__init__(job, wait_s)

    def __str__(self) -> str:
        return f"The job {self.job} has not ended within {self.wait_s:g} s; it goes on."


class MissingPackage(UmbelError, ImportError):
    """A call needs a package that is not installed."""


class CannotStart(UmbelError):
    """A service of one's own cannot be started."""
