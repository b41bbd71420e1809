"""Makes `app`, `workers` and `models` importable: importing this module does it.

Many repositories have a folder `models` or `app`, and some stand on `PYTHONPATH`. The wheel keeps
ours inside this package, so it takes none of these names, and a process of the service finds ours
before all others. Other processes never see them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from umbel.later import Later

FLOORS = ("app", "workers", "models")

_HERE = Path(__file__).parent
ROOT = _HERE / "source" if (_HERE / "source").is_dir() else _HERE.parent
"""The folder with the floors: beside this package in the source tree, inside it in the wheel."""


class _Floors(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(name, [str(ROOT)], target) if name in FLOORS else None


def command(module: str, *arguments: str) -> list[str]:
    """Command that runs `main()` of a module of the floors in a fresh interpreter.

    `-c` and not `-m`: children of the fork server then have no main module to import again. `-P`
    leaves the current directory out of the path.
    """
    code = f"import umbel.floors; from {module} import main; main()"
    return [sys.executable, "-P", "-c", code, *arguments]


def _mount() -> None:
    for name in FLOORS:
        module = sys.modules.get(name)
        folders = [] if module is None else [Path(folder) for folder in module.__path__]
        if module is not None and ROOT / name not in folders:
            raise ImportError(
                f"The package {name!r} was imported from {', '.join(map(str, folders))} before "
                "Umbel's: a process of the service has its own."
            )
    sys.meta_path[:0] = [_Floors(), Later()]


_mount()
