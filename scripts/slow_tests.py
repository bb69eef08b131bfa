"""`make slow`: which tests `make quick` leaves out, from the durations of the last `make test`."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "slow.txt"
LIMIT_S = 0.08
"""A test that takes longer, with what it sets up, is slow; so is its function."""


def slow_tests(durations: Path, limit_s: float = LIMIT_S) -> list[str]:
    """The functions of slow tests, as `tests/file.py::Class::function`, sorted."""
    slow = set()
    for case in ElementTree.parse(durations).iter("testcase"):
        if float(case.get("time", 0)) > limit_s:
            slow.add(test_id(case.get("classname", ""), case.get("name", "")))
    return sorted(slow - {""})


def test_id(classname: str, name: str) -> str:
    """pytest's id of a test in a junit file; empty where no file has it."""
    parts = classname.split(".")
    for length in range(len(parts), 0, -1):
        file = Path(*parts[:length]).with_suffix(".py")
        if (ROOT / file).is_file():
            return "::".join([file.as_posix(), *parts[length:], name.split("[")[0]])
    return ""


if __name__ == "__main__":
    found = slow_tests(Path(sys.argv[1]))
    LIST.write_text("\n".join(found) + "\n", encoding="utf-8")
    print(f"{len(found)} slow tests in {LIST.relative_to(ROOT)}")
