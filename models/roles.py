"""The roles of inputs: one record each, the one place that says what a role takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Want: TypeAlias = Literal["matrix", "column", "labels", "paths", "edges", "table"]
"""matrix : rows of one length. column : one value per row. labels : a column in which a row may
have several labels or none. paths : class paths, a hierarchy. edges : a matrix, or pairs of text.
table : columns of any kinds under their names."""


@dataclass(frozen=True, slots=True)
class Role:
    """What an input of this name takes; `wants` is None for a role that takes no array.

    whole : integers; what is written as floats is taken as integers. real : numbers, not only
    integers. text : a number is taken as written. blank : a text may be empty. images : also an
    array of three or four dimensions, where a method takes them. square : a row and a column for
    each point. links : pairs of rows. gaps : a cell of a table may be empty, which is NaN. masks :
    a value may be -inf. noisy : noise may be added to it. measured : metrics use it, as the truth.
    """

    name: str
    wants: Want | None = None
    whole: bool = False
    real: bool = False
    text: bool = False
    blank: bool = False
    images: bool = False
    gaps: bool = False
    masks: bool = False
    square: bool = False
    links: bool = False
    noisy: bool = False
    measured: bool = False

    @property
    def column(self) -> bool:
        """Whether it takes one value per row, or for labels and paths several or none."""
        return self.wants in ("column", "labels", "paths")

    @property
    def of_points(self) -> bool:
        """Whether it has a row, or one value or several, for each point."""
        matrix = self.wants == "matrix" and self.name != "costs"
        return matrix or (self.column and self.name not in ("names", "feature_names", "hierarchy"))

    @property
    def table(self) -> bool:
        return self.wants == "table"

    @property
    def tree(self) -> bool:
        """Whether it takes a tree, or what a tree is made of."""
        return self.wants == "paths"

    @property
    def by_role(self) -> bool:
        """Whether it takes what is neither a plain matrix nor a plain column."""
        return self.wants in ("labels", "paths", "edges", "table")


ROLES = {
    role.name: role
    for role in (
        Role("features", "matrix", images=True, gaps=True, noisy=True),
        Role("logits", "matrix", masks=True, noisy=True),
        Role("top_classes", "matrix", whole=True),
        Role("distances", "matrix", square=True),
        Role("similarity", "matrix", square=True),
        Role("costs", "matrix"),
        Role("graph", "edges", square=True),
        Role("must_link", "edges", links=True),
        Role("cannot_link", "edges", links=True),
        Role("labels", "labels", measured=True),
        Role("hierarchy", "paths", measured=True),
        Role("names", "column", text=True),
        Role("feature_names", "column", text=True),
        Role("tasks", "column"),
        Role("targets", "column", real=True),
        Role("timestamps", "column", real=True),
        Role("sample_weight", "column", real=True),
        Role("documents", "column", text=True, blank=True),
        Role("items", "table"),
    )
}


def role_of(name: str) -> Role:
    """The role of this name; for a name that is none, one that takes nothing."""
    return ROLES.get(name) or Role(name)
