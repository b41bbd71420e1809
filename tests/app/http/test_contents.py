"""Ranges against the literal definition: byte positions selected individually."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.http.contents import byte_range
from app.http.problems import Refused

numbers = st.one_of(st.none(), st.integers(0, 12))


@given(first=numbers, last=numbers, length=st.integers(1, 10))
def test_a_range_selects_the_bytes_it_names(
    first: int | None, last: int | None, length: int
) -> None:
    header = f"bytes={'' if first is None else first}-{'' if last is None else last}"
    if first is None and last is None:
        assert byte_range(header, length) is None
        return
    if first is not None and last is not None and last < first:
        assert byte_range(header, length) is None
        return
    positions = [
        position
        for position in range(length)
        if (first is not None and position >= first and (last is None or position <= last))
        or (first is None and last is not None and position >= length - last)
    ]
    if not positions:
        with pytest.raises(Refused) as refused:
            byte_range(header, length)
        assert refused.value.status_code == 416
        return
    part = byte_range(header, length)
    assert part is not None
    assert list(range(part.start, part.end)) == positions
    assert part.content_range == f"bytes {positions[0]}-{positions[-1]}/{length}"


@pytest.mark.parametrize("header", [None, "", "bytes", "bytes=", "bytes=a-b", "bytes=0-1,3-4"])
def test_an_invalid_range_gives_the_whole_content(header: str | None) -> None:
    assert byte_range(header, 10) is None


@pytest.mark.parametrize("header", ["bytes=٠-٣", "bytes=-٣", "bytes=1-٣"])
def test_digits_of_other_scripts_are_no_positions(header: str) -> None:
    assert byte_range(header, 10) is None
