"""What a calibration promises, and how its rows are used."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from models.calibration.node_sets import SetScore
from models.parameters import Exact

Loss = Literal["miss", "distance", "cost"]
Per = Literal["all", "subtree", "class"]
Answer = Literal["node", "set"]


class CalibrationTerms(Exact):
    """The promise, and how rows are split."""

    loss: Loss = Field(
        "miss",
        description="What is kept under `alpha`. `miss`: the probability that an answer does not "
        "hold the true class. `distance`: the expected number of edges from the answer up to the "
        "node that does. `cost`: the expected cost of the true class for the class under the "
        "answer that it is cheapest taken for, by `costs`.",
    )
    per: Per = Field(
        "all",
        description="For whom it holds. `all`: over all rows. `subtree`: for the rows whose most "
        "probable class lies under each node of `cut`. `class`: for the rows of each true class "
        "that has enough of them.",
    )
    answer: Answer = Field(
        "node",
        description="`node`: the deepest node on the path of the most probable class. `set`: the "
        "fewest nodes that together are a set of classes.",
    )
    score: SetScore = Field(
        "lac",
        description="For `set`: which classes are in it. `lac`: classes of at least some "
        "probability; the smallest sets. `aps`: the most probable ones up to some sum; rows that "
        "are hard get larger sets.",
    )
    alpha: float = Field(
        0.1,
        gt=0,
        le=1e9,
        allow_inf_nan=False,
        description="For `miss` a probability below 1; else a number of edges, or a cost. "
        "Predictions may ask for another.",
    )
    temperature: Literal["fit"] | float = Field(
        "fit",
        description="What scores are divided by before they become probabilities. `fit`: the one "
        "of largest likelihood, by rows that then set no threshold. A number: this one.",
    )
    temperature_share: float = Field(
        0.2,
        gt=0,
        lt=1,
        description="The share of the labelled rows, drawn by `seed`, that fit the temperature.",
    )
    seed: int = Field(0, ge=0, le=2**32 - 1, description="Seed of this draw.")

    @model_validator(mode="after")
    def _possible(self) -> CalibrationTerms:
        given = self.model_fields_set
        if self.loss == "miss" and self.alpha >= 1:
            raise ValueError(f"alpha is {self.alpha:g}; the probability of a miss is below 1")
        if self.loss != "miss" and (self.per != "all" or self.answer != "node"):
            raise ValueError(f"the loss {self.loss} is kept over all rows, by single nodes alone")
        if self.answer != "set" and "score" in given:
            raise ValueError("score is that of sets: give `answer` set too")
        if self.temperature != "fit" and not 2.0**-10 <= self.temperature <= 2.0**10:
            raise ValueError("temperature is 'fit' or a number from 1/1024 to 1024")
        if self.temperature != "fit" and given & {"temperature_share", "seed"}:
            raise ValueError("a temperature that is given needs no rows: leave out its share, seed")
        return self
