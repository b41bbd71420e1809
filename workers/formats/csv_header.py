"""Whether the first line of a CSV file is a header, by its cells and the cells below.

It is one where none of its cells is a number, or yes or no over yes and no. It is one too where its
numbers are integers that follow each other, such as 0, 1, 2 or years, and the first cell is blank
or text, or every cell below has a decimal point: so data frames without names are saved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

from models.errors import listed
from workers.formats.tables import is_empty

Reads: TypeAlias = Callable[[str], bool]

TRUTHS = {"true": "1", "yes": "1", "false": "0", "no": "0"}
"""What is written for yes and no, in small letters."""


def header_of(
    first: Sequence[str], below: Sequence[Sequence[str]], is_number: Reads, given: bool | None
) -> tuple[bool, tuple[str, ...]]:
    """Whether the first line has the names of the columns, and a note where that is not sure.

    below : the cells of the lines below. is_number : whether a cell is one. given : what the user
    says.
    """
    if given is not None:
        return given, ()
    cells = [cell.strip() for cell in first]
    numeric = [at for at, cell in enumerate(cells) if is_number(cell)]
    if not numeric:
        if not _has_truth_over_truths(cells, below):
            return True, ()
        return False, (
            f"The first line of the CSV file is {listed(cells, 3)}, as the lines below: it was "
            "taken as a row. Upload with ?header=true if it is the header.",
        )
    note = "The first line of the CSV file was taken as its header, not as a row."
    if _are_words(cells, numeric, below, is_number):
        return True, (note,)
    whole = [int(cells[at]) for at in numeric if re.fullmatch(r"\d{1,9}", cells[at], re.ASCII)]
    follow = len(whole) == len(numeric) and all(b - a == 1 for a, b in pairwise(whole))
    if not follow or not below or len(cells) == 1 or any(cell and is_empty(cell) for cell in cells):
        return False, ()
    if len(numeric) < len(cells):
        # The other cells are names, or the corner above an index.
        apart = sorted(set(range(len(cells))).difference(numeric))
        if not cells[0] and apart == [0] and (whole[0] == 0 or len(whole) > 1):
            return True, () if whole[0] == 0 else (note,)
        last = len(numeric) > 1 and numeric == list(range(apart[-1] + 1, len(cells)))
        return (True, (note,)) if last else (False, ())
    decimals = all("." in cell or "," in cell or is_empty(cell) for row in below for cell in row)
    if decimals and len(cells) > 2:
        return True, (note,)
    if (decimals or len(cells) > 2) and (whole[0] == 0 or not any(map(_follow, below))):
        return False, (
            f"The first line of the CSV file is {listed(cells, 3)}...: it was taken as a row. "
            "Upload with ?header=true if it is the header.",
        )
    return False, ()


def _has_truth_over_truths(cells: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a column is of yes and no from the first line on."""
    for at in (at for at, cell in enumerate(cells) if cell.lower() in TRUTHS):
        column = [row[at].strip().lower() for row in below if at < len(row)]
        present = [cell for cell in column if not is_empty(cell)]
        if present and all(cell in TRUTHS for cell in present):
            return True
    return False


def _are_words(
    cells: Sequence[str], numeric: Sequence[int], below: Sequence[Sequence[str]], is_number: Reads
) -> bool:
    """Whether what could be numbers in the first line are names such as `nan` and `inf`: words,
    fewer than the other names, of which one at least stands over numbers."""
    if any(letter.isdigit() for at in numeric for letter in cells[at]):
        return False
    if 2 * len(numeric) >= len(cells) or not all(cells) or len({*cells}) < len(cells):
        return False
    return bool(below) and any(
        all(is_number(row[at].strip()) for row in below if at < len(row))
        for at in range(len(cells))
        if at not in numeric
    )


def _follow(row: Sequence[str]) -> bool:
    """Whether the cells are integers that follow each other."""
    cells = [cell.strip() for cell in row]
    if not all(re.fullmatch(r"\d{1,9}", cell, re.ASCII) for cell in cells):
        return False
    return all(int(b) - int(a) == 1 for a, b in pairwise(cells))
