"""Colours are distinguishable and visible."""

from __future__ import annotations

import json
import subprocess
from itertools import combinations, product
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pytest

from app.pictures.palette import Palette, contrast, mix, style
from tests.needs_kit import node

# Machado, Oliveira and Fernandes (2009), severity 1, over linear RGB.
SEEN = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}


def oklab(colours: tuple[str, ...], simulation: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Ottosson (2020)."""
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ simulation.T
    cones = np.cbrt(
        np.clip(linear, 0, None)
        @ np.array(
            [
                [0.4122214708, 0.5363325363, 0.0514459929],
                [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005],
            ]
        ).T
    )
    lab: npt.NDArray[np.float64] = (
        cones
        @ np.array(
            [
                [0.2104542553, 0.7936177850, -0.0040720468],
                [1.9779984951, -2.4285922050, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.8086757660],
            ]
        ).T
    )
    return lab


@pytest.mark.parametrize("vision", SEEN)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_colours_are_distinguishable_for_everyone(
    theme: Literal["light", "dark"], vision: str
) -> None:
    colours = style(theme).colours
    assert len(set(colours)) == 20
    lab = oklab(colours, SEEN[vision])
    nearest = min(float(np.linalg.norm(a - b)) for a, b in combinations(lab, 2))
    assert nearest >= (0.07 if vision == "normal" else 0.05)
    first = min(float(np.linalg.norm(a - b)) for a, b in combinations(lab[:8], 2))
    assert first >= 0.074


@pytest.mark.parametrize("palette", get_args(Palette))
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pale_colours_are_like_no_others(theme: Literal["light", "dark"], palette: Palette) -> None:
    own = style(theme, palette)
    for simulation in SEEN.values():
        pale = oklab(own.pale, simulation)
        others = oklab((*own.colours, own.other, own.ink), simulation)
        pairs = [*combinations(pale, 2), *product(pale, others)]
        assert min(float(np.linalg.norm(a - b)) for a, b in pairs) >= 0.04
    assert min(contrast(colour, own.paper) for colour in own.pale) >= 1.25


@pytest.mark.needs("node")
def test_the_page_has_the_same_colours() -> None:
    module = (
        Path(__file__).parents[3] / "app" / "dashboard" / "js" / "tree" / "draw" / "palettes.js"
    )
    sizes = [[3], [2, 2, 2], np.random.default_rng(0).permutation(50).tolist()]
    script = f"""
        import * as palettes from {json.dumps(module.as_uri())};
        const {{ clusterColours, colourOf, onBlack, onWhite, ramp }} = palettes;
        const answer = {{}};
        for (const palette of {json.dumps(get_args(Palette))}) {{
          for (const [name, make] of [["light", onWhite], ["dark", onBlack]]) {{
            const theme = make(palette, "");
            const cuts = {json.dumps(sizes)}.map((sizes) => {{
              const clusters = sizes.map((size, category) => ({{ size, category }}));
              clusters.sort((a, b) => b.size - a.size);
              const colour = clusterColours(theme, {{ clusters, n_clusters: sizes.length }});
              return sizes.map((_, category) => colour(category));
            }});
            const {{ series, pale, other, ink, bare, shared }} = theme;
            const labels = [0, 5, 99].map((category) => colourOf(theme, category));
            const shades = ramp(theme, 64);
            const own = {{ series, pale, other, ink, bare, shared }};
            answer[`${{name}} ${{palette}}`] = {{ ...own, shades, cuts, labels }};
          }}
        }}
        console.log(JSON.stringify(answer));
    """
    command = [node(), "--input-type=module", "--eval", script]
    page = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert len(page) == 8
    for name, seen in page.items():
        theme, palette = name.split()
        own = style(theme, palette)
        cuts = [own.cluster_colours(np.array(size)) for size in sizes]
        assert seen == {
            **{word: getattr(own, word) for word in ("other", "ink", "bare", "shared")},
            "shades": own.ramp(64),
            "series": list(own.colours),
            "pale": list(own.pale),
            "cuts": cuts,
            "labels": [(*own.colours, *[own.other] * 99)[at] for at in (0, 5, 99)],
        }


@pytest.mark.parametrize("palette", get_args(Palette))
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_stand_out_from_the_page(theme: Literal["light", "dark"], palette: Palette) -> None:
    own = style(theme, palette)
    for colour in own.colours:
        assert contrast(colour, own.paper) >= 1.6
        assert contrast(own.legible(colour), own.paper) >= 4.5
        assert contrast(own.on(colour), colour) >= 3
    for colour in (own.text, own.faint, own.ink):
        assert contrast(colour, own.paper) >= 4.5
    assert not {own.ink, own.other} & set(own.colours)


def test_mixing() -> None:
    assert mix("#000000", "#ffffff", 0.5) == "#808080"
    assert mix("#123456", "#ffffff", 0.0) == "#123456"
    assert mix("#123456", "#ffffff", 2.0) == "#ffffff"
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
