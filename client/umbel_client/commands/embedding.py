"""From texts or images to a named tree and a map: `umbel run hac texts.csv --embed --map a.svg`."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from umbel_client.client import Umbel
from umbel_client.commands import outputs
from umbel_client.commands.values import PICTURES, assignments_of, input_of, table_of
from umbel_client.dataset import Dataset
from umbel_client.embedding import TEXTS
from umbel_client.errors import InputError
from umbel_client.tree import Tree

FEATURES = "features"
"""The role of what is embedded."""

MAP_FORMS = (".csv", ".npy", ".arrow", ".json", ".svg", ".png", ".pdf")
_OF_MAPS = ("px", "color_by", "title", "theme")


def embedding_of(arguments: Namespace) -> Any:
    """What is to be embedded in place of the features: texts of lines, a file or folder, or an id.

    Raises InputError where there is none, or several, or the method takes no features.
    """
    if FEATURES not in arguments.facts.inputs:
        roles = ", ".join(arguments.facts.inputs)
        raise InputError(
            "--embed", f"it makes features, and {arguments.method} takes {roles} alone."
        )
    files = list(getattr(arguments, f"input:{FEATURES}") or [])
    if arguments.file is not None:
        files.insert(0, arguments.file)
    if len(files) != 1:
        raise InputError(
            "--embed",
            f"one file of texts, or zip or folder of images, is needed, not {len(files)}.",
        )
    return input_of(TEXTS, files[0])


def embedded(umbel: Umbel, content: Any, arguments: Namespace) -> Dataset:
    """The dataset of the vectors."""
    return umbel.embed(
        content,
        tags=arguments.tag,
        expires_at=arguments.expires_at,
        wait_s=arguments.wait_s,
        progress=False if arguments.quiet else None,
        **table_of(arguments),
    )


def named_by_terms(tree: Tree, dataset: Dataset, arguments: Namespace) -> str | None:
    """The naming of the nodes by the terms of the texts; None for images, which have none."""
    if not any(column["name"] == "text" for column in dataset.columns):
        return None
    naming = tree.name_nodes(
        "terms",
        tags=arguments.tag,
        expires_at=arguments.expires_at,
        wait_s=arguments.wait_s,
        documents=dataset,
    )
    outputs.warn(naming.warnings, arguments.quiet)
    return naming.id


def layout_of(arguments: Namespace) -> tuple[str, dict[str, str]]:
    """The form of the file of --map, "" without it, and how it is drawn. Raises InputError for an
    ending that is none."""
    form = outputs.suffix_of(arguments.map, MAP_FORMS, "--map")
    if not form and arguments.map_by is not None:
        raise InputError("--map-by", "it says how the file of --map is laid out; give that too.")
    drawn = form in outputs.PICTURES and arguments.picture
    options = assignments_of("--picture", arguments.picture, PICTURES) if drawn else {}
    return form, {name: value for name, value in options.items() if name in _OF_MAPS}


def mapped(tree: Tree, arguments: Namespace, layout: tuple[str, dict[str, str]]) -> None:
    """The file of --map, if it was given."""
    form, options = layout
    if not form:
        return
    layout_of_points = tree.lay_out(
        arguments.map_by or "pca",
        tags=arguments.tag,
        expires_at=arguments.expires_at,
        wait_s=arguments.wait_s,
    )
    outputs.warn(layout_of_points.warnings, arguments.quiet)
    outputs.saved(layout_of_points.content(f"/positions{form}", **options), arguments.map)
