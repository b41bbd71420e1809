"""The command `umbel`, also `python -m umbel`."""

from __future__ import annotations


def main() -> None:
    """Run the command of `sys.argv`; its exit status is the process's."""
    import umbel.floors  # noqa: F401
    from app.cli import main as run

    run()


if __name__ == "__main__":
    main()
