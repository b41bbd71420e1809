"""The API is stopped while clients send one request after the other."""

from __future__ import annotations

import http.client
import signal
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

from tests.e2e.conftest import running, until

N_CLIENTS = 8


class Client(threading.Thread):
    """Requests over a kept connection; a new one where the service requested it.

    `n_done` responses; `broken` are the errors of requests that had been sent. A connection that is
    refused sends no request: it is tried again.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self._address = urlsplit(url)
        self._over = threading.Event()
        self.n_done = 0
        self.broken: list[str] = []

    def run(self) -> None:
        connection: http.client.HTTPConnection | None = None
        while not self._over.is_set():
            if connection is None:
                assert self._address.hostname
                connection = http.client.HTTPConnection(
                    self._address.hostname, self._address.port, timeout=60.0
                )
                try:
                    connection.connect()
                except OSError:
                    connection = None
                    time.sleep(0.02)
                    continue
            try:
                connection.request("GET", "/v1/methods/kmeans")
                response = connection.getresponse()
                response.read()
                assert response.status == 200
                self.n_done += 1
                closes = response.will_close
            except (OSError, http.client.HTTPException) as error:
                self.broken.append(repr(error))
                closes = True
            if closes:
                connection.close()
                connection = None

    def finish(self) -> None:
        self._over.set()
        self.join()


def test_no_request_breaks_when_the_api_is_stopped(tmp_path: Path) -> None:
    with running(tmp_path / "data", workers=1) as service:
        clients = [Client(service.url) for _ in range(N_CLIENTS)]
        for client in clients:
            client.start()

        def all_served() -> None:
            before = [client.n_done for client in clients]
            until(lambda: all(c.n_done > n + 5 for c, n in zip(clients, before, strict=True)))

        all_served()
        [api] = service.named("app.cli", "'api'") or service.named("app.cli", " api ")
        api.terminate()
        api.wait(30)
        all_served()
        service.client.close()
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(30)
        for client in clients:
            client.finish()
    assert [error for client in clients for error in client.broken] == []
