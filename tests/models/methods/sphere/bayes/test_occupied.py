"""The clusters that hold rows, out of the largest possible number."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.sphere.bayes.merging import occupied
from models.methods.sphere.bayes.priors import Sticks
from models.methods.sphere.bayes.variational import Variational
from models.methods.sphere.mixture.runs import Restarts
from models.running.progress import silent
from tests.models.methods.sphere.sphere_kit import mixture, passes_of, priors


def test_clusters_without_rows_are_left_out_and_the_rest_keep_their_proportions() -> None:
    features = mixture((30, 25), 8, 20.0, seed=2)[0]
    with passes_of(features) as passes:
        counted = np.ones(55)
        variational = Variational(
            passes, counted, "grid", priors(8), True, 1e6, 60, 1e-6, proportions=Sticks
        )
        q = Restarts(passes, counted, 1, 0).best(variational, 4, silent).estimate
    means = q.proportions.means
    cluster = np.repeat([0, 2, 3], [5, 4, 3])
    served, choice = occupied(q, cluster, -12.0, 4)
    assert (served.psi == q.psi[[0, 2, 3]]).all()
    expected = means[[0, 2, 3]] / means[[0, 2, 3]].sum()
    assert served.proportions.means == pytest.approx(expected, rel=1e-12)
    assert choice.metrics == {"n_clusters": 3.0, "lower_bound": -12.0}
    assert means[1] > 0.01
    assert (
        f"1 cluster(s) that are the likeliest of no row were left out, with {100 * means[1]:.1f}%"
        in (choice.warnings[0])
    )
    everyone, choice = occupied(q, np.arange(4), -12.0, 4)
    assert everyone is q
    assert "set it higher" in choice.warnings[0]
    # The run started with fewer.
    assert not occupied(q, np.arange(4), -12.0, 8)[1].warnings
