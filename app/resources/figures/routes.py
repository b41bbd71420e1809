"""Figures that a client has drawn, as files for print."""

from __future__ import annotations

from typing import Any, ClassVar

from fastapi import APIRouter, Response

from app.http.bodies import StrictRoute
from app.http.dependencies import ServiceDep, Tenant
from app.http.forms import require_packages, warning
from app.http.picture_forms import DOCUMENTED
from app.http.problems import ANYWHERE, responses
from app.http.queries import ONLY_KNOWN
from app.http.streaming import Turn, in_turn, whole
from app.pictures.renderer import PDF_NEEDS
from app.pictures.sheet import MM, Sheet
from app.pictures.typefaces import typefaces
from app.resources.figures.schemas import MOST_ITEMS, MOST_MEMBERS, FigureRequest
from workers.formats.strict_json import Bound


class FigureRoute(StrictRoute):
    """For as many items as a figure may have, with all their members."""

    bound: ClassVar = Bound(MOST_ITEMS * (1 + MOST_MEMBERS) + 100)


router = APIRouter(prefix="/v1", tags=["figures"], route_class=FigureRoute, dependencies=ONLY_KNOWN)

_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": DOCUMENTED,
        "headers": {
            "Warning": {
                "description": "Characters that no font of the service has.",
                "schema": {"type": "string"},
            }
        },
    },
    **responses(
        *(*ANYWHERE, "malformed", "not-acceptable", "invalid-request"),
        *("too-large", "unsupported-format"),
    ),
}
_MEDIA = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}


@router.post(
    "/figures",
    operation_id="draw_figure",
    summary="A drawing as a file",
    response_class=Response,
    responses=_DOCUMENTED,
)
async def draw_figure(service: ServiceDep, tenant: Tenant, figure: FigureRequest) -> Response:
    """Makes an SVG, PNG or PDF of lines, areas and texts that a client has laid out, in millimetres
    and with fonts inside: what the page shows of a tree, for print. Nothing is kept, so a key that
    may only read may call it.
    """
    require_packages(figure.form, PDF_NEEDS if figure.form == "pdf" else ())

    def drawn() -> tuple[bytes, str | None]:
        from app.resources.figures.forms import svg

        sheet = Sheet(
            width=figure.width_mm * MM,
            height=figure.width_mm * MM * figure.height / figure.width,
            physical=True,
            dpi=figure.dpi,
            embeds=figure.fonts == "embed",
            typefaces=typefaces(service.settings.fonts),
        )
        write = {"svg": sheet.svg, "png": sheet.png, "pdf": sheet.pdf}[figure.form]
        return write(svg(figure))

    own = Turn("draw" if figure.form == "svg" else "render", waits=True)
    content, lost = await in_turn(drawn, own)
    return whole(content, _MEDIA[figure.form], warning(lost))
