"""The forms in which a resource is served, how a client chooses among them, and their routes.

`mount` makes two routes of one endpoint: the form by suffix (`/v1/trees/tr_1.nwk`) and by `Accept`.
`respond` writes the chosen form: `ETag` and 304, `Vary`, whole or streamed.
"""

from __future__ import annotations

import inspect
import io
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Generic, TypeVar, get_args

import numpy as np
import numpy.typing as npt
from fastapi import APIRouter, Header, Path, Request, Response

from app.http.etags import matches, require_match
from app.http.pointers import QUERY
from app.http.problems import Refused
from app.http.streaming import Turn, streamed
from models.running import packages

T = TypeVar("T")
Endpoint = TypeVar("Endpoint", bound=Callable[..., Awaitable[Response]])
Chunks = Iterator[bytes]

_VALUES = 1 << 17
"""Values of an array that are written at a time."""

FORMS = "x-umbel-forms"
"""The member of a route's operation with its forms; `app.openapi.form_paths` takes it out."""
DRAWN = "x-umbel-drawn"
"""The member of a route's operation with the parameters of pictures alone; taken out, too."""


OF_PICTURES = "of_pictures"
"""The attribute of a query model that names its parameters that only pictures have."""


class Warned(Iterator[bytes]):
    """The chunks of a form that cannot represent everything, and what that is, in ASCII."""

    def __init__(self, chunks: Chunks, warning: str) -> None:
        self._chunks = chunks
        self.warning = warning

    def __next__(self) -> bytes:
        return next(self._chunks)


@dataclass(frozen=True, slots=True)
class Form(Generic[T]):
    """One form of a T: suffix of the path, media type, writer.

    drawn : whether it is a picture. rendered : whether another process makes it, which has its own
    queue. needs : optional packages (`models.running.packages`) without which it cannot be
    written.
    """

    suffix: str
    media: str
    write: Callable[[T], Chunks]
    drawn: bool = False
    rendered: bool = False
    needs: tuple[str, ...] = ()


def by_suffix(suffix: str, forms: Sequence[Form[T]]) -> Form[T]:
    """The form with this suffix. Raises Refused `not-acceptable` (406), which lists all forms."""
    for form in forms:
        if form.suffix == suffix:
            return form
    near = get_close_matches(suffix[:40], [form.suffix for form in forms], 1)
    meant = f" Did you mean .{near[0]}?" if near else ""
    raise _none_fits(f"the suffix .{suffix}", forms, meant)


def documented(forms: Sequence[Form[T]], drawn: Iterable[str] = ()) -> dict[str, Any]:
    """What a route of forms adds to its operation: the media type of each suffix, and which of
    its parameters only pictures have."""
    return {FORMS: {form.suffix: form.media for form in forms}, DRAWN: sorted(drawn)}


def by_accept(accept: str | None, forms: Sequence[Form[T]]) -> Form[T]:
    """The form that an `Accept` header prefers, the first of `forms` without a preference.

    A form that needs a package that is not installed is chosen only if it accepts no other.
    Raises Refused `not-acceptable` (406), which lists all forms, if it accepts none of them.
    """
    if not accept or not accept.strip():
        return forms[0]
    ranges = [_media_range(item) for item in accept.split(",") if item.strip()]
    best, best_rank = None, (False, 0.0)
    for form in forms:
        quality = _quality(form.media, ranges)
        rank = (not packages.missing(form.needs), quality)
        if quality > 0 and rank > best_rank:
            best, best_rank = form, rank
    if best is None:
        raise _none_fits(f"Accept: {accept[:200]}", forms)
    return best


def require_packages(suffix: str, needed: Iterable[str]) -> None:
    """Raises UsageError `not-acceptable` where a package that a form needs is not installed."""
    packages.require(f"The form {suffix!r}", needed, code="not-acceptable", parameter="form")


def _media_range(item: str) -> tuple[str, float]:
    media, *parameters = (part.strip().lower() for part in item.split(";"))
    quality = 1.0
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                quality = float(parameter[2:])
            except ValueError:
                quality = 0.0
    return media, quality


def _quality(media: str, ranges: Sequence[tuple[str, float]]) -> float:
    """RFC 9110: the most specific matching range decides."""
    kind = media.partition("/")[0]
    for pattern in (media, f"{kind}/*", "*/*"):
        qualities = [quality for accepted, quality in ranges if accepted == pattern]
        if qualities:
            return max(qualities)
    return 0.0


def _none_fits(what: str, forms: Sequence[Form[T]], meant: str = "") -> Refused:
    there_are = ", ".join(f".{form.suffix} ({form.media})" for form in forms)
    return Refused("not-acceptable", f"Nothing fits {what}; there are {there_are}.{meant}")


def mount(
    router: APIRouter,
    path: str,
    forms: Sequence[Form[T]],
    *,
    summary: str,
    responses: dict[int | str, dict[str, Any]],
    is_documented: bool = True,
) -> Callable[[Endpoint], Endpoint]:
    """A decorator that serves an endpoint at `path` by `Accept` and at `path.{form}`.

    The endpoint has a parameter `form: Form[T]`, which is filled in; its name is the operation's id
    (with `_as` for the route by suffix), its docstring the description.

    responses : as documented, of both routes. is_documented : False where they stay served for
    clients of earlier versions alone.
    """
    suffixes = [form.suffix for form in forms]
    listed = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}."
    media = f"One of {', '.join(f'`{form.media}`' for form in forms)}; the first by default."
    plain = re.sub(r":\w+}", "}", router.prefix + path)
    suffix = _keyword("form", Annotated[str, Path(description=listed, examples=[suffixes[1]])])
    accept = _keyword("accept", Annotated[str | None, Header(description=media)], None)

    def mounted(endpoint: Endpoint) -> Endpoint:
        name = endpoint.__name__
        drawn = frozenset() if all(form.drawn for form in forms) else _of_pictures(endpoint)
        extra = documented(forms, drawn)
        router.get(
            f"{path}.{{form}}",
            operation_id=f"{name}_as",
            summary=f"{summary}, by suffix",
            description=f"As `GET {plain}`, in the form that the suffix names.",
            response_class=Response,
            responses=responses,
            include_in_schema=is_documented,
            openapi_extra=extra,
        )(_choosing(endpoint, suffix, lambda text: by_suffix(text, forms), drawn))
        router.get(
            path,
            operation_id=name,
            summary=summary,
            description=inspect.getdoc(endpoint),
            response_class=Response,
            responses=responses,
            include_in_schema=is_documented,
            openapi_extra=extra,
        )(_choosing(endpoint, accept, lambda text: by_accept(text, forms), drawn))
        return endpoint

    return mounted


def _of_pictures(endpoint: Callable[..., Any]) -> frozenset[str]:
    """The query parameters of an endpoint that only pictures have, as its query models say."""
    annotations = [
        own.annotation for own in inspect.signature(endpoint, eval_str=True).parameters.values()
    ]
    models = [next(iter(get_args(each)), each) for each in annotations]
    return frozenset().union(
        *(
            vars(base).get(OF_PICTURES, ())
            for model in models
            if isinstance(model, type)
            for base in model.__mro__
        )
    )


def _refuse(form: Form[T], drawn: Set[str], given: Iterable[str]) -> None:
    """Raises Refused `invalid-request` for parameters of pictures with another form."""
    details = {
        name: f"The form {form.suffix!r} has no query parameter {name!r}; only pictures have it."
        for name in given
        if name in drawn
    }
    if details:
        errors = [{"detail": text, "pointer": [QUERY, name]} for name, text in details.items()]
        raise Refused("invalid-request", next(iter(details.values())), errors=errors)


def _keyword(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _choosing(
    endpoint: Callable[..., Awaitable[Response]],
    parameter: inspect.Parameter,
    choose: Callable[[Any], Form[T]],
    drawn: Set[str],
) -> Callable[..., Awaitable[Response]]:
    """The endpoint with `parameter`, which chooses the form, in place of `form`.

    drawn : the query parameters that only pictures have; other forms refuse them.
    """

    async def chosen(**arguments: Any) -> Response:
        form = choose(arguments.pop(parameter.name))
        if drawn and not form.drawn:
            _refuse(form, drawn, arguments["request"].query_params)
        return await endpoint(**arguments, form=form)

    signature = inspect.signature(endpoint, eval_str=True)
    parameters = [
        parameter if own.name == "form" else own.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for own in signature.parameters.values()
    ]
    # FastAPI reads a route's parameters from here.
    vars(chosen)["__signature__"] = signature.replace(parameters=parameters)
    return chosen


async def respond(
    request: Request,
    form: Form[T],
    load: Callable[[], tuple[T, Mapping[str, str]]],
    turn: Turn,
    *,
    etag: str | None = None,
) -> Response:
    """The result of `load` in this form: 200, or 304 if the client has it.

    load : gives the value to write, and its headers; blocks, and is called in `turn`. Its errors,
        and the first chunks' errors, are still answered as problems.
    etag : that of this form; None if clients cannot cache it.

    Raises as `require_packages`.
    """
    require_packages(form.suffix, form.needs)
    headers = {"Vary": "Accept"}
    if etag is not None:
        headers |= {"ETag": etag, "Cache-Control": "private, no-cache"}
        require_match(request.headers.get("if-match"), etag)
        if matches(request.headers.get("if-none-match"), etag):
            return Response(status_code=304, headers=headers)

    def chunks() -> Chunks:
        content, own = load()
        headers.update(own)
        written = form.write(content)
        if isinstance(written, Warned):
            headers.update(warning(written.warning))
        yield from written

    if form.drawn:
        turn = Turn("render" if form.rendered else "draw", waits=True)
    response = await streamed(chunks(), turn, form.media)
    response.headers.update(headers)
    return response


def warning(text: str | None) -> dict[str, str]:
    """A `Warning` header with this text; none without one."""
    return {} if text is None else {"Warning": f'199 - "{text}"'}


def npy_chunks(array: npt.NDArray[Any]) -> Chunks:
    """The array as a .npy file, `_VALUES` values a chunk."""
    whole = np.ascontiguousarray(array)
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(whole))
    yield head.getvalue()
    flat = whole.reshape(-1)
    for start in range(0, flat.size, _VALUES):
        yield flat[start : start + _VALUES].tobytes()
