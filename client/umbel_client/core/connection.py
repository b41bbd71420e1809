"""A connection to a service: requests until they are answered."""

from __future__ import annotations

import contextlib
import io
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import httpx
import numpy as np
import numpy.typing as npt

from umbel_client.core import messages, opening
from umbel_client.core.messages import (
    CONTENT_TIMEOUT_S,
    READ_TIMEOUT_S,
    Reply,
    Request,
    Settings,
    given,
    json_of,
    post,
)
from umbel_client.errors import UmbelError, UnexpectedResponse


class Connection:
    """Sends requests by one HTTP client, which is opened when it is first needed.

    Threads may share it. A copy has the same settings and opens an HTTP client itself. A pickle
    has no key: what is made of it takes that of UMBEL_KEY, if one is there.

    What sends a request raises ProblemError for a refusal, ConnectionFailed, and
    UnexpectedResponse.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._client: httpx.Client | None = None
        self._place: object = None
        self._answered = False

    def close(self) -> None:
        """Close the HTTP client; the next request opens another one."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def __copy__(self) -> Self:
        return type(self)(self.settings)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)(self.settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return messages.connection_of, (type(self), replace(self.settings, key=None))

    def opened(self) -> httpx.Client:
        """The HTTP client."""
        place = opening.place()
        if self._client is None or self._place is not place:
            self._client, self._place = opening.opened(self.settings, self), place
        return self._client

    def send(self, request: Request) -> Reply:
        """The response to a request, which is repeated after refusals that pass (429, 503, a
        request with the same key in progress) and cut connections; not where a quota of what is
        kept is used up.

        Every request may be repeated: a POST carries an idempotency key. Pauses double and are
        drawn between half and all of that, unless the service names one (`Retry-After`).
        """
        attempt = 0
        while True:
            stated: float | None = None
            try:
                reply = self._once(request)
            except httpx.TransportError as cut:
                if attempt >= self.settings.retries or messages.hopeless(cut, self._answered):
                    answered = self._answered
                    raise messages.unreachable(self.settings, request, cut, answered) from cut
            else:
                if reply.status < 300:
                    messages.show_warning(reply)
                    return reply
                if request.method == "DELETE" and reply.status == 404 and attempt:
                    return reply  # An earlier repetition has removed it.
                failure = messages.refusal(reply, request)
                stated = messages.retry_after(reply)
                if not messages.passes(reply, failure) or attempt >= self.settings.retries:
                    if isinstance(failure, UnexpectedResponse):
                        failure.service = self._service_version()
                    raise failure
            time.sleep(messages.pause(self.settings, attempt, stated))
            attempt += 1

    def described(
        self,
        path: str,
        *needed: str,
        query: Mapping[str, Any] | None = None,
        timeout_s: float = READ_TIMEOUT_S,
    ) -> dict[str, Any]:
        """The JSON object at an address, which has the fields that are needed.

        query : what is None is left out; of what has an id goes the id.
        """
        request = Request("GET", path, given(query or {}), timeout_s=timeout_s)
        return json_of(self.send(request), *needed)

    def raw(self, path: str, query: Mapping[str, Any] | None = None) -> bytes:
        """The bytes at an address; query as of `described`."""
        request = Request("GET", path, given(query or {}), timeout_s=CONTENT_TIMEOUT_S)
        return self.send(request).content

    def array(self, path: str, query: Mapping[str, Any] | None = None) -> npt.NDArray[Any]:
        """The array of the .npy file at an address; query as of `described`."""
        file = self.raw(path, query)
        try:
            loaded: npt.NDArray[Any] = np.load(io.BytesIO(file), allow_pickle=False)
        except ValueError:
            raise UnexpectedResponse(f"{path} is no .npy file", 200) from None
        return loaded

    def listed(
        self, path: str, query: Mapping[str, Any] | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """The first `limit` things of a list, over as many pages as needed; None: all of them."""
        items: list[dict[str, Any]] = []
        wanted = given(query or {})
        while limit is None or len(items) < limit:
            if limit is not None:
                wanted["limit"] = min(limit - len(items), 100)
            page = self.described(path, "items", "next_cursor", query=wanted)
            items += page["items"]
            if page["next_cursor"] is None:
                break
            wanted["cursor"] = page["next_cursor"]
        return items

    def posted(self, path: str, fields: Mapping[str, Any], *needed: str) -> dict[str, Any]:
        """What the POST of a JSON object gives; a field that is None is left out."""
        return json_of(self.send(post(path, given(fields))), *needed)

    def changed(self, path: str, fields: Mapping[str, Any]) -> Reply:
        """The thing at an address after a change of these fields."""
        headers = {"Content-Type": "application/merge-patch+json"}
        content = json.dumps(fields, default=list).encode()
        return self.send(Request("PATCH", path, {}, headers, content))

    def remove(self, path: str) -> None:
        """Remove what is at an address."""
        self.send(Request("DELETE", path))

    def abandon(self, path: str) -> None:
        """Remove it if that is possible; the reason why it is no longer needed counts more."""
        with contextlib.suppress(UmbelError):
            self.remove(path)

    def _once(self, request: Request) -> Reply:
        """The response to one request, whatever its status. Raises httpx.TransportError."""
        client = self.opened()
        built, content = opening.built(client, request)
        try:
            response = client.send(built)
        finally:
            content.release()
        self._answered = True
        return Reply(response.status_code, response.headers, response.content)

    def _service_version(self) -> str | None:
        """What answers, for the message about a path that it does not have; None if it does not
        say."""
        try:
            reply = self._once(Request("GET", "/v1/version"))
            body = json_of(reply, "service", "api")
        except (httpx.TransportError, UnexpectedResponse):
            return None
        return f"Umbel {body['service']}, API {body['api']}" if reply.status == 200 else None
