"""How many classes that were hung in wrong places `placements` finds.

A quarter of the classes is hung in the group of another class drawn at random, several times.
`far`: of a class whose path shares at most five nodes with its own, as in WordNet. Counted are
those among the first, 1.2 times as many as were planted; `odd` are those called odd at .05.
"""

from __future__ import annotations

import json

import numpy as np

from bench import Size, real_data
from bench.report import Report
from models.calibration.class_rows import class_scores
from models.inputs.data import Data
from models.placements.evidence import class_means, likeness
from models.placements.placements import groups, placements, shared
from models.registry import method
from models.running.progress import silent
from models.tree import class_paths

_DRAWS: dict[Size, int] = {"quick": 2, "default": 12, "full": 50}
_FAR = 5
_SHARE, _MORE, _LEVEL = 0.25, 1.2, 0.05

Paths = dict[str, tuple[str, ...]]


def table(report: Report, size: Size) -> None:
    for name, stem, described_in, read in (
        ("tinyimagenet", "tinyimagenet_efflite0", "tinyimagenet", _images),
        ("languages", "lang_py3langid_udhr", "lang_py3langid_udhr", _tongues),
    ):
        logits = real_data(f"{stem}_logits.npy")
        described = real_data(f"{described_in}_classes.json")
        if logits is None or described is None:
            report.left_out("placements", name)
            continue
        names, paths = read(json.loads(described.read_text()))
        fits = method("class-tree")
        rows = Data({"logits": np.load(logits), "names": names})
        fitted = fits.fit(rows, fits.Params())
        assert fitted.model is not None
        scores = class_scores(fits, fitted.model, fitted.tree, rows)
        for which in ("any", "far") if name == "tinyimagenet" else ("any",):
            for by in ("scores", "tree"):
                found, called = [], []
                for seed in range(_DRAWS[size]):
                    planted, moved = _planted(paths, seed, far=which == "far")
                    lines = ["/".join((*path, own)) for own, path in moved.items()]
                    hierarchy = class_paths.read("\n".join(lines))
                    both = shared(fitted.tree, hierarchy)
                    means = class_means(scores, both.leaf, silent) if by == "scores" else None
                    alike = likeness(fitted.tree, both.leaf, means)
                    fit = placements(groups(hierarchy, both.hung), alike).classes
                    first = fit.order[: int(_MORE * len(planted))].tolist()
                    found.append(len(planted & {both.name[at] for at in first}))
                    called.append(int((fit.adjusted <= _LEVEL).sum()))
                report.row(
                    "placements",
                    hierarchy=name,
                    classes=len(paths),
                    planted=int(_SHARE * len(paths)),
                    where=which,
                    by=by,
                    found=float(np.mean(found)),
                    fewest=min(found),
                    most=max(found),
                    odd=float(np.mean(called)),
                )


def _planted(paths: Paths, seed: int, *, far: bool) -> tuple[set[str], Paths]:
    """(the classes that were moved, the path of each class)."""
    rng, names = np.random.default_rng(seed), list(paths)
    drawn = {names[at] for at in rng.choice(len(names), int(_SHARE * len(names)), replace=False)}
    moved = dict(paths)
    for own in sorted(drawn):
        while True:
            other = names[int(rng.integers(len(names)))]
            common = 0
            for ours, theirs in zip(paths[own], paths[other], strict=False):
                if ours != theirs:
                    break
                common += 1
            apart = paths[other] != paths[own] and (not far or common <= _FAR)
            if other not in drawn and apart:
                break
        moved[own] = paths[other]
    return drawn, moved


def _images(described: dict[str, list[list[str]]]) -> tuple[list[str], Paths]:
    names = [str(each) for each in described["wnid"]]
    return names, {
        name: tuple(path[:-1]) for name, path in zip(names, described["wordnet_path"], strict=True)
    }


def _tongues(described: dict[str, dict[str, str]]) -> tuple[list[str], Paths]:
    names, family = list(described["classes"]), described["family"]
    return names, {name: (family[name],) for name in names if family.get(name)}
