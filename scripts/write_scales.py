"""Write the table of `docs/scales.md`: what each method answers on other scales and offsets.

Every method runs on the rows of `tests.models.scales_kit`, so it takes a minute; a test compares
the methods of the page with the catalogue.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from models import registry
from models.errors import UsageError
from tests.models.scales_kit import (
    CLASSIFIERS,
    COUNTED,
    ROWS,
    SPLITS,
    TAKEN,
    TASKS,
    fitted_or_refused,
    labelled,
    rows_for,
)
from umbel.testing.examples import Example

PATH = Path(__file__).parent.parent / "docs" / "scales.md"
BEGIN, END = "<!-- written by scripts/write_scales.py -->", "<!-- end -->"

COLUMNS: tuple[tuple[str, str, float, Any], ...] = (
    ("+ 1e5", "float64", 1.0, 2.0**17),
    ("+ 1e9", "float64", 1.0, 2.0**30),
    ("one column + 1e9", "float64", 1.0, np.array([2.0**30, 0.0, 0.0, 0.0])),
    ("x 1e-30", "float64", 2.0**-100, 0.0),
    ("x 1e30", "float64", 2.0**100, 0.0),
    ("float32 + 1e3", "float32", 1.0, 2.0**10),
    ("float32 x 1e-30", "float32", 2.0**-100, 0.0),
    ("float32 x 1e30", "float32", 2.0**100, 0.0),
)


def row_of(example: Example) -> str:
    """The line of a method."""
    rows = rows_for(example)
    base: Any = fitted_or_refused(example, rows)
    cells = []
    for _, dtype, scale, offset in COLUMNS:
        found = fitted_or_refused(example, (rows * scale + offset).astype(dtype))
        if isinstance(found, UsageError):
            cells.append(f"refused: `{found.code}`")
            continue
        same = adjusted_rand_score(base[1], found[1]) > 0.99
        high, own = found[0].tree.height.max(), base[0].tree.height.max()
        power = 0.0 if scale == 1.0 or not own else np.log2(high / own) / np.log2(scale)
        heights = {1: ", heights x s", 2: ", heights x s^2"}.get(round(float(power)), "")
        cells.append(f"same{heights}" if same else "differs")
    return f"| `{example.method.id}` | {' | '.join(cells)} |"


def row_of_labels(example: Example) -> str:
    """The line of a classifier."""
    base: Any = labelled(example, ROWS)
    cells = []
    for _, dtype, scale, offset in COLUMNS:
        found = labelled(example, (ROWS * scale + offset).astype(dtype))
        if isinstance(found, UsageError):
            cells.append(f"refused: `{found.code}`")
        elif found[0] >= base[0] - 0.02:
            cells.append("same")
        else:
            named = any("Scale the columns" in warning for warning in found[1].warnings)
            cells.append("too small for `C`, with a warning" if named else "differs")
    return f"| `{example.method.id}` | {' | '.join(cells)} |"


def table() -> str:
    """All methods by scale and offset."""
    head = ["method", *(name for name, *_ in COLUMNS)]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [row_of(example) for example in sorted(TAKEN, key=str)]
    flat = {example.method.id: example for example in reversed(CLASSIFIERS)}
    lines += [row_of_labels(flat[name]) for name in sorted(flat)]
    reason = {
        **dict.fromkeys(SPLITS, "weights are regularised from 0: scale and offset are part of it"),
        **dict.fromkeys(COUNTED, "takes counts, which have a unit and 0"),
        **dict.fromkeys(TASKS, "priors of weights and targets have a unit"),
    }
    lines += [
        f"| `{name}` | {why} |{' |' * len(COLUMNS[1:])}" for name, why in sorted(reason.items())
    ]
    others = registry.built_in().keys() - reason.keys() - flat.keys()
    others -= {each.method.id for each in TAKEN}
    lines += [
        f"| `{name}` | takes no features |{' |' * len(COLUMNS[1:])}" for name in sorted(others)
    ]
    return "\n".join(lines)


def text() -> str:
    """The page with its table anew."""
    page = PATH.read_text("utf-8")
    return re.sub(
        f"{re.escape(BEGIN)}.*?{re.escape(END)}",
        lambda _: f"{BEGIN}\n{table()}\n{END}",
        page,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    PATH.write_text(text(), "utf-8")
