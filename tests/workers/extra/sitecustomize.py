"""With this folder on PYTHONPATH a process knows the methods in `methods` as well."""

from __future__ import annotations

from pathlib import Path

import models.methods.partitions

models.methods.partitions.__path__.append(str(Path(__file__).parent / "methods"))
