"""Paths below a proxy's prefix."""

from __future__ import annotations

import pytest

from app.http.addresses import path_of


@pytest.mark.parametrize(
    ("path", "prefix", "below"),
    [
        ("/v1/jobs", "", "/v1/jobs"),
        ("/umbel/v1/jobs", "/umbel", "/v1/jobs"),
        ("/umbel", "/umbel", ""),
        ("/umbel/", "/umbel", "/"),
        # Not below the prefix: some proxies strip it.
        ("/v1/jobs", "/umbel", "/v1/jobs"),
        ("/umbels/v1", "/umbel", "/umbels/v1"),
        ("*", "", "*"),
    ],
)
def test_the_path_below_the_prefix(path: str, prefix: str, below: str) -> None:
    assert path_of({"path": path, "root_path": prefix}) == below


def test_no_prefix_at_all() -> None:
    assert path_of({"path": "/v1"}) == "/v1"
