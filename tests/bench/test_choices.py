"""When another setting counts as better, and suggested cuts of groups that are far apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from bench.choices import OTHERS, compared, of_suggested
from models.registry import methods


def test_differences_are_those_of_students_t() -> None:
    rng = np.random.default_rng(0)
    more = rng.normal(0.1, 0.05, size=(5, 3))
    more[4] = np.nan
    mean, half, n_sets, n_higher, n_sure = compared(more)
    low, high = ttest_1samp(more[:4].mean(axis=1), 0.0).confidence_interval()
    assert (mean - half, mean + half) == pytest.approx((low, high))
    assert (n_sets, n_higher) == (4, int((more[:4].mean(axis=1) > 0).sum()))
    assert n_sure == sum(ttest_1samp(own, 0.0).confidence_interval().low > 0 for own in more[:4])


def test_settings_are_of_their_methods_and_no_defaults() -> None:
    for method_id, others in OTHERS.items():
        params = methods()[method_id].Params
        for given in others.values():
            own = params.model_validate({"n_clusters": 3, **given} if _takes(params) else given)
            assert all(getattr(own, name) != params.model_fields[name].default for name in given)


def _takes(params: type) -> bool:
    return "n_clusters" in params.model_fields  # type: ignore[attr-defined]


def test_groups_far_apart_are_suggested() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 30)
    features = 20.0 * np.eye(3, 6)[labels] + rng.normal(size=(90, 6))
    assert of_suggested(features, labels, "hac") == (1.0, 1.0, 1.0, 1.0, 1.0)
    assert of_suggested(rng.normal(size=(90, 6)), labels, "hac") is None
