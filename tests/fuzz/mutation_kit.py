"""Damages to a file: bytes and words changed, moved, repeated, left out, or taken from another."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_WORDS = [
    *(b"-1", b"0", b"1e999", b"nan", b"-inf", b"99999999999999999999", b"4294967296", b"null"),
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n\n", b'"', b"'", b"[", b"]", b"{", b"}"),
    *(b"(", b")", b";", b":", b",", b"\t", b"\\u0000", b"\\ud800", b"\xf0\x9f\x8c\xb3"),
]
_NUMBERS = [0, 1, -1, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1]


def damaged(content: bytes, others: Sequence[bytes], dice: random.Random) -> bytes:
    """The content after one to eight random damages."""
    for _ in range(1 << dice.randrange(4)):
        content = _once(content, others, dice)
    return content[: 1 << 18]


def _once(content: bytes, others: Sequence[bytes], dice: random.Random) -> bytes:
    size = len(content)
    at = dice.randrange(size + 1)
    upto = min(size, at + (1 << dice.randrange(9)))
    part, rest = content[at:upto], content[upto:]
    match dice.randrange(10):
        case 0:
            bits = bytes(byte ^ (1 << dice.randrange(8)) for byte in part[:1])
            return content[:at] + bits + content[at + len(bits) :]
        case 1:
            return content[:at] + dice.randbytes(len(part)) + rest
        case 2:
            return content[:at] + rest
        case 3:
            return content[:upto] + part * dice.choice([1, 2, 50, 3000]) + rest
        case 4:
            return content[:at]
        case 5:
            other = dice.choice(others)
            start = dice.randrange(len(other) + 1)
            return content[:at] + other[start : start + (1 << dice.randrange(9))] + rest
        case 6:
            width = dice.choice([1, 2, 4, 8])
            number = (dice.choice(_NUMBERS) % (1 << 8 * width)).to_bytes(
                width, dice.choice(["little", "big"])
            )
            return content[:at] + number + content[at + width :]
        case 7:
            return content[:at] + dice.choice(_WORDS) + content[at:]
        case 8:
            numbers = list(re.finditer(rb"-?\d+", content[:10_000]))
            if not numbers:
                return content
            match = dice.choice(numbers)
            word = str(dice.choice(_NUMBERS)).encode()
            return content[: match.start()] + word + content[match.end() :]
        case _:
            words = list(re.finditer(rb"\w+", content[:10_000]))
            if not words:
                return content
            match = dice.choice(words)
            return content[: match.start()] + dice.choice(_WORDS) + content[match.end() :]
