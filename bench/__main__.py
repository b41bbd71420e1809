"""`python -m bench`: every table, or those named."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable

from bench import service

TABLES: dict[str, Callable[[], None]] = {"service": service.table}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], help="default: all")
    asked = parser.parse_args().tables or list(TABLES)
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores")
    print(f"load at the start: {os.getloadavg()[0]:.2f}")
    for name in asked:
        print(f"\n## {name}\n")
        TABLES[name]()


if __name__ == "__main__":
    main()
