"""What reading decided or forgave is collected once, where somebody collects it."""

from __future__ import annotations

from models.inputs.reading import note, noting


def test_each_note_is_kept_once_in_order() -> None:
    with noting() as notes:
        note("b")
        note("a")
        note("b")
    assert list(notes) == ["b", "a"]


def test_notes_of_an_inner_reading_are_its_own() -> None:
    with noting() as outer:
        note("outer")
        with noting() as inner:
            note("inner")
        note("again")
    note("nobody")
    assert (list(outer), list(inner)) == (["outer", "again"], ["inner"])
