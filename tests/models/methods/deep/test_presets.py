"""Named settings: what they set, what is given beside them, and the lengths that they stand for."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from models.methods.deep.deepect import DeepECTParams
from models.methods.deep.treevae import TreeVAEParams


def test_the_papers_settings_are_set_where_nothing_is_given() -> None:
    ect = DeepECTParams(preset="paper")
    assert (ect.hidden_sizes, ect.batch_size, ect.n_clusters) == ([500, 500, 2000], 256, 20)
    assert (ect.pretrain_epochs, ect.epochs) == ("paper", "paper")
    vae = TreeVAEParams(preset="paper", batch_size=64)
    assert vae.batch_size == 64
    assert vae.passes(60_000) == vae.passes(10) == (150, 150, 200)
    whole = {**DeepECTParams().model_dump(mode="json"), "preset": "paper"}
    assert DeepECTParams.model_validate(whole) == ect, "clients send defaults too"
    for params in (ect, vae):
        again = type(params).model_validate(params.model_dump(mode="json"))
        assert again == params
        assert type(params)() == type(params)(preset="processor")


@pytest.mark.parametrize(("n_points", "passes"), [(70_000, 184), (5_000, 2500), (200, 50_000)])
def test_the_papers_length_is_in_steps(n_points: int, passes: int) -> None:
    params = DeepECTParams(preset="paper", epochs=7).of_rows(n_points)
    assert (params.n_pretrained, params.n_with_tree, params.n_epochs) == (passes, 7, passes + 7)
    steps = passes * max(1, round(n_points / params.points_of_step(n_points)))
    assert 50_000 <= steps < 50_000 + n_points / 200 + 1
    assert DeepECTParams().of_rows(n_points) == DeepECTParams()


@pytest.mark.parametrize("preset", ["best", 3, ["paper"], None])
def test_another_preset_is_refused(preset: object) -> None:
    for params in (DeepECTParams, TreeVAEParams):
        with pytest.raises(ValidationError):
            params.model_validate({"preset": preset})
