"""Parameters that only pictures have are refused with other forms, and say so."""

from __future__ import annotations

import pytest

from tests.app.conftest import Working, problem_of
from tests.app.tree_kit import NEWICK, post

OF_PICTURES = {"px": "400", "width_mm": "85", "palette": "okabe-ito"}


@pytest.mark.parametrize("form", [".nwk", ".json", ".csv", ".nex", ""])
@pytest.mark.parametrize("name", OF_PICTURES)
def test_other_forms_refuse_them(working: Working, form: str, name: str) -> None:
    tree = post(working, NEWICK)
    answer = working.client.get(f"/v1/trees/{tree['id']}{form}", params={name: OF_PICTURES[name]})
    problem = problem_of(answer, 422, "invalid-request")
    assert name in problem["detail"]
    assert problem["errors"][0]["parameter"] == name


@pytest.mark.parametrize("name", ["px", "width_mm"])
def test_pictures_take_them(working: Working, name: str) -> None:
    tree = post(working, NEWICK)
    answer = working.client.get(f"/v1/trees/{tree['id']}.svg", params={name: OF_PICTURES[name]})
    assert answer.status_code == 200, answer.text
