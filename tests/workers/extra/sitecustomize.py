"""With this folder on PYTHONPATH a process also registers the methods in `methods`."""

from __future__ import annotations

from pathlib import Path

import models.methods.partitions

models.methods.partitions.__path__.append(str(Path(__file__).parent / "methods"))
