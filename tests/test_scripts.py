"""Scripts that `make` runs: the checks that need downloads."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

import verax

SCRIPTS = Path(__file__).parents[1] / "scripts"


def script(name: str) -> ModuleType:
    if str(SCRIPTS) not in sys.path:
        sys.path.append(str(SCRIPTS))  # scripts import each other
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_weights_are_kept_by_their_hash(tmp_path: Path) -> None:
    audit = script("audit")
    source = tmp_path / "weights"
    source.write_bytes(b"numbers")
    address, digest = source.as_uri(), hashlib.sha256(b"numbers").hexdigest()
    cached = audit.fetch_weights(address, digest, tmp_path / "cache")
    source.unlink()
    assert audit.fetch_weights(address, digest, tmp_path / "cache") == cached
    cached.write_bytes(b"others")
    with pytest.raises(ValueError, match=f"expected {digest}"):
        audit.fetch_weights(address, digest, tmp_path / "cache")
    assert not cached.exists()


def test_checks_are_made_with_the_constraints_but_for_what_they_name() -> None:
    audit = script("audit")
    checks = {check.name: audit.constraints_of(check) for check in audit.CHECKS}
    assert all("torch<2.14" in lines for lines in checks.values())
    with_transformers = [
        n for n, lines in checks.items() if any("transformers" in x for x in lines)
    ]
    assert sorted(set(checks) - set(with_transformers)) == ["transformers 4"]
    assert any(line.startswith("numpy==") for line in checks["oldest dependencies"])
    assert not any(line.startswith("numpy==") for line in checks["wheel"])


def test_the_log_tells_what_failed_and_nothing_of_the_machine() -> None:
    audit = script("audit")
    check = audit.Check("wheel", "Does it work?", [("verax", "corpora")])
    reason = audit.last_line(ValueError("first\ncannot read /home/someone/secret/file.csv"))
    outcomes = [audit.Outcome(check, True, 3.2, {"verax": "1.0"})]
    outcomes.append(audit.Outcome(check, False, 61.0, {}, reason))
    text = audit.log_text(outcomes, "2026-01-02")
    assert "| wheel | passed | 3 | verax 1.0 |" in text
    assert "| wheel | **failed** | 61 |  |" in text
    assert "Failed: cannot read file.csv" in text
    assert "home" not in text


def test_an_unknown_check_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        script("audit").main(["whell"])
    assert "unknown check 'whell'; expected one of: first use" in capsys.readouterr().err


def test_stored_cells_get_the_keys_of_their_configurations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rekey = script("rekey")
    stored = SCRIPTS.parent / "results" / "meister-2021" / "probes" / "one-head"
    shutil.copytree(stored, tmp_path / "pack")
    keys = verax.open_study(stored).done
    (tmp_path / "page.md").write_text(f"{keys[0][:8]} {keys[0]} {keys[1]}.")
    *files, first = sorted(tmp_path.rglob("*.*"), key=lambda path: path.name == "cells.parquet")
    before, cells = {path: path.read_bytes() for path in files}, pd.read_parquet(first)
    others = {key: f"{number:016x}" for number, key in enumerate(keys)}
    assert all(rekey.replace(path, others) for path in (*files, first))
    assert verax.open_study(tmp_path / "pack").done == list(others.values())
    rekey.main([tmp_path])
    assert f"{len(keys)} of {len(keys)} keys changed, in 4 files" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in files} == before
    pd.testing.assert_frame_equal(pd.read_parquet(first), cells)
    assert verax.open_study(tmp_path / "pack").done == keys
    once = first.read_bytes()
    rekey.main([tmp_path])
    assert f"0 of {len(keys)} keys changed, in 0 files" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in files} == before
    assert first.read_bytes() == once
