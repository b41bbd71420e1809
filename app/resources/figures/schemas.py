"""Figures that a client has drawn, over the wire: strokes, areas and texts."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from app.http.late import LateModel
from models.parameters import NUMBER

MOST_ITEMS = 10_000
MOST_MEMBERS = 15
"""What the request and an item may have at most, numbers of the list `dash` included."""
MOST_LETTERS = 100_000
"""All texts together: the renderer of PNG takes 0.03 ms of a processor for each."""
MOST_PATH = 4 << 20
"""Letters of all path data together."""
MOST_MM = 2000

Colour = Annotated[str, Field(pattern=r"^#[0-9a-fA-F]{6}$", examples=["#0072b2"])]
_Number = Annotated[float, NUMBER]
Place = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False), NUMBER]
Length = Annotated[float, Field(ge=0, le=1e5, allow_inf_nan=False), NUMBER]
Opacity = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), NUMBER]
PathData = Annotated[
    str,
    Field(
        max_length=MOST_PATH,
        pattern=r"^[MLQCAHVZahvz0-9 .,-]*$",
        description="As `d` of SVG: M, L, H, V, Q, C, A, Z with absolute, a, h, v with relative "
        "places.",
    ),
]


class StrokeItem(LateModel):
    """Lines of one colour and width."""

    model_config = ConfigDict(title="FigureStroke", extra="forbid")

    kind: Literal["stroke"]
    colour: Colour
    width: Length
    path: PathData
    alpha: Opacity = 1.0
    dash: list[Length] | None = Field(None, max_length=8, fail_fast=True)
    cap: Literal["butt", "round", "square"] = "butt"


class FillItem(LateModel):
    """Areas of one colour."""

    model_config = ConfigDict(title="FigureFill", extra="forbid")

    kind: Literal["fill"]
    colour: Colour
    path: PathData
    alpha: Opacity = 1.0


class TextItem(LateModel):
    """A line of text, vertically centred on `y`."""

    model_config = ConfigDict(title="FigureText", extra="forbid")

    kind: Literal["text"]
    x: Place
    y: Place
    text: str = Field(max_length=10_000)
    size: Length
    colour: Colour
    align: Literal["left", "center", "right"] = "left"
    turn: _Number = Field(0.0, ge=-10, le=10, allow_inf_nan=False, description="Radians.")
    halo: Colour | None = Field(None, description="A colour around the letters.")
    wide: Length | None = Field(
        None, description="The room that it has; wider text is written smaller."
    )


Item = Annotated[StrokeItem | FillItem | TextItem, Field(discriminator="kind")]

EXAMPLE: dict[str, Any] = {
    "form": "pdf",
    "width": 300,
    "height": 100,
    "width_mm": 85,
    "items": [
        {"kind": "stroke", "colour": "#0072b2", "width": 1, "path": "M10 50L200 50"},
        {"kind": "text", "x": 210, "y": 50, "text": "rose", "size": 12, "colour": "#1b2420"},
    ],
}


class FigureRequest(LateModel):
    """A drawing in its own units, and the file that is to be made of it."""

    model_config = ConfigDict(
        title="NewFigure", extra="forbid", json_schema_extra={"examples": [EXAMPLE]}
    )

    form: Literal["svg", "png", "pdf"]
    width: _Number = Field(ge=1, le=20_000, allow_inf_nan=False, description="In its own unit.")
    height: _Number = Field(
        ge=1,
        le=20_000,
        allow_inf_nan=False,
        description=f"In the same unit; on paper at most {MOST_MM:,} mm.",
    )
    width_mm: _Number = Field(ge=10, le=MOST_MM, allow_inf_nan=False)
    dpi: _Number = Field(300, ge=36, le=1200, allow_inf_nan=False, description="PNG: dots an inch.")
    fonts: Literal["embed", "none"] = Field("embed", description="SVG: whether fonts are inside.")
    title: str = Field("", max_length=300, description="What it shows, for readers of screens.")
    paper: Colour = "#ffffff"
    items: list[Item] = Field(
        max_length=MOST_ITEMS,
        fail_fast=True,
        description=f"Later ones lie on earlier ones. All texts together have at most "
        f"{MOST_LETTERS:,} letters, all paths {MOST_PATH:,}.",
    )

    @model_validator(mode="before")
    @classmethod
    def _has_few_members(cls, given: Any) -> Any:
        """Refuse what would have an error for each of very many members."""
        items = given.get("items", ()) if isinstance(given, dict) else ()
        for each in (given, *(items if isinstance(items, list) else ())):
            if isinstance(each, dict) and len(each) > MOST_MEMBERS:
                raise ValueError(
                    f"an object with {len(each):,} members; figures have at most {MOST_MEMBERS}"
                )
        return given

    @model_validator(mode="after")
    def _fits(self) -> FigureRequest:
        height_mm = self.width_mm * self.height / self.width
        if not 1 <= height_mm <= MOST_MM:
            raise ValueError(
                f"the figure would be {height_mm:g} mm high; from 1 to {MOST_MM:,} are accepted"
            )
        letters = sum(len(item.text) for item in self.items if isinstance(item, TextItem))
        if letters > MOST_LETTERS:
            raise ValueError(
                f"the texts have {letters:,} letters together; {MOST_LETTERS:,} are accepted"
            )
        path = sum(len(item.path) for item in self.items if not isinstance(item, TextItem))
        if path > MOST_PATH:
            raise ValueError(
                f"the paths have {path:,} letters together; {MOST_PATH:,} are accepted"
            )
        return self
