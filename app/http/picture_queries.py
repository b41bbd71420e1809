"""Query parameters of a tree's forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from fastapi import Query
from pydantic import ConfigDict, Field, model_validator

from app.http.late import LateModel
from app.pictures.lettering import require_room
from app.pictures.palette import Palette, Theme
from app.pictures.sheet import DPI, FONT_PT, MM, PT, Sheet
from app.pictures.strips import MOST_STRIPS
from app.pictures.typefaces import typefaces
from models.answers.learned_steps import MOST_STEPS
from models.errors import UsageError

NamesOf = Annotated[
    str | None,
    Query(
        max_length=100,
        description="A naming (`nm_...`): nodes have its names; leaves where they have numbers.",
        examples=["nm_01kamjx5w0n5zr4v8cqe2t7h3f"],
    ),
]

EditionOf = Annotated[
    str | None,
    Query(
        max_length=100,
        description="An edition (`ed_...`): nodes are named, ordered, merged and collapsed as "
        "there, and keep their ids. Its names precede `names`.",
        examples=["ed_01kamjx5w0n5zr4v8cqe2t7h3f01kamjy7d2w3rk8m0vnq5c6t9e"],
    ),
]


class PictureQuery(LateModel):
    """How a picture is drawn, and its size: by pixels, or for print by millimetres."""

    model_config = ConfigDict(extra="ignore")
    of_pictures: ClassVar = frozenset(
        {"px", "width_mm", "dpi", "font_pt", "fonts", "palette", "theme", "title"}
    )

    px: int = Field(1000, ge=100, le=4096, description="Pictures: width in pixels.")
    width_mm: float | None = Field(
        None,
        ge=10,
        le=2000,
        allow_inf_nan=False,
        description="Pictures: width in millimetres, in place of `px`.",
        examples=[85],
    )
    dpi: float | None = Field(
        None,
        ge=36,
        le=1200,
        allow_inf_nan=False,
        description=f"PNG of `width_mm`: dots an inch, {DPI:g} by default.",
    )
    font_pt: float | None = Field(
        None,
        ge=3,
        le=72,
        allow_inf_nan=False,
        description="Pictures of `width_mm`: the size of labels in points, "
        f"{FONT_PT:g} by default; smaller where they are many.",
    )
    fonts: Literal["embed", "none"] | None = Field(
        None,
        description="SVG: whether the file contains its fonts; by default only with `width_mm`.",
    )
    palette: Palette = Field("okabe-ito", description="Pictures: the colours of what is shown.")
    theme: Theme = Field("light", description="Pictures: the colours of the page.")
    title: str | None = Field(None, max_length=300, description="Pictures: a title above.")

    @model_validator(mode="after")
    def _one_measure(self) -> Self:
        given = self.model_fields_set
        pixels, others = given & {"px", "height"}, given & {"height_mm", "dpi", "font_pt"}
        if self.width_mm is not None and pixels:
            raise ValueError(f"the size is given by {min(pixels)!r} or by 'width_mm', not both")
        if self.width_mm is None and others:
            raise ValueError(f"{min(others)!r} needs 'width_mm'")
        if self.width_mm is not None:
            self._require_room(self.width_mm)
        return self

    def _require_room(self, width_mm: float) -> None:
        """Raises ValueError for a side that is too short for words."""
        height = getattr(self, "height_mm", None)
        try:
            require_room(width_mm * MM, height and height * MM, (self.font_pt or FONT_PT) * PT)
        except UsageError as error:
            raise ValueError(error.detail) from error

    def sheet(self, folders: Sequence[Path]) -> Sheet:
        """The requested sheet. folders : of fonts, the operator's."""
        faces = typefaces(tuple(folders))
        if self.width_mm is None:
            return Sheet(self.px, embeds=self.fonts == "embed", typefaces=faces)
        return Sheet(
            width=self.width_mm * MM,
            font=(self.font_pt or FONT_PT) * PT,
            physical=True,
            dpi=self.dpi or DPI,
            embeds=self.fonts != "none",
            typefaces=faces,
        )


class SizedPictureQuery(PictureQuery):
    """The same with a height."""

    of_pictures: ClassVar = frozenset({"height", "height_mm"})

    height: int | None = Field(
        None,
        ge=100,
        le=8192,
        description="Pictures: height in pixels; by default it follows from what is drawn.",
    )
    height_mm: float | None = Field(
        None,
        ge=10,
        le=2000,
        allow_inf_nan=False,
        description="Pictures of `width_mm`: height in millimetres; by default it follows from "
        "what is drawn, and rows that would run over a page are drawn as high as one.",
    )

    def sheet(self, folders: Sequence[Path]) -> Sheet:
        """The requested sheet. folders : of fonts, the operator's."""
        height = self.height if self.height_mm is None else self.height_mm * MM
        return replace(super().sheet(folders), height=height)


class PartQuery(SizedPictureQuery):
    """The part of a tree, and how it is written or drawn."""

    of_pictures: ClassVar = frozenset({"shape", "color_by"})

    root: int = Field(0, ge=0, le=2**31 - 1, description="Return only the part under this node.")
    depth: int | None = Field(
        None, ge=0, le=2**31 - 1, description="The most levels below the root."
    )
    layout: Literal["flat", "nested"] = Field(
        "flat", description="JSON: a list of nodes, or d3's nested form (200 levels at most)."
    )
    labels: Literal["name", "id"] = Field(
        "name", description="Newick, Nexus and pictures: write names or node ids."
    )
    shape: Literal["circular", "rectangular", "icicle"] = Field(
        "circular", description="Pictures: how the tree is drawn."
    )
    color_by: str | None = Field(
        None,
        max_length=200,
        description="Pictures: `cluster:<k>`, `height:<h>` or `level:<n>` for the clusters of that "
        "cut of the whole tree, the id of a dataset of labels (npy, JSON or CSV), one per input "
        "row or per leaf, or `at_X.<n>` for column n of the items of an attachment, a column of "
        "categories.",
    )


class FormQuery(PartQuery):
    """The same with names, changes, strips and steps."""

    of_pictures: ClassVar = frozenset({"strips"})

    names: NamesOf = None
    edition: EditionOf = None
    strips: str | None = Field(
        None,
        max_length=320,
        description=f"Pictures: up to {MOST_STRIPS} columns of attached items, of numbers, dates "
        "or categories, as strips of colours beside the tips, from the inside out, separated by "
        "commas: `at_X.2,at_X.5`. Tips without a value are blank.",
        examples=["at_01kamjx5w0n5zr4v8cqe2t7h3f.2"],
    )
    step: int | None = Field(
        None,
        ge=0,
        le=MOST_STEPS,
        description="In place of the tree one that its fit had on its way: `number` of "
        "`/v1/trees/{tree_id}/steps`. Not with `names`, `edition` or `strips`.",
    )


class CutQuery(LateModel):
    """The clusters of a cut: at most one of the three; without any, the leaves."""

    model_config = ConfigDict(extra="ignore")

    k: int | None = Field(
        None, ge=1, le=2**31 - 1, description="The number of clusters; noise is not counted."
    )
    height: float | None = Field(
        None,
        allow_inf_nan=False,
        description="The clusters are the highest nodes that are no higher than this.",
    )
    level: int | None = Field(
        None,
        ge=0,
        le=2**31 - 1,
        description="The clusters are the nodes this many edges below the root.",
    )


MOST_LEVELS = 50


class AssignmentsQuery(CutQuery):
    """The clusters of a cut, or of several."""

    levels: str | None = Field(
        None,
        pattern=r"^[1-9][0-9]{0,9}(,[1-9][0-9]{0,9})*$",
        max_length=400,
        description="Numbers of clusters, rising, such as `5,20,80`: one cut for each, nested in "
        "each other, in place of `k`, `height` and `level`.",
        examples=["5,20,80"],
    )
    of: Literal["rows", "leaves"] = Field(
        "rows",
        description="A line for each input row, or for each leaf: of a tree of classes, which "
        "class is in which cluster.",
    )
    names: NamesOf = None
    edition: EditionOf = None

    def numbers(self) -> list[int]:
        """The numbers of clusters in `levels`. Raises UsageError `wrong-cut`."""
        numbers = [int(text) for text in (self.levels or "").split(",")]
        others = [name for name in ("k", "height", "level") if getattr(self, name) is not None]
        if self.of == "leaves":
            raise UsageError(
                "The clusters of leaves are by one cut: give 'k', 'height' or 'level' in place of "
                "'levels'.",
                code="wrong-cut",
                parameter="levels",
            )
        if others:
            raise UsageError(
                f"A cut is given by 'levels' or by {others[0]!r}, not both.",
                code="wrong-cut",
                parameter="levels",
            )
        if len(numbers) > MOST_LEVELS or any(a >= b for a, b in pairwise(numbers)):
            raise UsageError(
                f"'levels' are at most {MOST_LEVELS} numbers of clusters, each larger than the one "
                "before.",
                code="wrong-cut",
                parameter="levels",
            )
        return numbers
