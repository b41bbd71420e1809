"""The picture of a selective curve."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from app.resources.calibrations.picture import Selective, svg

COVERAGE, ERROR = np.array([1.0, 0.6, 0.0]), np.array([0.4, 0.1, 0.0])


def drawn(curve: Selective, **options: object) -> tuple[ElementTree.Element, list[str]]:
    page = ElementTree.fromstring(svg(curve, **options))  # type: ignore[arg-type]
    texts = [str(text.text) for text in page.iter("{http://www.w3.org/2000/svg}text")]
    return page, texts


def test_the_curve_runs_from_leaves_to_the_root() -> None:
    page, texts = drawn(Selective(COVERAGE, ERROR, 0.11, 1), px=1000, title="Pets & <more>")
    assert "Pets & <more>" in texts
    assert "Share of wrong answers by share of information given; area 0.11" in texts
    assert "60% given, 10% wrong" in texts
    assert {"0%", "25%", "50%", "75%", "100%", "40%", "10%"} <= set(texts)
    paths = [str(path.get("d")) for path in page.iter("{http://www.w3.org/2000/svg}path")]
    curve = next(path for path in paths if path.count("L") == 2)
    x, y = np.array(re.findall(r"[\d.]+", curve), dtype=float).reshape(-1, 2).T
    # Along both axes from the far corner to the origin.
    np.testing.assert_allclose(np.interp(x, [x[2], x[0]], [0, 1]), COVERAGE, atol=1e-3)
    np.testing.assert_allclose(np.interp(-y, [-y[2], -y[0]], [0, 0.4]), ERROR, atol=1e-3)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_curve_of_one_step_and_without_errors(theme: str) -> None:
    for px in (100, 4096):
        one = Selective(np.ones(1), np.zeros(1), 0.0, None)
        page, texts = drawn(one, px=px, theme=theme)
        assert float(str(page.get("width"))) == px
        assert not any("given," in text for text in texts)
        assert "nan" not in svg(one, px=px)
