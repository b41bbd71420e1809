"""The list of endings names every format, and the page's list is the same."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT
from workers.formats import catalogue, excel, packed, tree_documents
from workers.formats.endings import ENDINGS, PACKED, media_type_of

PAGE = ROOT / "app" / "dashboard" / "js" / "forms"
TYPES = {ending: each.media_type for ending, each in ENDINGS.items()}


def test_every_format_has_an_ending_and_every_ending_a_format() -> None:
    known = {own for format in catalogue.FORMATS.values() for own in format.media_types}
    assert set(TYPES.values()) <= known
    for format in catalogue.FORMATS.values():
        assert set(format.media_types) & set(TYPES.values()), format.id
        for ending, each in ENDINGS.items():
            if each.media_type in format.media_types:
                assert each.binary == format.binary, ending
    assert excel.MEDIA_TYPES.items() <= TYPES.items()
    assert {end for end, each in ENDINGS.items() if each.tree} == {
        ending for ending, own in TYPES.items() if own in tree_documents.MEDIA_TYPES.values()
    }


def test_the_page_has_the_list() -> None:
    text = (PAGE / "file_guess.js").read_text("utf-8")
    (media,) = re.findall(r"const MEDIA = \{(.*?)\};", text, re.DOTALL)
    listed = dict(re.findall(r'(\w+): "([^"]+)"', media))
    assert listed == {
        end: own for end, own in TYPES.items() if ENDINGS[end].declared and not ENDINGS[end].tree
    }
    (newick,) = re.findall(r'const NEWICK = new Set\("([^"]+)"', text)
    (nexus,) = re.findall(r"const NEXUS = new Set\(\[([^]]+)\]", text)
    trees = {*newick.split(), *re.findall(r"\w+", nexus)}
    assert trees == {end for end, each in ENDINGS.items() if each.tree}
    (packings,) = re.findall(r"const PACKED = new Set\(\[([^]]+)\]", text)
    assert set(re.findall(r"\w+", packings)) == PACKED.keys()


def test_the_page_takes_every_table_as_items() -> None:
    text = (PAGE / "items_form.js").read_text("utf-8")
    (accept,) = re.findall(r'const ACCEPT =\s*"([^"]+)"', text)
    tables = {"csv", "json", "jsonl", "parquet", "arrow-file", "arrow-stream", "zip"}
    types = {
        own for id in tables | excel.MEDIA_TYPES.keys() for own in catalogue.FORMATS[id].media_types
    }
    assert set(accept.split(",")) == {f".{end}" for end, own in TYPES.items() if own in types}


@pytest.mark.parametrize("name", ["a.csv", "A.CSV", "b.a.csv", "a.csv.gz", "a.csv.ZST", ".x.csv"])
def test_the_type_of_a_name(name: str) -> None:
    assert media_type_of(name) == "text/csv"


@pytest.mark.parametrize("name", ["csv", "a.gz", "a.constructor", "", "a.", "gz"])
def test_names_that_say_nothing(name: str) -> None:
    assert media_type_of(name) is None


def test_packed_endings_are_those_that_are_unpacked() -> None:
    assert {*PACKED.values(), "zip"} == {*packed._MAGIC.values(), "zip"}
