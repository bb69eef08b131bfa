"""Cores and GPUs, as a process may use them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from support.errors import raises
from verax.studies.engines import machine


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": "200000 100000\n"}, 2),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "10000 100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu.max": ""}, None),
    ],
)
def test_a_containers_quota_is_read(
    files: dict[str, str], expected: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    affinity = len(os.sched_getaffinity(0))
    assert machine._quota(tmp_path) == expected
    assert machine.cores() == min(affinity, expected or affinity)


def test_affinity_bounds_the_cores() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert machine.cores() == 1
    finally:
        os.sched_setaffinity(0, before)


def test_devices_by_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert machine.gpus("auto") == ["cuda:0", "cuda:1"]
    assert machine.gpus("cuda") == ["cuda:0", "cuda:1"]
    assert machine.gpus("cuda:1") == ["cuda:1"]
    assert machine.gpus("cpu") == []
    with raises("device.unavailable", "cuda:2"):
        machine.gpus("cuda:2")
    with raises("device.unknown", "gpu"):
        machine.gpus("gpu")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert machine.gpus("auto") == []
    with raises("device.unavailable", "cuda"):
        machine.gpus("cuda")


@pytest.mark.parametrize(
    ("listed", "expected"),
    [("NVIDIA H200\nNVIDIA H200\n", "NVIDIA H200"), ("NVIDIA A\nNVIDIA B\n", None), ("", None)],
)
def test_gpus_of_one_name_have_it(
    listed: str, expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "nvidia-smi"
    fake.write_text(f"#!/bin/sh\nprintf '{listed.encode('unicode_escape').decode()}'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert machine.gpu_name() == expected


def test_without_nvidias_tools_gpus_have_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.gpu_name() is None
