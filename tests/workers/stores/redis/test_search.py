"""Searches of lists find what a look at every entry finds, and look at many entries a page."""

from __future__ import annotations

import json

import pytest

from workers.assembly import Assembly
from workers.model import mentions, new_id
from workers.stores.redis import pages
from workers.stores.redis.index import Index

NAMES = [
    "Oak",
    "an oak, a rose",
    "300 \u212a",
    "Stra\u00dfe",
    'a"b\\c',
    "\ufb01r",
    "\xd1and\xfa",
    None,
]
"""Two have letters that are ASCII once they are folded: the Kelvin sign, and a ligature."""
WORDS = [
    ["oak"],
    ["OAK".casefold(), "rose"],
    ["k"],
    ["strasse"],
    ['a"b\\c'],
    ["fir"],
    ["\xf1"],
    ["x_"],
]


def filled(
    assembly: Assembly, n: int, *, ascii_only: bool
) -> tuple[Index, list[tuple[str, str | None]]]:
    """The list of trees of ada, the oldest first, with `n` entries."""
    index = assembly.trees._index
    entries = sorted((new_id("tr"), NAMES[at % len(NAMES)]) for at in range(n))
    for own_id, name in entries:
        facts = {"id": own_id, "name": name, "tags": [], "method": "hac"}
        index.put("ada", own_id, json.dumps(facts, ensure_ascii=ascii_only))
    return index, entries


@pytest.mark.parametrize("ascii_only", [True, False])
def test_every_letter_is_found(assembly: Assembly, ascii_only: bool) -> None:
    index, entries = filled(assembly, 24, ascii_only=ascii_only)
    index.annotate(entries[0][0], 1, json.dumps({"name": "renamed to x_y", "tags": ["x_"]}))
    entries[0] = (entries[0][0], "renamed to x_y")
    for words in WORDS:
        listing = index.listing("ada", words=words)
        found = [json.loads(facts)["id"] for facts in listing.page(99, None)[0]]
        expected = [own_id for own_id, name in entries if mentions(words, own_id, name)]
        assert found == expected[::-1], words
        assert listing.count() == len(expected)


def test_a_search_without_a_hit_reads_nothing(
    assembly: Assembly, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, entries = filled(assembly, 40, ascii_only=True)
    monkeypatch.setattr(pages, "SCANNED", 4)
    plain = [own_id for own_id, name in entries if name == "Oak"]
    # Entries with other letters are read; SCANNED of them end a page.
    found, cursor, n_pages = [], None, 0
    while n_pages == 0 or cursor is not None:
        items, cursor = index.listing("ada", words=["oak"]).page(2, cursor)
        found += [json.loads(facts)["id"] for facts in items]
        n_pages += 1
    assert set(plain) < set(found)
    assert len(found) == len(set(found)) == 10
    monkeypatch.setattr(pages, "SIEVED", 10)
    cursor, n_pages = None, 0
    while n_pages == 0 or cursor is not None:
        items, cursor = index.listing("ada", words=["nowhere"], method="hac").page(2, cursor)
        assert not items
        n_pages += 1
    assert n_pages <= 8


def test_long_entries_and_many_words_are_found(assembly: Assembly) -> None:
    """A script looks through so much only; the entries behind it are read."""
    index = assembly.trees._index
    words = [f"w{at:02}" for at in range(60)]
    kept = []
    for at in range(12):
        own_id, n = new_id("tr"), 20_000 if at % 4 == 0 else 15_000
        name = " ".join(words if at % 3 else words[1:])
        facts = {"id": own_id, "name": name, "tags": [], "columns": "w" * n}
        index.put("ada", own_id, json.dumps(facts))
        kept += [own_id] if at % 3 else []
    found = [json.loads(each)["id"] for each in index.listing("ada", words=words).page(99, None)[0]]
    assert sorted(found) == sorted(kept)
