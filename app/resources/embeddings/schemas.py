"""Embeddings as they go over the wire."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from app.creation.fields import Inputs, Name, NewWork
from models.parameters import Exact


class EmbeddingRequest(Exact, NewWork):
    """Texts or images to embed."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        json_schema_extra={
            "examples": [{"inputs": {"documents": ["a red fox", "a grey wolf"]}, "name": "animals"}]
        },
    )

    inputs: Inputs = Field(
        description="Either `documents`, texts as an inline list or the id of a dataset with a "
        "column of texts, or `items`, the id of a zip of images."
    )
    name: Name = Field(
        None,
        description="A name for the new dataset; by default that of the texts' dataset, and "
        "', embedded'.",
    )
