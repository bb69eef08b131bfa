"""The `verax` command, and `python -m verax`."""

from __future__ import annotations

import sys

from verax.version import __version__


def main() -> int:
    """Run a command; --version, completion and an early interruption need no torch."""
    if sys.argv[1:] == ["--version"]:
        print(f"verax {__version__}")  # noqa: T201
        return 0
    try:
        if sys.argv[1:2] == ["completion"]:
            from verax.completion import kept_script

            text = kept_script(sys.argv[2:])
            if text is not None:
                print(text, end="")  # noqa: T201
                return 0
        from verax.cli import main as run

        return run()
    except KeyboardInterrupt:
        print("verax: stopped before anything was begun", file=sys.stderr)  # noqa: T201
        return 130
    except Exception as error:  # before a command is there to catch it: a package does not import
        from verax.last_resort import last_resort

        return last_resort(error)


if __name__ == "__main__":
    sys.exit(main())
