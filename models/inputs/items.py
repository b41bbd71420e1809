"""The table of items: typed columns of one length.

An image is held as the bytes of its file. A missing value is null in every kind of column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    import pyarrow as pa

    from models.arrays import Int

Kind: TypeAlias = Literal["number", "category", "date", "text", "image"]
KINDS: tuple[Kind, ...] = get_args(Kind)

MOST_COLUMNS = 256


@dataclass(frozen=True, slots=True, eq=False)
class ItemColumn:
    """One column.

    values : (n_items,) an Arrow array: float64 of a `number`, finite where it is not null;
        dictionary(int32, string) of a `category`, the most frequent one first, equally frequent
        ones in sorted order; timestamp("us", "UTC") of a `date`; large_string of a `text`;
        large_binary of an `image`.
    n_not_finite : NaN and infinite numbers, which are null.
    """

    name: str
    kind: Kind
    values: pa.Array
    n_not_finite: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ItemTable:
    """columns : at least one, under distinct names."""

    columns: tuple[ItemColumn, ...]

    @property
    def n_items(self) -> int:
        return len(self.columns[0].values)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_items if self.columns else 0, len(self.columns)

    def take(self, rows: Int) -> ItemTable:
        """These rows, in this order."""
        return ItemTable(
            tuple(replace(column, values=column.values.take(rows)) for column in self.columns)
        )


def ranked(values: pa.Array) -> pa.DictionaryArray:
    """Texts as categories, the most frequent first, equally frequent ones in sorted order.

    values : (n,) an Arrow array of texts, null for none. O(n + k log k) for k distinct ones.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    coded = values.dictionary_encode()
    first = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    times = np.bincount(first[first >= 0], minlength=len(coded.dictionary))
    order = pc.sort_indices(
        pa.table({"times": times, "text": coded.dictionary}),
        sort_keys=[("times", "descending"), ("text", "ascending")],
    ).to_numpy()
    # One place more: -1 of a missing value stays -1.
    code = np.full(len(order) + 1, -1, dtype=np.int32)
    code[order] = np.arange(len(order))
    codes = code[first]
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, mask=codes < 0), coded.dictionary.take(pa.array(order)).cast(pa.string())
    )
