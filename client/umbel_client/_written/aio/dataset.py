"""A dataset that the service keeps: an input of any number of runs.

For asyncio. Written by `make client` from `umbel_client.dataset`.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from umbel_client.core import trees, uploads
from umbel_client.core.changes import KEPT, Kept, changed
from umbel_client.core.drivers import AsyncDriver
from umbel_client.errors import InputError


class AsyncDataset:
    """An uploaded array or table; give it wherever an input is taken.

    Every call raises ProblemError for a refusal, ConnectionFailed, and UnexpectedResponse.

    body : the dataset as the service describes it.
    """

    def __init__(self, driver: AsyncDriver, body: Mapping[str, Any]) -> None:
        self._driver = driver
        self.body = dict(body)

    @property
    def id(self) -> str:
        """The dataset's id, `ds_...`."""
        return str(self.body["id"])

    @property
    def dimensions(self) -> tuple[int, ...] | None:
        """The lengths of its axes; None until the service has opened it."""
        shape = self.body.get("shape")
        return None if shape is None else tuple(shape)

    @property
    def status(self) -> str:
        """`ready`, `inspecting` or `invalid`, when it was last read."""
        return str(self.body["status"])

    async def refresh(self) -> None:
        """Read the dataset's state again."""
        self.body = await self._driver.run(
            trees.described(f"/v1/datasets/{self.id}", "id", "status")
        )

    async def content(self, form: str = "/content") -> bytes:
        """The file as it was uploaded, or what the ending of an address names: `/statements`."""
        return await self._driver.run(trees.raw(f"/v1/datasets/{self.id}{form}"))

    async def array(self) -> npt.NDArray[Any]:
        """The dataset as an array. Raises InputError unless it is a .npy file."""
        if self.body.get("format") != "npy":
            raise InputError(self.id, f"it is {self.body.get('format')}, not npy; use content().")
        raw = await self._driver.run(trees.raw(f"/v1/datasets/{self.id}/content"))
        return np.asarray(np.load(io.BytesIO(raw), allow_pickle=False))

    async def statements(self) -> dict[str, Any]:
        """Of labels that were made from statements: these, as `statements`, and the `tree` that
        they are about. Raises NotFound for other datasets.
        """
        path = f"/v1/datasets/{self.id}/statements"
        return await self._driver.run(trees.described(path, "tree", "statements"))

    async def update(
        self,
        *,
        name: str | Literal[Kept.KEPT] | None = KEPT,
        description: str | Literal[Kept.KEPT] | None = KEPT,
        tags: Sequence[str] | Literal[Kept.KEPT] | None = KEPT,
    ) -> None:
        """Change name, description or tags of the dataset; what is left out stays, None removes.

        tags : all of them, in place of the earlier ones.
        """
        self.body = await self._driver.run(
            changed(f"/v1/datasets/{self.id}", name, description, tags)
        )

    async def delete(self) -> None:
        """Remove the dataset from the service; jobs that still wait for it fail."""
        await self._driver.run(uploads.removed(f"/v1/datasets/{self.id}"))

    def __repr__(self) -> str:
        lengths = " x ".join(map(str, self.dimensions or ())) or self.status
        return f"<{type(self).__name__} {self.id}, {self.body.get('format')}, {lengths}>"
