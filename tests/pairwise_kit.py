"""Cases in which each pair of options occurs, in place of the product of all options."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any


def pairwise(*options: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Few cases, one value of each option: any two values of two options share at least one case.

    options : the values of each option, two options or more.

    The same cases each time: a case starts from the first pair that is still missing and takes,
    option by option, the value that adds the most missing pairs.
    """
    missing = [
        {(first, a), (second, b)}
        for first, second in combinations(range(len(options)), 2)
        for a, b in product(range(len(options[first])), range(len(options[second])))
    ]
    cases = []
    while missing:
        case = set(missing[0])
        for option in set(range(len(options))) - {number for number, _ in case}:
            best = max(
                range(len(options[option])),
                key=lambda value: sum(
                    (option, value) in pair and pair <= {*case, (option, value)} for pair in missing
                ),
            )
            case.add((option, best))
        missing = [pair for pair in missing if not pair <= case]
        cases.append(tuple(options[option][value] for option, value in sorted(case)))
    return cases
