"""Query parameters of a tree's forms."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class FormQuery(BaseModel):
    """Which part of a tree, and how it is written or drawn."""

    model_config = ConfigDict(extra="ignore")

    root: int = Field(0, ge=0, le=2**31 - 1, description="Serve only the part under this node.")
    depth: int | None = Field(
        None, ge=0, le=2**31 - 1, description="At most so many levels below the root."
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
    px: int = Field(1000, ge=100, le=4096, description="Pictures: width in pixels.")
    height: int | None = Field(
        None,
        ge=100,
        le=8192,
        description="Pictures: height in pixels; without it, it follows from the shape.",
    )
    palette: Literal["okabe-ito", "tol-muted", "tol-bright", "grey"] = Field(
        "okabe-ito", description="Pictures: the colours of the categories."
    )
    theme: Literal["light", "dark"] = Field("light", description="Pictures: the page's colours.")
    title: str | None = Field(None, max_length=300, description="Pictures: a line above.")
    color_by: str | None = Field(
        None,
        max_length=200,
        description="Pictures: `cluster:<k>`, `height:<h>` or `level:<n>` for the clusters of that "
        "cut of the whole tree, or the id of a labels dataset (npy, JSON or CSV) with one label "
        "per input row or per leaf.",
    )


class CutQuery(BaseModel):
    """Which clusters: at most one of the three; without any, the leaves."""

    model_config = ConfigDict(extra="ignore")

    k: int | None = Field(None, ge=1, le=2**31 - 1, description="So many clusters.")
    height: float | None = Field(
        None, allow_inf_nan=False, description="The highest nodes no higher than this."
    )
    level: int | None = Field(
        None, ge=0, le=2**31 - 1, description="Nodes so many edges below the root."
    )
