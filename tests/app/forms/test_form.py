"""How a client chooses a form."""

from __future__ import annotations

import pytest

from app.forms.form import by_accept, by_suffix
from app.forms.tree import FORMS
from app.http.problems import Refused
from app.routes import assignments, predictions


@pytest.mark.parametrize(
    ("accept", "suffix"),
    [
        (None, "json"),
        ("", "json"),
        ("  ", "json"),
        ("*/*", "json"),
        ("application/*", "json"),
        ("image/*", "svg"),
        ("image/png, image/*;q=0.8", "png"),
        ("image/*;q=0.8, image/svg+xml;q=0.1", "png"),
        ("*/*;q=0.1, text/x-nh", "nwk"),
        ("text/x-nh;q=0.2, text/x-nexus;q=0.3", "nex"),
        ("text/x-nh ; q=1 , application/json; q=0.9", "nwk"),
        ("application/json;q=oops, text/x-nh;q=0.1", "nwk"),
        ("application/json;q=nan, text/x-nh;q=0.1", "nwk"),
        (",,;=,text/x-nh", "nwk"),
        ("application/json;version=1", "json"),
    ],
)
def test_accept(accept: str | None, suffix: str) -> None:
    assert by_accept(accept, FORMS).suffix == suffix


@pytest.mark.parametrize("accept", ["text/html", "image/webp", "*/*;q=0", "text/x-nh;q=-1", "x"])
def test_nothing_that_is_accepted(accept: str) -> None:
    with pytest.raises(Refused, match="there are") as refused:
        by_accept(accept, FORMS)
    assert refused.value.status_code == 406


def test_suffixes_and_media_types_are_different() -> None:
    for forms in (FORMS, assignments.FORMS, predictions.FORMS):
        assert len({form.suffix for form in forms}) == len(forms)
        assert len({form.media for form in forms}) == len(forms)
        for form in forms:
            assert by_suffix(form.suffix, forms) is form


def test_a_long_accept_is_cut_in_the_problem() -> None:
    with pytest.raises(Refused) as refused:
        by_accept("x/" + "y" * 5000, FORMS)
    assert len(str(refused.value.detail)) < 1000
