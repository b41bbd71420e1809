"""How messages quote foreign text."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from models.errors import listed, shown


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("größe", "'größe'"),
        ("Άννα Жук 猫 كلب ภาษา नमस्ते 🌳 €½", "'Άννα Жук 猫 كلب ภาษา नमस्ते 🌳 €½'"),
        ("o\u0308", "'o\u0308'"),
        ("\u0308o", r"'\u0308o'"),
        ("a'b", '"a\'b"'),
        ("\x1b[31m\n\t\x00\x7f\x85", r"'\x1b[31m\n\t\x00\x7f\x85'"),
        ("é\u202e\u200b\u2066\ufeff\xad\xa0", r"'é\u202e\u200b\u2066\ufeff\xad\xa0'"),
        ("ü\u2028\u2029\u3000", r"'ü\u2028\u2029\u3000'"),
        ("\ud800ö", r"'\ud800ö'"),
        ("\u3164\ufe0f\u2800\U000e0100", r"'\u3164\ufe0f\u2800\U000e0100'"),
        ("\ue000\U000e0041\U0010ffff", r"'\ue000\U000e0041\U0010ffff'"),
        ("ß" * 81, f"'{'ß' * 80}...'"),
        ("", "''"),
        (-7, "-7"),
    ],
)
def test_foreign_text_is_quoted_escaped_and_shortened(text: str | int, quoted: str) -> None:
    assert shown(text) == quoted


def test_every_letter_stays_and_nothing_unseen_does() -> None:
    for code in range(0x110000 if sys.maxunicode > 0xFFFF else 0x10000):
        letter = chr(code)
        kind = unicodedata.category(letter)
        if kind[0] in "CZ" and letter != " ":
            assert shown(f"a{letter}").isascii(), hex(code)
        elif kind in ("Lu", "Ll", "Lt", "Nd"):
            assert letter in shown(f"a{letter}"), hex(code)


def test_the_first_names_are_listed() -> None:
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed(["ä", "b", "\u202e"], most=2) == "'ä', 'b' and 1 more"
