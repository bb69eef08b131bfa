"""The `verax` command, and `python -m verax`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run a command; one that is interrupted while Python still imports says so in a line."""
    try:
        from verax.cli import main as run

        return run()
    except KeyboardInterrupt:
        print("verax: stopped before anything was begun", file=sys.stderr)  # noqa: T201
        return 130


if __name__ == "__main__":
    sys.exit(main())
