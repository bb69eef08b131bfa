"""The version, in one place, and which source it is."""

from __future__ import annotations

from functools import cache

__version__ = "0.1.0"
"""The version of Verax."""

SOURCES = (".py", ".yaml", ".csv", ".json")
"""Endings of the files that decide results: code, studies, published numbers, limits."""


@cache
def source_fingerprint() -> str:
    """A hash of the package's code and data, 16 hexadecimal digits: the same wherever they lie.

    They are files of `SOURCES`; texts of pages have no part in any number. Of every file, in order
    of its path within the package, the path and the text count; how lines end does not.
    """
    import hashlib  # not above: a command handles Ctrl-C once this module is there
    from pathlib import Path

    package = Path(__file__).parent
    files = {
        path.relative_to(package).as_posix(): path
        for path in package.rglob("*")
        if path.suffix in SOURCES
    }
    digest = hashlib.sha256()
    for name in sorted(files):
        text = files[name].read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name}\0{len(text)}\0".encode())
        digest.update(text)
    return digest.hexdigest()[:16]
