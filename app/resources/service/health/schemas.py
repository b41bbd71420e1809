"""Health over the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from app.creation.waiting import WaitingValue
from app.http.late import LateModel
from models.plugins.loading import Plugin


class Health(LateModel):
    """The process or the service is healthy."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "ok"}]})

    status: Literal["ok"] = "ok"
    warnings: list[str] | None = Field(
        None, description="What the settings of Redis may lose, a sentence each; `/readyz` only."
    )
    workers: int | None = Field(
        None, description="How many workers are alive; only of `/readyz?workers=false`."
    )
    instance: str | None = Field(
        None,
        description="Which service answers: a random name of its start, the same in all processes "
        "that `umbel serve` or `umbel api` has started; `/readyz` only.",
    )


class PluginBody(LateModel):
    """A method of another distribution, beside the service's own."""

    model_config = ConfigDict(title="Plugin")

    name: str = Field(description="The id of the method.")
    distribution: str = Field(description="The installed package that it comes from.")
    version: str = Field(description="The version of that package.")
    problem: str | None = Field(
        description="Why it is left out, a sentence; null if it can be run."
    )

    @classmethod
    def of(cls, plugin: Plugin) -> PluginBody:
        entry = plugin.entry
        return cls(
            name=entry.name,
            distribution=entry.distribution,
            version=entry.version,
            problem=plugin.problem,
        )


class Version(LateModel):
    """Which version of the service answers."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "api": "1",
                    "service": "1.0.0",
                    "python": "3.11.7",
                    "instance": "5f0c2b9e4d1a7c36",
                    "waiting": [],
                    "plugins": [
                        {
                            "name": "weather-trees",
                            "distribution": "weather-methods",
                            "version": "0.3",
                            "problem": None,
                        }
                    ],
                }
            ]
        }
    )

    api: str = Field(description="The version of this contract.")
    service: str = Field(description="The version of the software.")
    python: str
    instance: str = Field(
        description="Which service answers: a random name of its start, as in `/readyz`."
    )
    waiting: list[WaitingValue] = Field(
        default=[],
        description="Maps (`by`) and forms of pictures (`form`) that are not accepted: a package "
        "that they need is not installed. What of methods waits is in `GET /v1/methods`.",
    )
    plugins: list[PluginBody] = Field(
        default=[],
        description="The methods of other packages, installed beside the service, also those that "
        "are left out. Often empty.",
    )
