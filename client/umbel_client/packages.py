"""Packages that are used only where they are installed."""

from __future__ import annotations

import importlib
from typing import Any

from umbel_client.errors import MissingPackage
from umbel_client.quoting import shown

_DISTRIBUTIONS = {"sklearn": "scikit-learn"}
"""What is installed for a package, where it is called otherwise."""


def package(name: str, wanted_for: str) -> Any:
    """An imported module. Raises MissingPackage with the way to install it.

    wanted_for : the call that needs it, as the user wrote it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        root = name.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != root:
            raise
        raise MissingPackage(
            f"{wanted_for} needs the package {shown(root)}, which is not installed: "
            f"pip install {_DISTRIBUTIONS.get(root, root)}"
        ) from None
