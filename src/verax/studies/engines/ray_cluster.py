"""A Ray cluster as the engine sees it: joined or started here, and the room it has for cells."""

from __future__ import annotations

import logging
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import verax
from verax.errors import VeraxError
from verax.studies.engines.machine import cores
from verax.studies.grid.hardware import Hardware
from verax.version import __version__

_PATIENCE = 30.0
"""Seconds in which a cluster has to answer: Ray itself would try for minutes."""

_FINEST = 10_000
"""The smallest part of a GPU that Ray gives out, as one of so many."""


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


def import_ray() -> Any:
    """Ray, told to keep to itself."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise VeraxError("the ray engine needs Ray: pip install 'verax[ray]'") from error
    return ray


def join(hardware: Hardware) -> Cluster:
    """Connect to the cluster at the address, or start one here where none is given.

    A process that is connected already stays so. Verax must be installed on every node of a
    cluster, in the same version; one started here takes it from where it is.
    """
    ray, address = import_ray(), hardware.address
    if ray.is_initialized():
        there = ray.get_runtime_context().gcs_address
        if address not in (None, "auto", there):
            raise VeraxError(
                f"this process is connected to Ray at {there} already, not at {address}: "
                "disconnect it (ray.shutdown()), or leave out the address"
            )
        return _cluster(ours=False)
    if address is not None:
        _ask(address)
    try:
        with _own_handler():
            if address is None:
                _start(hardware)
            else:
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        doing = "cannot start Ray here" if address is None else f"cannot join Ray at {address}"
        raise VeraxError(f"{doing}: {_first_line(error)}") from error
    cluster = _cluster(ours=True)
    if address is not None:
        try:
            _check_versions()
        except BaseException:
            ray.shutdown()
            raise
    return cluster


def nodes() -> list[Node]:
    """The nodes that are alive, with all that they have."""
    return [
        Node(
            node["NodeID"],
            node["Resources"].get("CPU", 0.0),
            node["Resources"].get("GPU", 0.0),
        )
        for node in import_ray().nodes()
        if node["Alive"]
    ]


def share(hardware: Hardware, there: Iterable[Node]) -> Share:
    """What each cell takes of the cluster; an error where no node has as much."""
    there, device = list(there), hardware.device
    if device not in ("auto", "cpu", "cuda"):
        raise VeraxError(f"device {device!r}: Ray picks the GPU itself, use auto, cpu or cuda")
    if device == "cuda" and not any(node.gpus >= 1 for node in there):
        raise VeraxError("device 'cuda' is not there: no node has a GPU, use device cpu or auto")
    part = 0.0
    if device != "cpu" and any(node.gpus >= 1 for node in there):
        # rounded down: seven times 0.1429 would be more than a GPU
        part = max(1, _FINEST // (hardware.cells_per_gpu or 1)) / _FINEST
    cell = Share(hardware.threads, part)
    if not cell.fits(there):
        most = int(max((node.cpus for node in there if node.gpus >= 1 or not part), default=0))
        raise VeraxError(
            f"no node has the {hardware.threads} CPUs that a cell takes, the largest has {most}: "
            "set threads lower"
        )
    return cell


def _start(hardware: Hardware) -> None:
    needed = (hardware.workers or 1) * hardware.threads
    with _verax_on_path():
        import_ray().init(
            address="local",  # else Ray would join any cluster that it finds
            num_cpus=max(cores(), needed),
            num_gpus=0 if hardware.device == "cpu" else None,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )


@contextmanager
def _verax_on_path() -> Iterator[None]:
    """Processes started now import the Verax that runs here, however it was found."""
    before = os.environ.get("PYTHONPATH")
    here = str(Path(verax.__file__).parent.parent)
    os.environ["PYTHONPATH"] = os.pathsep.join([here, before] if before else [here])
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


@contextmanager
def _own_handler() -> Iterator[None]:
    """Ray sets a handler for SIGTERM: one that was there is put back."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if callable(before) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _ask(address: str) -> None:
    """An error soon if no cluster answers at an address: Ray would try on, and then give up us."""
    if address != "auto":
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or "/" in host:
            raise VeraxError(
                f"address {address!r} is not one of a Ray cluster: give host:port, as "
                "`ray start --head` prints it, or auto"
            )
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
        except (OSError, OverflowError) as error:
            raise VeraxError(
                f"no Ray cluster at {address} ({_first_line(error)}): start one with "
                "`ray start --head`, or leave out the address"
            ) from error
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise VeraxError(
            f"what is at {address} does not answer as a Ray cluster: give the address that "
            "`ray start --head` prints"
        ) from error
    if asked.returncode:
        said = asked.stderr.strip().splitlines() or ["it does not say why"]
        reason = said[-1].removeprefix("ray.exceptions.")
        if "AuthenticationError" in reason:
            reason = "it wants a token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to its own"
        elif "could not find" in reason.lower():
            raise VeraxError(
                "no Ray cluster found here: start one with `ray start --head`, or leave out the "
                "address"
            )
        raise VeraxError(f"cannot join Ray at {address}: {reason}")


def _cluster(ours: bool) -> Cluster:
    here = import_ray().get_runtime_context()
    return Cluster(here.gcs_address, here.get_job_id(), ours)


def _check_versions() -> None:
    """An error if a node has no Verax, or another one than is here."""
    ray = import_ray()
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def installed() -> str | None:
        # sent as code rather than by name, as Verax may not be there; reads no more than it must
        found = find_spec("verax")
        if found is None or found.origin is None:
            return None
        return str(runpy.run_path(str(Path(found.origin).with_name("version.py")))["__version__"])

    ask = ray.remote(num_cpus=0, max_retries=0)(installed)
    asked = {
        ask.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=True)).remote()
        for node in nodes()
    }
    until = time.monotonic() + _PATIENCE
    for reference in asked:
        try:
            there = ray.get(reference, timeout=max(0.0, until - time.monotonic()))
        except ray.exceptions.RayError:
            continue  # a node that is lost or slow now: its cells will tell
        if there != __version__:
            what = "no Verax" if there is None else f"Verax {there}"
            raise VeraxError(
                f"a node of the Ray cluster has {what}: install Verax {__version__} on every node"
            )


def _first_line(error: BaseException) -> str:
    said = str(error).strip()
    return said.splitlines()[0] if said else type(error).__name__
