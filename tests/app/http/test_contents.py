"""Ranges against the literal definition: byte positions picked out one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.http.contents import byte_range
from app.http.problems import Refused

numbers = st.one_of(st.none(), st.integers(0, 12))


@given(first=numbers, last=numbers, length=st.integers(1, 10))
def test_a_range_picks_the_bytes_it_names(first: int | None, last: int | None, length: int) -> None:
    header = f"bytes={'' if first is None else first}-{'' if last is None else last}"
    if first is None and last is None:
        assert byte_range(header, length) is None
        return
    if first is not None and last is not None and last < first:
        assert byte_range(header, length) is None
        return
    wanted = [
        position
        for position in range(length)
        if (first is not None and position >= first and (last is None or position <= last))
        or (first is None and last is not None and position >= length - last)
    ]
    if not wanted:
        with pytest.raises(Refused) as refused:
            byte_range(header, length)
        assert refused.value.status_code == 416
        return
    part = byte_range(header, length)
    assert part is not None
    assert list(range(part.start, part.end)) == wanted
    assert part.content_range == f"bytes {wanted[0]}-{wanted[-1]}/{length}"


@pytest.mark.parametrize("header", [None, "", "bytes", "bytes=", "bytes=a-b", "bytes=0-1,3-4"])
def test_what_cannot_be_read_is_the_whole(header: str | None) -> None:
    assert byte_range(header, 10) is None
