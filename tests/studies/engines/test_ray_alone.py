"""The Ray engine without a cluster: one that it starts itself, and what it refuses."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

import pytest
from made_up_cells import cell
from ray_driver import driver
from running import children, failed, finished, run, soon
from two_nodes import kill_session, members, ray, title

import verax
from support.errors import raises
from verax.studies import ERROR, LOST, OUT_OF_MEMORY, Hardware, Job, RayEngine
from verax.studies.engines import ray_cluster
from verax.studies.engines.ray_cluster import Node, Share, share
from verax.studies.engines.ray_engine import failure


@pytest.fixture
def own_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where Ray keeps its sockets and logs: a short path, and gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="vx", dir="/tmp", ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("RAY_TMPDIR", folder)
        yield


class Odd:
    """What no worker can read, as this file is on no path of theirs."""


def terminated(*_: object) -> None:
    raise AssertionError("nobody sends SIGTERM here")


def refused(code: str, *names: object, **hardware: object) -> None:
    began = time.monotonic()
    with raises(code, *names) as caught:
        RayEngine(Hardware(engine="ray", **hardware))  # type: ignore[arg-type]
    assert time.monotonic() - began < 60
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.usefixtures("own_folder")
def test_a_cluster_started_here_runs_cells_and_goes_with_the_engine(
    small: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "192.0.2.7:6379")  # which Ray would join by itself
    before, handler = children(), signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, terminated)
    one = Job(cell(small, encoder="conv"))
    try:
        engine = RayEngine(Hardware(engine="ray", device="cpu", workers=2, threads=2))
        assert signal.getsignal(signal.SIGTERM) is terminated
    finally:
        signal.signal(signal.SIGTERM, handler)
    try:
        shape = r"Ray at \S+:\d+: 1 node, \d+ CPUs, 0 GPUs; up to 2 cells at once"
        assert re.fullmatch(shape, engine.describe())
        assert engine.free == 2
        outcome = finished(run(engine, one, small))
        odd = replace(small, config={**small.config, "odd": Odd()})
        unread = failed(run(engine, one, odd))
    finally:
        engine.stop()
    assert (unread.reason, unread.key) == (ERROR, one.cell.key)
    assert unread.error == "ModuleNotFoundError: No module named 'test_ray_alone'"
    assert "pickle.loads" in unread.traceback
    assert outcome.facts["threads"] == 2
    assert soon(lambda: children() <= before)
    engine.stop()


ALONE = """
import sys
from verax.studies.engines.ray_engine import RayEngine
from verax.studies.grid.study import Hardware
engine = RayEngine(Hardware(engine="ray", device="cpu", workers=1))
print(engine.describe(), flush=True)
sys.stdin.read()
engine.stop()
"""
"""A program with a Ray of its own settings: they are read once, when Ray is imported."""


@pytest.mark.slow
@pytest.mark.usefixtures("own_folder")
def test_a_cluster_started_here_is_out_of_reach_from_elsewhere(tmp_path: Path) -> None:
    """It listens on the loopback address alone, and refuses who has no token."""
    settings = {
        n: v for n, v in os.environ.items() if not n.startswith("RAY_") or n == "RAY_TMPDIR"
    }
    settings["HOME"] = str(tmp_path)
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    program = subprocess.Popen(
        [sys.executable, "-c", ALONE], env=settings, start_new_session=True, **pipes
    )
    try:
        assert program.stdout is not None
        said = program.stdout.readline()
        address = re.match(r"Ray at (\S+:\d+):", said)
        assert address, said
        listening = listened_on(members(program.pid))
        assert len(listening) >= 4, "the head's services, its node's and this program's"
        assert {ip for ip in listening if not ip.is_loopback} == set()
        ask = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address[1]]
        near = {**settings, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # asks the loopback address
        asked = subprocess.run(ask, env=near, capture_output=True, text=True, timeout=60)
        assert asked.returncode
        assert "AuthenticationError" in asked.stderr
        assert not (tmp_path / ".ray").exists(), "and leaves no token in the home folder"
    finally:
        kill_session(program.pid)
        program.communicate()


def listened_on(processes: list[int]) -> list[IPv4Address | IPv6Address]:
    """The addresses on which processes wait for connections."""
    sockets = set()
    for pid in processes:
        for handle in Path(f"/proc/{pid}/fd").glob("*"):
            with contextlib.suppress(OSError):
                sockets.add(os.readlink(handle))
    addresses: list[IPv4Address | IPv6Address] = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                words = re.findall("........", fields[1].partition(":")[0])
                packed = b"".join(bytes.fromhex(word)[::-1] for word in words)
                ip = ip_address(packed)
                addresses.append(getattr(ip, "ipv4_mapped", None) or ip)
    return addresses


@pytest.mark.slow
@pytest.mark.usefixtures("own_folder")
def test_ctrl_c_is_for_the_driver_and_its_death_the_end_of_its_cells() -> None:
    with driver(None) as started:
        assert started.says("running")
        os.killpg(started.session, signal.SIGINT)
        assert started.says("interrupted")
        assert started.says("going on")

        def workers() -> list[int]:
            return [
                pid for pid in members(started.session) if title(pid).startswith("ray::RayWorker")
            ]

        assert len(workers()) == 1
        started.process.kill()
        assert soon(lambda: not workers(), 60)


def test_no_cluster_at_the_address_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    address = f"127.0.0.1:{port}"
    refused("engine.unavailable", address, address=address)


@pytest.mark.slow
def test_what_answers_but_is_no_cluster_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "_PATIENCE", 2.0)
    with socket.create_server(("", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        refused("engine.unavailable", address, address=address)


@pytest.mark.parametrize("address", ["ray://127.0.0.1:10001", "here", "127.0.0.1:", ":6379"])
def test_what_is_no_address_is_refused(address: str) -> None:
    refused("option.malformed", repr(address), address=address)


def test_a_node_that_does_not_start_in_time_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine; Ray raises `Exception` itself."""

    def late(**settings: object) -> None:
        raise Exception("The current node timed out during startup.\nSee its logs.")

    monkeypatch.setattr(ray, "init", late)
    refused("engine.unavailable", "The current node timed out during startup.")


def test_without_ray_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    refused("package.missing", "verax[ray]")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ray.exceptions.ActorDiedError(), LOST),
        (ray.exceptions.ActorUnavailableError("socket closed", None), LOST),
        (ray.exceptions.NodeDiedError("gone"), LOST),
        (ray.exceptions.ObjectLostError("00" * 28, "", "at"), LOST),
        (ray.exceptions.OutOfMemoryError("95% of 8 GB"), OUT_OF_MEMORY),
        (ray.exceptions.RayActorError(error_msg="ImportError: x", actor_init_failed=True), ERROR),
    ],
)
def test_what_ray_says_is_told_by_whether_another_try_is_worth_it(
    error: ray.exceptions.RayError, reason: str
) -> None:
    told = failure("k", error)
    assert (told.key, told.reason) == ("k", reason)
    assert told.traceback == str(error).strip()
    assert "\n" not in told.error


CPU, GPU = Node("a", 4.0, 0.0), Node("b", 8.0, 2.0)


@pytest.mark.parametrize(
    ("hardware", "nodes", "each", "together"),
    [
        ({}, [CPU, CPU], Share(1), 8),
        ({"threads": 3}, [CPU, CPU], Share(3), 2),
        ({}, [CPU, GPU], Share(1, 1.0), 2),
        ({"device": "cpu"}, [CPU, GPU], Share(1), 12),
        ({"device": "cuda", "cells_per_gpu": 3}, [GPU, GPU], Share(1, 0.3333), 12),
        ({"cells_per_gpu": 12}, [GPU], Share(1, 0.0833), 8),  # as many as CPUs
    ],
)
def test_a_cell_takes_its_threads_and_a_part_of_a_gpu(
    hardware: dict[str, object], nodes: list[Node], each: Share, together: int
) -> None:
    found = share(Hardware(**hardware), nodes)  # type: ignore[arg-type]
    assert found == each
    assert found.fits(nodes) == together


def test_as_many_cells_share_a_gpu_as_were_asked_for() -> None:
    """Ray gives out ten-thousandths: a part that is not one of them it would round."""
    for cells in range(1, 65):
        part = share(Hardware(cells_per_gpu=cells), [Node("a", 64.0, 1.0)]).gpus
        units = round(part * 10_000)
        assert part == units / 10_000
        assert 10_000 // units >= cells


@pytest.mark.parametrize(
    ("hardware", "nodes", "expected"),
    [
        ({"device": "cuda"}, [CPU], ("device.unavailable", "cuda")),
        ({"device": "cuda:1"}, [GPU], ("device.unknown", "cuda:1")),
        ({"threads": 5}, [CPU, CPU], ("option.out-of-range",)),
        ({"threads": 9}, [CPU, GPU], ("option.out-of-range",)),
    ],
)
def test_what_no_node_can_give_is_refused(
    hardware: dict[str, object], nodes: list[Node], expected: tuple[str, ...]
) -> None:
    with raises(*expected):
        share(Hardware(**hardware), nodes)  # type: ignore[arg-type]
