"""The roles of inputs: one table, from which everything else takes what it needs to know of a role.

A role that is not in the table, such as `base`, takes no file. Which roles a method takes, and
whether it needs them, is in the method's `inputs` (`models.method.Input`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Want: TypeAlias = Literal["matrix", "column", "labels", "paths", "edges", "table"]
"""What a file is read as, if it can be read in several ways: "labels" is a column whose rows may
have several values or none, "paths" the same or a list of class paths, "edges" a matrix of numbers
or pairs of text, "table" columns of any kinds under their names."""

Form: TypeAlias = Literal["matrix", "column", "table"]
"""Rows of one length, one value per row, or columns of any kinds under their names."""

_FORM: dict[Want, Form] = {
    "matrix": "matrix",
    "edges": "matrix",
    "column": "column",
    "labels": "column",
    "paths": "column",
    "table": "table",
}


@dataclass(frozen=True, slots=True)
class Role:
    """What the values of one input are.

    whole : a matrix of integers; written as floats, they are taken as integers.
    real : a column of numbers, not only integers.
    text : a column of text: a number is taken as written.
    images : whether some methods also take an array of images, of three or four dimensions.
    per : what has a row or a value each: a point, a column of another input, or two points, "pair"
        for a row and a column of each point and "link" for two row numbers in each row; None for
        anything else.
    noisy : whether the values are measured, so that noise may be added to them.
    names : the role that names its columns, where rows of it can be shown as features.
    evaluates : whether a tree is evaluated against it: "truth" is known of the points, "points" are
        the points themselves.
    """

    name: str
    wants: Want
    whole: bool = False
    real: bool = False
    text: bool = False
    images: bool = False
    per: Literal["point", "column", "pair", "link"] | None = "point"
    noisy: bool = False
    names: str | None = None
    evaluates: Literal["truth", "points"] | None = None

    @property
    def form(self) -> Form:
        """A row of the column of `labels` or `hierarchy` may have several values or none, and
        `graph`, a matrix, may be pairs of text."""
        return _FORM[self.wants]

    @property
    def by_role(self) -> bool:
        """Whether it takes what is neither a plain matrix nor a plain column."""
        return self.wants not in ("matrix", "column")


ROLES = {
    role.name: role
    for role in (
        Role("labels", "labels", evaluates="truth"),
        Role(
            "features",
            "matrix",
            images=True,
            noisy=True,
            names="feature_names",
            evaluates="points",
        ),
        Role("documents", "column", text=True, names="feature_names"),
        Role("logits", "matrix", noisy=True, names="names"),
        Role("top_classes", "matrix", whole=True),
        Role("distances", "matrix", per="pair", evaluates="points"),
        Role("similarity", "matrix", per="pair", evaluates="points"),
        Role("graph", "edges", per="pair"),
        Role("hierarchy", "paths", per=None, evaluates="truth"),
        Role("must_link", "matrix", per="link"),
        Role("cannot_link", "matrix", per="link"),
        Role("costs", "matrix", per=None),
        Role("names", "column", text=True),
        Role("feature_names", "column", text=True, per="column"),
        Role("tasks", "column"),
        Role("timestamps", "column", real=True),
        Role("targets", "column", real=True),
        Role("items", "table"),
    )
}
"""By name. Where several inputs could be meant, the first one is."""

EVALUATED = tuple(role.name for role in ROLES.values() if role.evaluates)
"""Inputs against which a tree is evaluated."""
TRUTH = tuple(role.name for role in ROLES.values() if role.evaluates == "truth")
"""What is known of the points, against which any tree of them is evaluated."""


def form_of(name: str | None) -> Form | None:
    """The form of a role's values; None for what takes no file."""
    role = ROLES.get(name or "")
    return role.form if role else None
