"""Trees for tests of the page's pictures, and functions that inspect the page."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from playwright.sync_api import Page

SMALL = (
    "(((rose:1,tulip:1)flowers:1,(oak:1,(elm:0.5,ash:0.5)ring:0.5)trees:1)plants:1,"
    "(cat:2,dog:2)pets:1)life;"
)
#                       life 3
#             plants 2          pets 2
#      flowers 1   trees 1      cat dog
#     rose tulip  oak ring 0.5
#                     elm ash


def imported(api: Api, content: bytes | str, name: str, media: str = "text/x-nh") -> str:
    """The id of an imported tree."""
    answer = api.client.post(
        "/v1/trees",
        params={"name": name},
        headers={"Content-Type": media, "Prefer": "wait=60"},
        content=content,
    )
    assert answer.status_code in (201, 202), answer.text
    body = answer.json()
    if answer.status_code == 202:
        ended = api.ended(body["id"], 60)
        assert ended["status"] == "succeeded", ended
        return str(ended["result"]["tree"])
    return str(body["id"])


def joined(n_leaves: int, seed: int = 0) -> npt.NDArray[np.float64]:
    """(n_leaves - 1, 4) a fairly balanced linkage: neighbours in a queue are merged in turn."""
    rng = np.random.default_rng(seed)
    queue = list(range(n_leaves))
    size = np.ones(2 * n_leaves - 1)
    rows = np.empty((n_leaves - 1, 4))
    first, next_id = 0, n_leaves
    for row in range(n_leaves - 1):
        a, b = queue[first], queue[first + 1]
        first += 2
        size[next_id] = size[a] + size[b]
        rows[row] = (min(a, b), max(a, b), (row + 1) / n_leaves, size[next_id])
        queue.append(next_id)
        if len(queue) - first > 4 and rng.random() < 0.3:
            second = first + int(rng.integers(1, 4))
            queue[first], queue[second] = queue[second], queue[first]
        next_id += 1
    return rows


def chained(n_leaves: int) -> npt.NDArray[np.float64]:
    """(n_leaves - 1, 4) the linkage of a chain."""
    n = n_leaves - 1
    before = np.r_[0, np.arange(n_leaves, n_leaves + n - 1)]
    pairs = np.sort(np.stack([before, np.arange(1, n_leaves)], axis=1), axis=1)
    return np.column_stack([pairs, np.arange(1, n + 1), np.arange(2, n + 2)]).astype(float)


def linkage(api: Api, rows: npt.NDArray[np.float64], name: str) -> str:
    return imported(api, npy(rows), name, "application/x-npy")


def hash_of(page: Page) -> dict[str, str]:
    """The parameters after the address's `?`."""
    parameters: dict[str, str] = page.evaluate(
        "() => Object.fromEntries(new URLSearchParams(location.hash.split('?')[1] ?? ''))"
    )
    return parameters


def until(page: Page, true: Callable[[], Any], within_ms: int = 60_000) -> Any:
    """Wait until `true()` is true; its value."""
    began, pause_ms = time.monotonic(), 20.0
    while not (value := true()):
        assert time.monotonic() - began < within_ms / 1e3, "the condition was not reached in time"
        page.wait_for_timeout(pause_ms)
        # Each look takes a fifth of a pause of 40 ms from what is waited for.
        pause_ms = min(200.0, 1.5 * pause_ms)
    return value


def pixels(page: Page, selector: str = ".tree-base") -> str:
    """The picture as a data URL: equal for equal pictures."""
    address: str = page.evaluate("s => document.querySelector(s).toDataURL()", selector)
    return address


def inked(page: Page, selector: str = ".tree-base") -> int:
    """The number of pixels that are drawn on."""
    count: int = page.evaluate(
        """s => {
          const {width, height} = document.querySelector(s);
          const options = {willReadFrequently: true};
          const copy = new OffscreenCanvas(width, height).getContext("2d", options);
          copy.drawImage(document.querySelector(s), 0, 0);
          const {data} = copy.getImageData(0, 0, width, height);
          let n = 0;
          for (let at = 3; at < data.length; at += 4) if (data[at] > 40) n += 1;
          return n;
        }""",
        selector,
    )
    return count


def settled(page: Page) -> None:
    """Wait until the picture is stable and the suggested cut has arrived."""
    page.locator(".cut-summary strong").wait_for(state="attached")
    before = ""
    for _ in range(80):
        page.wait_for_timeout(90)
        now = pixels(page)
        if now == before and not page.evaluate(
            "document.querySelector('.tree-base').style.transform.startsWith('matrix')"
        ):
            return
        before = now
    raise AssertionError("the picture did not become stable")
