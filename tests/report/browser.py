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
from typing import NoReturn

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


# another apt may be at work, as on a machine that has just started
_WAITING = ("-o", "DPkg::Lock::Timeout=300")


class NoBrowserError(Exception):
    """There is no Chromium, and none could be installed."""


def find_chromium() -> str | None:
    """The path of the system's Chromium, or None where it has none.

    One that cannot say its version does not count: Ubuntu's package is a script that asks for snap.
    """
    found = (path for name in NAMES if (path := shutil.which(name)))
    return next((path for path in found if _call([path, "--version"]) is None), None)


def install_chromium() -> str | None:
    """Debian's package as root, else Playwright's own, whose path Playwright knows: None."""
    with _alone():
        if found := find_chromium():
            return found
        tried = []
        if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
            tried += [
                _call(["apt-get", "update", "-qq"]),
                _call(["apt-get", *_WAITING, "install", "-y", "-qq", "chromium"]),
            ]
            if found := find_chromium():
                return found
        own = _call([sys.executable, "-m", "playwright", "install", "chromium"])
    if own is not None:
        raise NoBrowserError("; ".join(said for said in [*tried, own] if said))
    return None


def missing(why: str) -> NoReturn:
    """No browser: a failure where `CI` is set, elsewhere a skip."""
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Test processes side by side install one after the other."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    # each user their own: nobody may open another's for writing
    name = f"verax-tests-chromium-{os.getuid()}.lock"
    with (Path(tempfile.gettempdir()) / name).open("w") as lock:
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
