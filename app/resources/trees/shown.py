"""Trees as a request shows them: with the names of a naming, and the changes of an edition."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from app.creation.named import Named
from app.http import threads
from app.http.dependencies import Service, is_id
from app.http.etags import etag_of
from app.http.pointers import QUERY
from app.http.problems import refused_at
from app.http.stored import tree_of
from app.resources.trees.coloring import by_items, by_labels, coloring
from app.resources.trees.forms import renamed
from models.editions.edited import EditedTree, edited, reshaped
from models.editions.state import Dissolve, Merge, Reorder
from models.tree.labels import Categories, moved
from models.tree.tree import Tree
from workers.artifacts import results
from workers.artifacts.editions import Edition

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class _Kept:
    """What was shown last of a tree: the edited tree of `key`, and its shape of `shape_key`."""

    key: str
    shown: EditedTree
    shape_key: str
    shape: EditedTree


_kept: WeakKeyDictionary[Tree, _Kept] = WeakKeyDictionary()


def edition_of(
    service: Service, tenant: str, tree_id: str, edition_id: str, field: str = "edition"
) -> Edition:
    """An edition that a field of a query or body names. Blocks. Raises Refused `unknown-input`
    where there is none, `wrong-input` for that of another tree."""
    edition = service.editions.get(tenant, edition_id) if is_id(edition_id, "ed") else None
    if edition is None:
        raise refused_at("unknown-input", f"There is no edition {edition_id!r}.", field)
    if edition.tree != tree_id:
        raise refused_at(
            "wrong-input",
            f"Edition {edition_id!r} is of tree {edition.tree!r}, not of {tree_id!r}.",
            field,
        )
    return edition


def shown_tree_of(
    service: Service, tenant: str, tree_id: str, names: str | None, edition: str | None
) -> EditedTree:
    """A tree with the names of a naming, and over these what an edition changed of it, where they
    are given. What was shown last of a tree is kept. Blocks. Raises Refused as `named_tree_of` and
    `edition_of`."""
    tree = named_tree_of(service, tenant, tree_id, names)
    if edition is None:
        return EditedTree(tree)
    return with_edition(tree, edition_of(service, tenant, tree_id, edition))


async def shown_etag(
    service: Service,
    tenant: str,
    tree_id: str,
    names: str | None,
    edition: str | None,
    etag: str,
) -> str:
    """The ETag of what shows a tree with a naming, which never changes, and an edition, which does.

    etag : that of the same without them. Raises Refused as `edition_of`.
    """
    if edition is not None:
        found = await threads.run_sync(edition_of, service, tenant, tree_id, edition)
        edition = f"{found.id} {found.revision}"
    return (
        etag if (names, edition) == (None, None) else etag_of(f"{etag} {names} {edition}".encode())
    )


def with_edition(tree: Tree, edition: Edition) -> EditedTree:
    """The tree with what the edition changed of it. Where only names, notes, colours and collapsed
    nodes changed since it was shown last, its shape is not made again."""
    key = f"{edition.id} {edition.revision}"
    kept = _kept.get(tree)
    if kept is not None and kept.key == key:
        return kept.shown
    moves = [each for each in edition.operations if isinstance(each, Merge | Reorder | Dissolve)]
    shape_key = sha256("\n".join(each.model_dump_json() for each in moves).encode()).hexdigest()
    state = edition.state(tree)
    same = kept is not None and kept.shape_key == shape_key
    shape = kept.shape if kept is not None and same else reshaped(state)
    shown = edited(state, shape)
    _kept[tree] = _Kept(key, shown, shape_key, shape)
    return shown


def categories_of(
    service: Service, tenant: str, tree_id: str, shown: EditedTree, color_by: str | None
) -> Categories | None:
    """The categories that `color_by` names, for a tree as shown. As `coloring`."""
    if is_id(color_by, "ds"):
        return labels_of(service, tenant, tree_id, shown, str(color_by), "color_by")
    if color_by is not None and color_by.startswith("at_"):
        tree = tree_of(service, tenant, tree_id)
        return _on(shown, by_items(service, tenant, tree_id, tree, color_by), tree)
    return coloring(service, tenant, tree_id, shown.tree, color_by)


def labels_of(
    service: Service, tenant: str, tree_id: str, shown: EditedTree, dataset_id: str, parameter: str
) -> Categories:
    """The categories of a dataset of labels, one per input row or per leaf of the stored tree, for
    the tree as shown. As `by_labels`."""
    tree = tree_of(service, tenant, tree_id)
    categories = by_labels(service, tenant, tree_id, tree, dataset_id, parameter)
    return _on(shown, categories, tree)


def _on(shown: EditedTree, categories: Categories, tree: Tree) -> Categories:
    """The categories of the stored tree for the tree as shown."""
    return categories if shown.ids is None else moved(categories, tree, shown.tree, shown.ids)


def named_tree_of(service: Service, tenant: str, tree_id: str, names: str | None) -> Tree:
    """A tree, with the names of a naming of it where one is given. Blocks. Raises Refused
    `not-found` for the tree, and as `require_of_tree` for the naming."""
    tree = tree_of(service, tenant, tree_id)
    if names is None:
        return tree
    Named("name").require_of_tree(service, tenant, names, tree_id, QUERY, "names")
    return renamed(tree, Named("name").file(service, tenant, names, results.NAMES))
