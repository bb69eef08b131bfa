"""Finding a Chromium for the tests, or installing one."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class NoBrowserError(Exception):
    """There is no Chromium, and none could be installed."""


def find_chromium() -> str | None:
    """The path of the system's Chromium, or None where it has none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def install_chromium() -> str | None:
    """Debian's package as root, else Playwright's own, whose path Playwright knows: None."""
    with _alone():
        if found := find_chromium():
            return found
        tried = []
        if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
            tried += [
                _call(["apt-get", "update", "-qq"]),
                _call(["apt-get", "install", "-y", "-qq", "chromium"]),
            ]
            if found := find_chromium():
                return found
        own = _call([sys.executable, "-m", "playwright", "install", "chromium"])
    if own is not None:
        raise NoBrowserError("; ".join(said for said in [*tried, own] if said))
    return None


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Test processes side by side install one after the other."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (Path(tempfile.gettempdir()) / "verax-tests-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _call(command: list[str]) -> str | None:
    """Run it; None if all went well, else what it said last."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=quiet, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]}: {error}"
    if done.returncode == 0:
        return None
    last = (done.stderr or done.stdout).strip().splitlines()[-1:]
    return f"{' '.join(command[:4])}: {''.join(last)}"
