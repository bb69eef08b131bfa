"""`docs/errors.md`, from the tables in `src/verax/errors.py`."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from verax.errors import CODES, ExitCode

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors.md"
INTRODUCTION = """\
# Errors

<!-- Made by scripts/errors_page.py from src/verax/errors.py. -->

An error is one line that says what was wrong, what was expected and what to do. In Python it is a
`VeraxError`, whose `code` tells programs which problem it is. Messages change from version to
version; codes do not:

```python
import verax

try:
    verax.load_corpus("planted", documents=0)
except verax.VeraxError as error:
    assert error.code == "option.out-of-range"
```

A study or a config file with several mistakes gets a line for each. In Python `error.problems` has
them all, and `error.code` is the first one's. The records of failed cells (`failed/*.json` and
`study.failures`) have the code, too.

## Exit codes

"""
BUGS = """\

## Internal errors

Any other exception is a bug in Verax. The command line prints one line, ends with exit code 70, and
writes a crash report that only its owner can read. The report has the functions, lines and types of
errors; it leaves out messages, values and folders, which could quote a text. Please attach it to an
issue. With the environment variable `VERAX_DEBUG=1` the command prints the whole traceback instead.
"""
CHECKED = """\

## What is checked

- **Options** have bounds, declared once for flags, config files, studies and Python. Numbers are
  finite, counts at most 2³¹ − 1, widths at most 65,536, repetitions at most a million.
- **Config files and studies** have no duplicate keys, no aliases that expand to more than 100,000
  values, and no tags except those of plain values.
- **Saved models**: `config.json` and `vocabulary.json` are checked against a schema and a checksum.
  The names, shapes and types of the weights are compared with the options before anything is
  allocated, and all weights must be finite.
- **Saved results**: the manifest and every table are checked against a schema and a checksum.
- **Studies**: a cell's key is the hash of its configuration, so changes are noticed. A damaged cell
  is named and left out, and the next `verax run` makes it again.
- **Corpora**: lone surrogates, NUL in labels, lists nested 100,000 deep, numbers of thousands of
  digits, ragged rationales, and Parquet metadata that pandas cannot read.

Results are checked before they are written, too. One that could not be opened again is saved all
the same, with a warning. `make fuzz` tries 10,000 broken inputs
([how](../CONTRIBUTING.md#fuzzing)).
"""


def page() -> str:
    """Return the text of the page."""
    lines = ["| exit code | meaning |", "|---:|---|"]
    lines += [f"| {code.value} | {code.meaning} |" for code in ExitCode]
    text = INTRODUCTION + "\n".join(lines) + "\n" + BUGS + CHECKED + "\n## Codes\n"
    for area, codes in groupby(sorted(CODES), key=lambda code: code.partition(".")[0]):
        rows = [f"| `{code}` | {CODES[code]} |" for code in codes]
        text += "\n".join(["", f"### {area}", "", "| code | meaning |", "|---|---|", *rows, ""])
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
