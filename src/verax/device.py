"""Which device to compute on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from verax.errors import VeraxError, cause_of

# cuBLAS repeats itself only with a fixed workspace; it must be set before its first use.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


OUT_OF_MEMORY = (
    "not enough memory: take fewer or shorter documents (--limit, --truncate), a smaller model, or "
    "fewer at once (--max-tokens)"
)
_NO_MEMORY = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "ALLOC_FAILED",  # cuBLAS and cuDNN
)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether that is what happened, or what it all began with: cleaning up may fail as well."""
    if error is None:
        return False
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    if isinstance(error, RuntimeError) and any(words in str(error) for words in _NO_MEMORY):
        return True
    return is_out_of_memory(cause_of(error))


@contextmanager
def enough_memory(advice: str) -> Iterator[None]:
    """Within it, memory that runs out is an error for the user, with what to do about it."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise VeraxError(f"not enough memory: {advice}", code="device.out-of-memory") from error


def resolve_device(name: str) -> torch.device:
    """`auto` is a GPU where there is one; otherwise a torch device name such as cpu or cuda:1."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise VeraxError(
            f"unknown device {name!r:.60}: use auto, cpu, cuda or cuda:1", code="device.unknown"
        ) from None
    if device.type not in ("cpu", "cuda"):
        raise VeraxError(
            f"device {name!r} is not one Verax runs on: use auto, cpu or cuda",
            code="device.unknown",
        )
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise VeraxError(
            f"device {name!r} is not there: use device cpu or auto (--device cpu)",
            code="device.unavailable",
        )
    return device


@contextmanager
def full_precision() -> Iterator[None]:
    """On a GPU, single precision as the CPU has it: cuDNN would cut it to TF32's three digits."""
    flags = torch.backends.cudnn
    with flags.flags(
        enabled=flags.enabled,
        benchmark=flags.benchmark,
        deterministic=flags.deterministic,
        allow_tf32=False,
    ):
        yield
