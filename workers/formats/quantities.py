"""Numbers with something around them, which makes them texts: `5 kg`, `USD 1.5`, `0x1F`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workers.formats.tables import is_written_number

_QUANTITY = re.compile(
    r"""(?P<before>(USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL|KRW)\s?|[<>≤≥~]\s?)?
    (?P<signs>[-+−(]*[$€£¥₹]?[-+−]?)
    (?P<number>0x[0-9a-fA-F]+|\d\d?:\d\d(:\d\d)?|\d+([.,']\d+)*([dD][-+]?\d+)?)
    (?P<signs_after>[)\-−]*)
    (?P<after>\s?[%$€£¥₹]|\s\S.{1,11}|\s[gmshlV]|[^\W\d_]{2,5})?""",
    re.VERBOSE,
)
_PLAIN = re.compile(r"[\d.,']+", re.ASCII)


def are_quantities(texts: Sequence[str]) -> bool:
    """Whether all of some texts are numbers with the same unit, or with signs, around them, in
    other notations (`0x1F`, `1.5D+3`, `12:30`) or in other digits than 0 to 9."""
    found = [_QUANTITY.fullmatch(text.strip()) for text in texts]
    if not found or not all(found) or all(map(is_written_number, texts)):
        return False
    around = {(own["before"], own["after"]) for own in found if own}
    signs = any(own["signs"] or own["signs_after"] for own in found if own)
    other = all(_PLAIN.fullmatch(own["number"]) is None for own in found if own)
    return len(around) == 1 and (signs or other or around != {(None, None)})
