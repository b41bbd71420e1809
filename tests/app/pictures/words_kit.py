"""The words of a picture as boxes, from its SVG and the metrics of its font."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from app.pictures.lettering import width
from tests.app.pictures.tree_kit import NS

Point = tuple[float, float]


@dataclass(frozen=True)
class Word:
    """A text with the four corners of its letters."""

    text: str
    size: float
    corners: tuple[Point, Point, Point, Point]

    @property
    def top(self) -> float:
        return min(y for _, y in self.corners)

    @property
    def bottom(self) -> float:
        return max(y for _, y in self.corners)

    def overlaps(self, other: Word) -> bool:
        """Whether two boxes share more than their edges: no line along a side parts them."""
        for box in (self.corners, other.corners):
            for (x0, y0), (x1, y1) in pairwise(box[:3]):
                length = math.hypot(x1 - x0, y1 - y0) or 1.0
                ends = [
                    [((x1 - x0) * x + (y1 - y0) * y) / length for x, y in corners]
                    for corners in (self.corners, other.corners)
                ]
                if max(ends[0]) <= min(ends[1]) + 0.5 or max(ends[1]) <= min(ends[0]) + 0.5:
                    return False
        return True


def words(picture: str) -> list[Word]:
    """The texts of a picture of `app.pictures` in its own unit."""
    found: list[Word] = []
    root = ET.fromstring(picture.encode())
    shifts = [(root, 0.0)]
    for group in root.iter(f"{NS}g"):
        transform = group.attrib.get("transform")
        moved = re.match(r"translate\(0 ([-\d.]+)\)", transform or "")
        if moved or not transform:
            shifts.append((group, float(moved[1]) if moved else 0.0))
    for parent, down in shifts:
        found += [_word(text, down) for text in parent.findall(f"{NS}text")]
    return found


def _word(text: ET.Element, down: float) -> Word:
    size, written = float(text.attrib["font-size"]), text.text or ""
    x, y = float(text.attrib["x"]), float(text.attrib["y"]) - 0.36 * size
    wide = width(written, size)
    left = (
        x - {"start": 0.0, "middle": wide / 2, "end": wide}[text.attrib.get("text-anchor", "start")]
    )
    turn = re.match(r"rotate\(([-\d.]+)", text.attrib.get("transform", ""))
    a = math.radians(float(turn[1])) if turn else 0.0
    # The letters from the baseline of descenders to the top of capitals.
    top, bottom = y - 0.4 * size, y + 0.4 * size

    def turned(px: float, py: float) -> Point:
        dx, dy = px - x, py - y
        return (
            x + dx * math.cos(a) - dy * math.sin(a),
            y + dx * math.sin(a) + dy * math.cos(a) + down,
        )

    right = left + wide
    ends = ((left, top), (right, top), (right, bottom), (left, bottom))
    return Word(written, size, tuple(turned(*end) for end in ends))  # type: ignore[arg-type]


def readable(picture: str, least: float) -> list[Word]:
    """The words of a picture, after checking that each has at least the size `least`, lies on the
    page, and overlaps no other."""
    own = words(picture)
    root = ET.fromstring(picture.encode()).attrib
    wide, high = float(root["width"]), float(root["height"])
    for word in own:
        assert word.size >= least - 0.01, word
        for x, y in word.corners:
            assert -0.5 <= x <= wide + 0.5, word
            assert -0.5 <= y <= high + 0.5, word
    near: list[Word] = []
    for word in sorted(own, key=lambda word: word.top):
        near = [other for other in near if other.bottom > word.top]
        for other in near:
            assert not word.overlaps(other), (word, other)
        near.append(word)
    return own


def lines(picture: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The x and y of places along the branches of a picture, half a pixel apart."""
    found: list[npt.NDArray[np.float64]] = []
    for path in ET.fromstring(picture.encode()).iter(f"{NS}path"):
        if path.attrib.get("fill") or "stroke" not in path.attrib:
            continue
        at = np.zeros(2)
        for command, written in re.findall(r"([MLHVAv])([^MLHVAv]*)", path.attrib["d"]):
            numbers = [float(number) for number in written.split()]
            to = at.copy()
            if command in "HV":
                to["HV".index(command)] = numbers[0]
            elif command == "v":
                to[1] += numbers[0]
            else:
                to = np.array(numbers[-2:])
            if command == "A":
                found.append(_arc(at, to, numbers[0], large=bool(numbers[3])))
            elif command != "M":
                steps = np.linspace(0, 1, 2 + int(2 * math.dist(at, to)))
                found.append(at + steps[:, None] * (to - at))
            at = to
    x, y = np.concatenate(found).T
    return x, y


def _arc(
    start: npt.NDArray[np.float64], end: npt.NDArray[np.float64], radius: float, *, large: bool
) -> npt.NDArray[np.float64]:
    """Places along the arc of a circle that turns clockwise on the screen."""
    chord = end - start
    length = float(np.hypot(*chord))
    off = math.sqrt(max(0.0, radius**2 - length**2 / 4)) * (-1 if large else 1)
    middle = (start + end) / 2 + off * np.array([-chord[1], chord[0]]) / (length or 1.0)
    first, last = (math.atan2(*(at - middle)[::-1]) for at in (start, end))
    turn = (last - first) % (2 * math.pi)
    angle = first + np.linspace(0, turn, 2 + int(2 * turn * radius))
    return middle + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
