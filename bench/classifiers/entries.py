"""The classifiers that are compared, with the thesis's figures for CLEF.

The thesis chose C by cross-validation; here it is what a name says, else 1. Its minutes are of a
computer of its time.
"""

from __future__ import annotations

from typing import Literal

from bench import Size
from bench.classifiers.runs import Entry, Published

BSVM = Entry("BSVM", "bsvm", Published("2.2, 3.5", 48.59, 77.53, 0.15))
BLR = Entry("BLR", "blr", Published("2.2, 3.5", 53.26, 79.92, 0.24))
MSVM = Entry("MSVM", "msvm", Published("2.2, 3.5", 54.33, 80.02, 0.20))
MLR = Entry("MLR", "mlr", Published("2.2, 3.5", 54.76, 80.52, 1.92))
TD = Entry("TD", "td-svm", Published("2.3, 3.5", 32.32, 70.11, 0.13))
HSVM = Entry("HSVM", "hsvm", Published("2.3, 3.5", 57.23, 79.92, 3.19))
OT = Entry("OT", "ot", Published("2.3, 3.5", 37.12, 73.84, 1.31))
RR_SVM = Entry("RR-SVM", "rr-svm", Published("3.2, 3.5", 53.92, 80.02, 0.42))
RR_LR = Entry("RR-LR", "rr-lr", Published("3.2, 3.5", 55.83, 80.12, 1.02))
CORRMNL = Entry("CorrMNL", "corrmnl", Published("2.4", 55.59, 81.10, 2279.0))


def _with_weight(weight: float | Literal["auto"], *entries: Entry) -> tuple[Entry, ...]:
    return tuple(
        Entry(f"{entry.name}, C {weight}", entry.method_id, params={"C": weight})
        for entry in entries
    )


def _hblr(
    covariance: str, inference: Literal["map", "variational", "flat"], published: Published
) -> Entry:
    return Entry(
        f"{covariance}-{inference.removesuffix('iational')}",
        "hblr",
        published,
        {"covariance": covariance, "inference": "map" if inference == "flat" else inference},
        with_hierarchy=inference != "flat",
    )


M3_MAP = _hblr("M3", "map", Published("2.2, 2.4, 3.5", 59.65, 81.41, 3.05))
_MAP = (
    _hblr("M1", "map", Published("2.2, 2.4", 55.53, 80.88, 3.0)),
    _hblr("M2", "map", Published("2.2, 2.4", 54.76, 80.25, 3.0)),
    M3_MAP,
)
_FLAT = (
    _hblr("M1", "flat", Published("2.4", 52.13, 79.82, 3.0)),
    _hblr("M2", "flat", Published("2.4", 48.78, 77.83, 3.0)),
    _hblr("M3", "flat", Published("2.4", 55.23, 80.52, 3.0)),
)
_VARIATIONAL = (
    _hblr("M1", "variational", Published("2.4", 56.67, 81.21, 79.0)),
    _hblr("M2", "variational", Published("2.4", 51.23, 79.92, 81.0)),
    _hblr("M3", "variational", Published("2.4", 59.67, 81.61, 80.0)),
)

_FIRST = (BSVM, BLR, MLR, RR_SVM, RR_LR, *_with_weight(0.1, BSVM, BLR, RR_SVM, RR_LR))
_TABLES = (*_FIRST, MSVM, TD, HSVM, OT, *_MAP, *_FLAT, *_VARIATIONAL)
ON_IMCLEF: dict[Size, tuple[Entry, ...]] = {
    "quick": (*_FIRST, *_MAP),
    "default": _TABLES,
    "full": (*_TABLES, CORRMNL, *_with_weight("auto", BSVM, BLR, MLR, RR_SVM, RR_LR)),
}
_PAIRS = (BSVM, BLR, MLR, RR_SVM, RR_LR)
ELSEWHERE = {
    "WordNet nouns": (*_PAIRS, *_with_weight(0.01, *_PAIRS), M3_MAP),
    "TinyImageNet": (
        *_with_weight(0.001, BLR, MLR, RR_LR),
        *_with_weight(0.01, BSVM, RR_SVM),
        *_with_weight(0.1, BSVM, RR_SVM),
        M3_MAP,
    ),
}
"""On the sets that the thesis does not have. The more features, the smaller are useful C."""

ORDERS = (
    ("M3-map", "M1-map"),
    ("M1-map", "M2-map"),
    *(("M3-map", worse) for worse in ("BSVM", "BLR", "MSVM", "MLR", "TD", "HSVM", "OT")),
    *(("M3-map", worse) for worse in ("RR-SVM", "RR-LR", "CorrMNL")),
    *((f"RR-{loss}", f"B{loss}") for loss in ("SVM", "LR")),
    *(
        (f"RR-{loss}, C {weight}", f"B{loss}, C {weight}")
        for weight in ("0.1", "0.01", "auto")
        for loss in ("SVM", "LR")
    ),
    ("RR-LR, C 0.001", "BLR, C 0.001"),
    *(("M3-map", f"{worse}, C 0.01") for worse in ("BSVM", "BLR", "MLR", "RR-SVM", "RR-LR")),
    *(("M3-map", f"{worse}, C 0.001") for worse in ("BLR", "MLR", "RR-LR")),
    ("HSVM", "OT"),
    ("OT", "TD"),
    ("M3-var", "M1-var"),
    ("M1-var", "M2-var"),
    *((f"{model}-var", f"{model}-map") for model in ("M1", "M3")),
    *((f"{model}-map", f"{model}-flat") for model in ("M1", "M2", "M3")),
)
"""Names of entries: the first scores above the second by the thesis, there for the best C."""
