"""The forms of a picture: SVG, PNG, PDF."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from app.http.forms import Chunks, Form, Warned
from app.pictures.renderer import PDF_NEEDS
from app.pictures.sheet import Sheet


class Drawable(Protocol):
    """What can be drawn, with the sheet that it is drawn on."""

    @property
    def sheet(self) -> Sheet: ...


T = TypeVar("T", bound=Drawable)

DOCUMENTED: dict[str, Any] = {
    media: {"schema": {"type": "string", "format": "binary"}}
    for media in ("image/svg+xml", "image/png", "application/pdf")
}
"""The content of a route with pictures, for the document."""


def picture_forms(draw: Callable[[T], str]) -> tuple[Form[T], Form[T], Form[T]]:
    """The three forms of what `draw` draws as SVG in pixels, as `app.pictures` does."""

    def svg(export: T) -> Chunks:
        return _chunks(*export.sheet.svg(draw(export)))

    def png(export: T) -> Chunks:
        return _chunks(*export.sheet.png(draw(export)))

    def pdf(export: T) -> Chunks:
        return _chunks(*export.sheet.pdf(draw(export)))

    return (
        Form("svg", "image/svg+xml", svg, drawn=True),
        Form("png", "image/png", png, drawn=True, rendered=True),
        Form("pdf", "application/pdf", pdf, drawn=True, rendered=True, needs=PDF_NEEDS),
    )


def _chunks(content: bytes, warning: str | None) -> Chunks:
    chunks = iter([content])
    return chunks if warning is None else Warned(chunks, warning)
