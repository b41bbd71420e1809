"""Methods with their params over the wire: in jobs, in the runs of comparisons, in models."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints

from app.http.late import LateModel

MethodId = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Params = Annotated[
    dict[str, Any],
    Field(description="Parameters as in the method's schema in the catalogue; those left out have "
          "their defaults."),
]  # fmt: skip


class StepBody(LateModel):
    """A method with its params."""

    model_config = ConfigDict(title="Step", extra="forbid")

    method: MethodId
    params: Params = {}


class NewStep(StepBody):
    """A method to run, with its params."""

    model_config = ConfigDict(title="NewStep", extra="forbid")
