"""What a new user does first, from a new environment in an empty folder, with its exit codes.

    python scripts/first_use.py          # in an environment that has Verax, outside the checkout

Runs the demo; writes a CSV in which one word decides each label; trains an honest model on it, and
one whose attention was moved away from those words (Pruthi et al. 2020); asks `verax examine
--fail-on against` of both, and of a path that is not there; lets `verax compare --fail-on worse`
hold the second against the first; and type-checks three lines of a user, where mypy is installed.
Prints a table of commands and exit codes, and ends with 1 where one is not as expected.
"""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

LIMITS = ("--limits", "2026-11-measured-3")
CUES = {"yes": ("superb", "moving", "witty"), "no": ("dull", "clumsy", "tedious")}
REVIEWS, HONEST, DECEIVING = "reviews.csv", "honest", "deceiving"
TYPED = """import verax

verdict = verax.examine("honest", "reviews.csv", ["replacement"])
number: float = verdict.value("replacement.uniform.survival")
reveal_type(verdict)
"""
"""Lines of a user. What they reveal shows that annotations are read, and not taken for Any."""


def main() -> int:
    here = Path.cwd()
    import verax

    package = Path(verax.__file__).resolve()
    checkout = Path(__file__).resolve().parents[1]
    if checkout in package.parents or checkout in (here, *here.parents):
        print("this is the checkout: run it elsewhere, with Verax installed", file=sys.stderr)
        return 2
    rows = [step("verax demo", ["demo", "--out", "demo"], 0)]
    write_reviews(here / REVIEWS)
    train = ["train", REVIEWS, "--encoder", "none", "--epochs", "6", "--lr", "0.01"]
    rows.append(step("an honest model", [*train, "--out", HONEST], 0))
    deceive(here / REVIEWS, here / DECEIVING)
    ask = ["examine", HONEST, "--corpus", REVIEWS, *LIMITS, "--fail-on", "against"]
    rows.append(step("its verdict", [*ask, "--out", "verdict"], 0))
    ask[1] = DECEIVING
    rows.append(step("a deceiving model's verdict", [*ask, "--out", "second"], 3))
    ask[1] = "no-such-model"
    rows.append(step("a bad path", ask, 2))
    ask[1:4] = [HONEST, "--corpus", "no-such-file.csv"]
    rows.append(step("a bad corpus", ask, 2))
    worse = ["compare", "verdict", "second", *LIMITS, "--fail-on", "worse"]
    rows.append(step("honest, then deceiving", worse, 3))
    worse[1:3] = ["verdict", "verdict"]
    rows.append(step("the same twice", ["compare", "a=verdict", "b=verdict", *worse[3:]], 0))
    kept = sorted(path.name for path in (here / "verdict").iterdir())
    own = not any(name.startswith("gallery_") for name in kept) and "report.html" in kept
    rows.append(("texts of one's own are not kept", "no gallery in verdict/", 0, int(not own), 0.0))
    if importlib.util.find_spec("mypy"):
        rows.append(typed(here))
    print("| step | command | expected | exit code | seconds |\n|---|---|--:|--:|--:|")
    for name, command, expected, code, seconds in rows:
        print(f"| {name} | `{command}` | {expected} | {code} | {seconds:.0f} |")
    return int(any(expected != code for _, _, expected, code, _ in rows))


Row = tuple[str, str, int, int, float]


def step(name: str, arguments: Sequence[str], expected: int) -> Row:
    """A command of Verax, as a user calls it; what it says is shown where it ends otherwise."""
    started = time.monotonic()
    command = [sys.executable, "-m", "verax", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = ended.stderr.strip().splitlines()
    is_a_line = expected != 2 or (len(lines) == 1 and not ended.stdout)
    if ended.returncode != expected or not is_a_line or "Traceback" in ended.stderr:
        print(ended.stdout + ended.stderr, file=sys.stderr)
    code = ended.returncode if is_a_line else -1
    return name, " ".join(["verax", *arguments]), expected, code, time.monotonic() - started


def write_reviews(path: Path, documents: int = 1200, seed: int = 0) -> None:
    """Texts of words that say nothing, and one that decides; its place is the rationale."""
    draw = random.Random(seed)
    neutral = [f"word{number}" for number in range(200)]
    rows = []
    for number in range(documents):
        label = ("no", "yes")[number % 2]
        words = draw.sample(neutral, draw.randint(10, 20))
        place, cue = draw.randrange(len(words)), draw.choice(CUES[label])
        begin = sum(len(word) + 1 for word in words[:place])
        words.insert(place, cue)
        marks = json.dumps([[begin, begin + len(cue)]])
        rows.append({"text": " ".join(words), "label": label, "rationale": marks})
    pd.DataFrame(rows).to_csv(path, index=False)


def deceive(reviews: Path, folder: Path) -> None:
    """Save a model that decides by the marked words and does not attend to them."""
    import verax
    from verax.training.train import train_with_rationales

    corpus = verax.load_corpus(reviews)
    how: dict[str, Any] = {"encoder": "bilstm", "hidden_size": 32, "epochs": 8, "lr": 0.01}
    model = train_with_rationales(corpus, "away", device="cpu", progress=False, **how)
    model.save(folder)


def typed(folder: Path) -> Row:
    """Whether mypy reads the package's annotations."""
    (folder / "user.py").write_text(TYPED)
    command = [sys.executable, "-m", "mypy", "--strict", "user.py"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    read = 'Revealed type is "verax.exams.verdict.Verdict"' in ended.stdout
    if ended.returncode or not read:
        print(ended.stdout + ended.stderr, file=sys.stderr)
    code = ended.returncode if read else -1
    return "types of the package", "mypy --strict user.py", 0, code, 0.0


if __name__ == "__main__":
    sys.exit(main())
