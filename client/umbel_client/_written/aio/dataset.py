"""A dataset that the service keeps: an input of any number of runs.

For asyncio. Written by `make client` from `umbel_client.dataset`.
"""

from __future__ import annotations

import io
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from umbel_client._written.aio.held import AsyncHeld
from umbel_client.errors import InputError
from umbel_client.quoting import as_arguments


class AsyncDataset(AsyncHeld):
    """An uploaded array or table; give it wherever an input is taken.

    `content()` is the file as it was uploaded. Jobs that still wait for it fail when it is removed.
    """

    _collection = "datasets"
    _form = "/content"

    @property
    def dimensions(self) -> tuple[int, ...] | None:
        """The lengths of its axes; None until the service has opened it."""
        shape = self.body.get("shape")
        return None if shape is None else tuple(shape)

    @property
    def status(self) -> str:
        """`ready`, `inspecting` or `invalid`, when it was last read."""
        return str(self.body["status"])

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The columns of a table, each with its `name`, `type`, `examples` and the `role` in which
        it is used; none until the service has opened it, and where they have no names."""
        return list(self.body.get("columns") or ())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was decided about the file, and what of it is not used."""
        return tuple(map(as_arguments, self.body.get("warnings") or ()))

    async def refresh(self) -> None:
        """Read the dataset's state again."""
        self.body = await self._connection.described(self._path, *self._needed)

    async def array(self) -> npt.NDArray[Any]:
        """The dataset as an array: of a .npy file, or of a transformation's rows with ids or an
        embedding's, which takes pyarrow. Raises InputError for others; use `content()`."""
        table = await self._transformed()
        if table is not None:
            vectors = table.column("features").combine_chunks()
            flat = vectors.flatten().to_numpy(zero_copy_only=False)
            return np.asarray(flat.reshape(len(vectors), -1))
        if self.body.get("format") != "npy":
            raise InputError(self.id, f"it is {self.body.get('format')}, not npy; use content().")
        raw = await self._connection.raw(f"{self._path}/content")
        return np.asarray(np.load(io.BytesIO(raw), allow_pickle=False))

    async def ids(self) -> list[str] | None:
        """The ids of the rows of a transformation or an embedding, which takes pyarrow; None where
        they have none. Raises InputError without pyarrow."""
        table = await self._transformed()
        if table is None or "id" not in table.column_names:
            return None
        return list(table.column("id").to_pylist())

    async def _transformed(self) -> Any:
        """The table of the rows of a transformation with ids, or of an embedding; None for other
        datasets."""
        own = {column["name"]: column["type"] for column in self.columns}
        others = own.keys() - {"features"}
        made = own.get("features") == "vector" and others <= {"id", "text"}
        if self.body.get("format") != "arrow-file" or not made or not others:
            return None
        if find_spec("pyarrow") is None:
            raise InputError(self.id, "it is an Arrow file: install pyarrow, or use content().")
        import pyarrow

        raw = await self._connection.raw(f"{self._path}/content")
        return pyarrow.ipc.open_file(pyarrow.BufferReader(raw)).read_all()

    async def statements(self) -> dict[str, Any]:
        """The `statements` from which labels were made, and the `tree` that they are about.
        Raises NotFound for other datasets.
        """
        path = f"{self._path}/statements"
        about = await self._connection.described(path, "tree", query={"limit": 1})
        return {"tree": about["tree"], "statements": await self._connection.listed(path)}

    def __repr__(self) -> str:
        lengths = " x ".join(map(str, self.dimensions or ())) or self.status
        return f"<{type(self).__name__} {self.id}, {self.body.get('format')}, {lengths}>"
