"""What this machine has to run cells on, and what a manifest says of it."""

from __future__ import annotations

import functools
import math
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
from verax.device import resolve_device
from verax.errors import VeraxError
from verax.studies.store.store import UNCOMMITTED
from verax.version import __version__, source_fingerprint

CGROUP = Path("/sys/fs/cgroup")


def cores() -> int:
    """Cores this process may use: by its affinity, and by the quota of a container."""
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    return max(1, min(available, _quota(CGROUP) or available))


def gpus(device: str) -> list[str]:
    """The GPUs that a device option means, by torch's names; none is the CPU.

    `auto` and `cuda` are all there are.
    """
    if device not in ("auto", "cuda"):
        where = resolve_device(device)
        return [] if where.type == "cpu" else [f"cuda:{where.index or 0}"]
    devices = [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    if device == "cuda" and not devices:
        raise VeraxError(
            "device 'cuda' is not there: use device cpu or auto (--device cpu)",
            code="device.unavailable",
        )
    return devices


def gpu_name() -> str | None:
    """What the GPUs are called, if all are called the same."""
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    names = {line.strip() for line in answer.stdout.splitlines() if line.strip()}
    return names.pop() if len(names) == 1 else None


def _quota(cgroup: Path) -> int | None:
    """Cores that a container may keep busy, rounded up (cgroup 2, then 1); None without a limit."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            numbers = " ".join((cgroup / name).read_text() for name in names).split()
            quota, period = int(numbers[0]), int(numbers[1])
        except (OSError, ValueError, IndexError):  # not there, or "max": no limit
            continue
        if quota > 0 and period > 0:
            return math.ceil(quota / period)
    return None


def surroundings(device: str) -> dict[str, Any]:
    """Versions, device, commit and a hash of the source of this process.

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
        "source": source_fingerprint(),
        "device": device,
        "gpu": torch.cuda.get_device_name(where) if on_gpu else None,
        "platform": f"{platform.system()} {platform.machine()}",
        "threads": torch.get_num_threads(),
    }


@functools.cache
def commit() -> str | None:
    """Return the commit that Verax runs from; None outside of a repository.

    It ends in `UNCOMMITTED` if a file of the package differs from it.
    """
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
        changed = ask("status", "--porcelain", "--untracked-files=no", ".")
        return ask("rev-parse", "HEAD") + (UNCOMMITTED if changed else "")
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
