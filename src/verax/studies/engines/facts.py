"""What a cell's manifest says of where and with what it was run."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import numpy
import pandas
import pyarrow
import torch

import verax
from verax.version import __version__


def surroundings(device: str) -> dict[str, Any]:
    """Versions, device and commit of this process.

    Results are published, so that nothing here names a machine: no host, user, kernel or folder.
    """
    where = torch.device(device)
    on_gpu = where.type == "cuda"
    versions = {
        "verax": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": numpy.__version__,
        "pandas": pandas.__version__,
        "pyarrow": pyarrow.__version__,
    }
    if on_gpu:
        versions["cuda"] = str(torch.version.cuda)
    return {
        "versions": versions,
        "commit": commit(),
        "device": device,
        "gpu": torch.cuda.get_device_name(where) if on_gpu else None,
        "platform": f"{platform.system()} {platform.machine()}",
        "threads": torch.get_num_threads(),
    }


@functools.cache
def commit() -> str | None:
    """The commit that Verax runs from, with `-dirty` where files differ from it; else None."""
    return _commit(Path(verax.__file__).parent)


def _commit(package: Path) -> str | None:
    git = ["git", "-C", str(package)]
    # variables that a hook of another repository sets would lead there
    environment = {n: v for n, v in os.environ.items() if not n.startswith("GIT_")}

    def ask(*words: str) -> str:
        result = subprocess.run(
            [*git, *words], capture_output=True, text=True, timeout=20, check=True, env=environment
        )
        return result.stdout.strip()

    try:
        # a package installed below somebody's checkout is no part of it
        ask("ls-files", "--error-unmatch", "version.py")
        return ask("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
