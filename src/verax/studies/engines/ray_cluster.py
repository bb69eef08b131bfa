"""Joining or starting a Ray cluster, and how many cells fit on it."""

from __future__ import annotations

import logging
import os
import runpy
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import verax
from verax.errors import VeraxError
from verax.studies.engines.engine import first_line
from verax.studies.engines.machine import cores
from verax.studies.grid.study import Hardware
from verax.version import __version__

_PATIENCE = 30.0
"""Seconds in which a cluster has to answer: Ray itself would try for minutes."""

_FINEST = 10_000
"""The smallest part of a GPU that Ray gives out, as one of so many."""

_START = "start one with `ray start --head`, or leave out the address"


@dataclass(frozen=True)
class Node:
    id: str
    cpus: float
    gpus: float


@dataclass(frozen=True)
class Cluster:
    """A connection to a cluster; `ours` if it was made here, so that it ends with the engine."""

    address: str
    job: str
    ours: bool


@dataclass(frozen=True)
class Share:
    """What a cell takes of a node. One with GPUs takes nothing of a node without."""

    cpus: int
    gpus: float = 0.0

    @property
    def device(self) -> str:
        return "cuda" if self.gpus else "cpu"

    def fits(self, nodes: Iterable[Node]) -> int:
        """How many cells nodes hold at once, each whole on one of them.

        >>> Share(2).fits([Node("a", 5, 0), Node("b", 1, 0)])
        2
        >>> Share(1, 0.5).fits([Node("a", 8, 2), Node("b", 3, 2), Node("c", 8, 0)])
        7
        """
        return sum(
            min(int(node.cpus / self.cpus), int(node.gpus) * int(1 / self.gpus))
            if self.gpus
            else int(node.cpus / self.cpus)
            for node in nodes
        )


def import_ray(alone: bool = False) -> Any:
    """Import Ray with usage statistics off.

    Args:
        alone: whether a cluster of this machine alone is to be started. Then its processes listen
            on the loopback address only, and want a token, which is drawn anew and given to them by
            the environment. Ray reads these settings when it is imported: where it was imported
            before, they stay as they are, and so does a token that the user has set.
    """
    settings = {
        "RAY_USAGE_STATS_ENABLED": "0",
        # what newer versions do anyway; older ones warn that they will
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    if alone and "ray" not in sys.modules:
        settings |= {
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # on any system: no cluster, but one node
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
        }
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise VeraxError(
            "the ray engine needs Ray: pip install 'verax[ray]'", code="package.missing"
        ) from error
    return ray


def join(hardware: Hardware) -> Cluster:
    """Connect to the cluster at the address, or start one here where none is given.

    A process that is connected already stays so. Every node of a cluster needs the same version of
    Verax; a cluster started here imports it from where it is, and is out of reach from elsewhere.
    """
    address = hardware.address
    ray = import_ray(alone=address is None)
    ours = not ray.is_initialized()
    if ours:
        _connect(ray, hardware)
    context = ray.get_runtime_context()
    if not ours and address not in (None, "auto", context.gcs_address):
        raise VeraxError(
            f"this process is connected to Ray at {context.gcs_address} already, not at "
            f"{address}: disconnect it (ray.shutdown()), or leave out the address",
            code="engine.unavailable",
        )
    return Cluster(context.gcs_address, context.get_job_id(), ours)


def _connect(ray: Any, hardware: Hardware) -> None:
    address = hardware.address
    settings: dict[str, Any] = {"address": address}
    if address is None:
        settings = {
            "address": "local",  # else Ray would join any cluster that it finds
            "num_cpus": max(cores(), (hardware.workers or 1) * hardware.threads),
            "num_gpus": 0 if hardware.device == "cpu" else None,
            "include_dashboard": False,
        }
    else:
        _check_address(address)
    try:
        with _same_sigterm_handler(), _verax_on_path() if address is None else nullcontext():
            ray.init(**settings, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # a node that is slow to start is this very class
        ray.shutdown()  # what was started of it
        doing = "cannot start Ray here" if address is None else f"cannot join Ray at {address}"
        raise VeraxError(f"{doing}: {first_line(error)}", code="engine.unavailable") from error
    if address is not None:
        try:
            _check_versions()
        except BaseException:
            ray.shutdown()
            raise


def nodes() -> list[Node]:
    """The nodes that are alive, with all their CPUs and GPUs."""
    alive = (node for node in import_ray().nodes() if node["Alive"])
    resources = ((node["NodeID"], node["Resources"]) for node in alive)
    return [Node(name, has.get("CPU", 0.0), has.get("GPU", 0.0)) for name, has in resources]


def share(hardware: Hardware, nodes: Iterable[Node]) -> Share:
    """What each cell takes of the cluster; an error where no node has as much."""
    nodes, device = list(nodes), hardware.device
    with_gpu = [node for node in nodes if node.gpus >= 1]
    if device not in ("auto", "cpu", "cuda"):
        raise VeraxError(
            f"device {device!r}: Ray picks the GPU itself, use auto, cpu or cuda",
            code="device.unknown",
        )
    if device == "cuda" and not with_gpu:
        raise VeraxError(
            "device 'cuda' is not there: no node has a GPU, use device cpu or auto",
            code="device.unavailable",
        )
    part = 0.0
    if device != "cpu" and with_gpu:
        # rounded down: seven times 0.1429 would be more than a GPU
        part = max(1, _FINEST // (hardware.cells_per_gpu or 1)) / _FINEST
    cell = Share(hardware.threads, part)
    if not cell.fits(nodes):
        most = int(max((node.cpus for node in (with_gpu if part else nodes)), default=0))
        raise VeraxError(
            f"no node has the {hardware.threads} CPUs that a cell takes, the largest has {most}: "
            "set threads lower",
            code="option.out-of-range",
        )
    return cell


@contextmanager
def _verax_on_path() -> Iterator[None]:
    """Let processes started now import the Verax that runs here, however it was found."""
    before = os.environ.get("PYTHONPATH")
    package = str(Path(verax.__file__).parent.parent)
    os.environ["PYTHONPATH"] = os.pathsep.join([package, before] if before else [package])
    try:
        yield
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before


@contextmanager
def _same_sigterm_handler() -> Iterator[None]:
    """Put a handler for SIGTERM back: Ray sets its own."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if callable(before) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _check_address(address: str) -> None:
    """Raise soon if no cluster answers: Ray would try for minutes, and then end this process."""
    if address != "auto":
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or "/" in host:
            raise VeraxError(
                f"address {address!r} is not one of a Ray cluster: give host:port, as "
                "`ray start --head` prints it, or auto",
                code="option.malformed",
            )
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
        except (OSError, OverflowError) as error:
            why = first_line(error)
            raise VeraxError(
                f"no Ray cluster at {address} ({why}): {_START}", code="engine.unavailable"
            ) from error
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        check = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise VeraxError(
            f"what is at {address} does not answer as a Ray cluster: give the address that "
            "`ray start --head` prints",
            code="engine.unavailable",
        ) from error
    if check.returncode:
        lines = check.stderr.strip().splitlines() or ["Ray gives no reason"]
        reason = lines[-1].removeprefix("ray.exceptions.")
        if "could not find" in reason.lower():
            raise VeraxError(f"no Ray cluster found here: {_START}", code="engine.unavailable")
        if "AuthenticationError" in reason:
            reason = "it wants a token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to its own"
        raise VeraxError(f"cannot join Ray at {address}: {reason}", code="engine.unavailable")


def _check_versions() -> None:
    """Raise if a node has no Verax, or another version than this one."""
    ray = import_ray()
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def installed() -> str | None:
        # sent as code rather than by name, as Verax may not be there; reads no more than it must
        spec = find_spec("verax")
        if spec is None or spec.origin is None:
            return None
        return str(runpy.run_path(str(Path(spec.origin).with_name("version.py")))["__version__"])

    task = ray.remote(num_cpus=0, max_retries=0)(installed)
    on_nodes = [NodeAffinitySchedulingStrategy(node.id, soft=True) for node in nodes()]
    results = [task.options(scheduling_strategy=strategy).remote() for strategy in on_nodes]
    until = time.monotonic() + _PATIENCE
    for result in results:
        try:
            version = ray.get(result, timeout=max(0.0, until - time.monotonic()))
        except ray.exceptions.RayError:
            continue  # a node that is lost or slow now: its cells will show
        if version != __version__:
            what = "no Verax" if version is None else f"Verax {version}"
            raise VeraxError(
                f"a node of the Ray cluster has {what}: install Verax {__version__} on every node",
                code="engine.unavailable",
            )
