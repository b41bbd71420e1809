"""What a limited key reaches: the things named by their ids, and those with one of its tags."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_ID = re.compile(
    r"(?<![0-9A-Za-z])([a-z]{2,4})_([0-9a-hjkmnp-tv-z]{26})([0-9a-hjkmnp-tv-z]{26})?(?![0-9A-Za-z])"
)


@dataclass(frozen=True, slots=True)
class Reach:
    """objects : the ends of ids, which a job shares with its tree, its model and whatever else it
    made. tags : any one of them is enough."""

    objects: frozenset[str]
    tags: tuple[str, ...]

    @classmethod
    def of(cls, objects: Sequence[str], tags: Sequence[str]) -> Reach | None:
        """None where neither is given: then everything of the tenant is reached."""
        if not objects and not tags:
            return None
        return cls(frozenset(own_id.partition("_")[2] for own_id in objects), tuple(tags))

    def has(self, own_id: str, tags: Collection[str]) -> bool:
        """Whether a thing with this id and these tags is reached."""
        return own_id.partition("_")[2] in self.objects or any(tag in tags for tag in self.tags)

    @property
    def listed_by(self) -> tuple[str, ...]:
        """The tag that everything reached has, if there is one: its list is shorter."""
        return self.tags if len(self.tags) == 1 and not self.objects else ()


def ids_in(value: Any, prefixes: Collection[str]) -> Iterator[str]:
    """The ids anywhere in a value of JSON, keys included, also within a longer text. That of an
    edition or a link is the id of its tree. No recursion."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            left += each
            left += each.values()
        elif isinstance(each, list):
            left += each
        elif isinstance(each, str):
            for match in _ID.finditer(each):
                if match[3] is not None:
                    yield f"tr_{match[2]}"
                elif match[1] in prefixes:
                    yield f"{match[1]}_{match[2]}"
