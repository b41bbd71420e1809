"""How trees become one, in words; without anything heavy, so that the API can import it."""

from __future__ import annotations

from typing import Literal, TypeAlias

Rule: TypeAlias = Literal["strict", "majority", "extended", "median"]
"""See `models.consensus.rules`."""
Match: TypeAlias = Literal["auto", "names", "rows"]
"""See `models.consensus.items`."""
Support: TypeAlias = Literal["share", "transfer"]
"""See `models.consensus.reference`."""

MOST_TREES = 1000

ENOUGH = 0.99
"""A correlation of the halves at which they count as alike."""
