"""What this machine has to run cells on, found without waking a GPU.

A process that runs others must not hold a GPU itself: its context takes memory, and it would be
one more client of MPS.
"""

from __future__ import annotations

import math
import os
import subprocess
from pathlib import Path

import torch

from verax.device import resolve_device
from verax.errors import VeraxError

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
        raise VeraxError("device 'cuda' is not there: use device cpu or auto (--device cpu)")
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
