"""The classifiers that are compared, with the thesis's figures for CLEF.

The thesis chose C by cross-validation; here it is what a name says, else 1. Its minutes are of a
computer of its time.
"""

from __future__ import annotations

from bench import Size
from bench.classifiers.runs import Entry

FLAT, HIERARCHICAL, BAYESIAN = "2.2, 3.5", "2.3, 3.5", "2.4"
_LOW = {"C": 0.1}

BSVM = Entry("BSVM", "bsvm", {}, FLAT, 48.59, 77.53, 0.15)
BLR = Entry("BLR", "blr", {}, FLAT, 53.26, 79.92, 0.24)
MSVM = Entry("MSVM", "msvm", {}, FLAT, 54.33, 80.02, 0.20)
MLR = Entry("MLR", "mlr", {}, FLAT, 54.76, 80.52, 1.92)
TD = Entry("TD", "td-svm", {}, HIERARCHICAL, 32.32, 70.11, 0.13)
HSVM = Entry("HSVM", "hsvm", {}, HIERARCHICAL, 57.23, 79.92, 3.19)
OT = Entry("OT", "ot", {}, HIERARCHICAL, 37.12, 73.84, 1.31)
RR_SVM = Entry("RR-SVM", "rr-svm", {}, "3.2, 3.5", 53.92, 80.02, 0.42)
RR_LR = Entry("RR-LR", "rr-lr", {}, "3.2, 3.5", 55.83, 80.12, 1.02)
LOW = (
    Entry("BSVM, C = 0.1", "bsvm", _LOW),
    Entry("RR-SVM, C = 0.1", "rr-svm", _LOW),
    Entry("BLR, C = 0.1", "blr", _LOW),
    Entry("RR-LR, C = 0.1", "rr-lr", _LOW),
)
AUTO = (
    Entry("BSVM, C auto", "bsvm", {"C": "auto"}),
    Entry("RR-SVM, C auto", "rr-svm", {"C": "auto"}),
    Entry("BLR, C auto", "blr", {"C": "auto"}),
    Entry("RR-LR, C auto", "rr-lr", {"C": "auto"}),
    Entry("MLR, C auto", "mlr", {"C": "auto"}),
)


def _hblr(covariance: str, macro_f1: float, micro_f1: float, minutes: float, way: str) -> Entry:
    params = {"covariance": covariance, "inference": "variational" if way == "var" else "map"}
    return Entry(
        f"{covariance}-{way}",
        "hblr",
        params,
        {"map": "2.2, 2.4, 3.5", "var": BAYESIAN, "flat": BAYESIAN}[way],
        macro_f1,
        micro_f1,
        minutes,
        with_hierarchy=way != "flat",
    )


M1_MAP, M2_MAP, M3_MAP = (
    _hblr("M1", 55.53, 80.88, 3.0, "map"),
    _hblr("M2", 54.76, 80.25, 3.0, "map"),
    _hblr("M3", 59.65, 81.41, 3.05, "map"),
)
OF_MAP = (M1_MAP, M2_MAP, M3_MAP)
OF_FLAT = (
    _hblr("M1", 52.13, 79.82, 3.0, "flat"),
    _hblr("M2", 48.78, 77.83, 3.0, "flat"),
    _hblr("M3", 55.23, 80.52, 3.0, "flat"),
)
VARIATIONAL = (
    _hblr("M1", 56.67, 81.21, 79.0, "var"),
    _hblr("M2", 51.23, 79.92, 81.0, "var"),
    _hblr("M3", 59.67, 81.61, 80.0, "var"),
)
CORRMNL = Entry("CorrMNL", "corrmnl", {}, BAYESIAN, 55.59, 81.10, 2279.0)

_BASIC = (BSVM, BLR, MLR, RR_SVM, RR_LR, *LOW)
ON_IMCLEF: dict[Size, tuple[Entry, ...]] = {
    "quick": (*_BASIC, *OF_MAP),
    "default": (
        *(BSVM, BLR, MSVM, MLR, TD, HSVM, OT, RR_SVM, RR_LR, *LOW, *OF_MAP, *OF_FLAT),
        *(*VARIATIONAL, CORRMNL),
    ),
    "full": (
        *(BSVM, BLR, MSVM, MLR, TD, HSVM, OT, RR_SVM, RR_LR, *LOW, *AUTO, *OF_MAP, *OF_FLAT),
        *(*VARIATIONAL, CORRMNL),
    ),
}
ELSEWHERE = (*_BASIC, M3_MAP)
"""On the sets that the thesis does not have."""

ORDERS: tuple[tuple[Entry, Entry], ...] = (
    (M3_MAP, M1_MAP),
    (M1_MAP, M2_MAP),
    *((M3_MAP, worse) for worse in (BSVM, BLR, MSVM, MLR, TD, HSVM, OT, RR_SVM, RR_LR, CORRMNL)),
    (RR_LR, BLR),
    (RR_SVM, BSVM),
    (LOW[3], LOW[2]),
    (LOW[1], LOW[0]),
    (HSVM, OT),
    (OT, TD),
    (VARIATIONAL[2], VARIATIONAL[0]),
    (VARIATIONAL[0], VARIATIONAL[1]),
    *zip(VARIATIONAL, OF_MAP, strict=True),
    *zip(OF_MAP, OF_FLAT, strict=True),
)
"""The first scores above the second: claims of the thesis, and of recursive regularization at
C = 0.1."""
