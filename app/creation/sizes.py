"""How large the inputs of a request are, from which its kind estimates what it takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

from app.http.dependencies import Service, is_id
from workers.kinds.kind import OfTree, Options, Size
from workers.kinds.of_fit import OfFit
from workers.model import sibling

_LETTERS = 4
"""The bytes of one value in a list of an inline input, about."""

Refs = Mapping[str, str | list[str]]
Inline = Mapping[str, bytes | memoryview]


def size_of(service: Service, tenant: str, options: Options, inputs: Refs, inline: Inline) -> Size:
    """The size of what the request names; what is gone meanwhile counts as nothing. Blocks."""
    own_ids = [each for ref in inputs.values() for each in _listed(ref)]
    if isinstance(options, OfTree):
        own_ids.append(options.tree)
    if isinstance(options, OfFit):
        own_ids += _of_fit(service, tenant, options)
    sizes = [_stored(service, tenant, own_id) for own_id in own_ids if own_id != "inline"]
    return _together([*sizes, *map(_of_inline, inline.values())])


def _of_fit(service: Service, tenant: str, options: OfFit) -> Iterator[str]:
    """The ids of the inputs of the tree's fit that are shown."""
    job = service.ledger.get(tenant, sibling(options.tree, "job"))
    for role in (options.of_fit, options.names_of_fit):
        if job is not None and role is not None:
            yield from _listed(job.inputs.get(role, []))


def _listed(ref: str | list[str]) -> list[str]:
    return [ref] if isinstance(ref, str) else list(ref)


def _stored(service: Service, tenant: str, own_id: str) -> Size:
    if is_id(own_id, "tr"):
        tree = service.trees.record(tenant, own_id)
        return Size() if tree is None else Size(n_nodes=tree.n_nodes + tree.n_points, n_trees=1)
    dataset = service.datasets.get(tenant, own_id) if is_id(own_id, "ds") else None
    if dataset is None:
        return Size()
    shape = dataset.shape or ()
    return Size(
        n_rows=shape[0] if shape else 0, n_values=prod(shape) if shape else 0, n_bytes=dataset.bytes
    )


def _of_inline(content: bytes | memoryview) -> Size:
    """The size of a list of lists, or of a flat one, by its brackets and commas."""
    if isinstance(content, memoryview):
        return Size(n_bytes=len(content))
    n_rows = content.count(b"[") - 1 or content.count(b",") + 1
    return Size(n_rows=n_rows, n_values=len(content) // _LETTERS, n_bytes=len(content))


def _together(sizes: Iterable[Size]) -> Size:
    """Inputs beside each other have the same rows."""
    whole = Size()
    for size in sizes:
        whole = Size(
            n_rows=max(whole.n_rows, size.n_rows),
            n_values=whole.n_values + size.n_values,
            n_bytes=whole.n_bytes + size.n_bytes,
            n_nodes=whole.n_nodes + size.n_nodes,
            n_trees=whole.n_trees + size.n_trees,
        )
    return whole
