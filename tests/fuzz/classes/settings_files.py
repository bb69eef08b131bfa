"""Config files of `verax train` and files of studies: YAML and JSON."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import yaml

from fuzz.harness import Act, command
from fuzz.samples import STUDY, Samples
from fuzz.spoiling import dumped, spoil_bytes, spoil_value

_CONFIG: dict[str, Any] = {
    "corpus": "planted",
    "documents": 48,
    "encoder": "none",
    "embedding_size": 4,
    "epochs": 1,
    "lr": 0.001,
    "projection": "sparsegen",
    "lam": -1.0,
    "labels": None,
    "seed": 0,
}
_BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
_MERGES = "a: &a {k0: 1}\n" + "".join(
    f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 10)}], k{number}: 1}}\n"
    for number, (before, name) in enumerate(zip("abcdefgh", "bcdefghi", strict=True))
)
_RAW = (
    *(_BOMB, _MERGES, "a: &a [*a]\n", "<<: 3\n", "? [a, b]\n: c\n", "epochs: 1\nepochs: 2\n"),
    *(
        "lr: 0x10\n",
        "lr: 1_0\n",
        "seed: 9" + "9" * 4400 + "\n",
        "lr: .nan\n",
        "lr: .inf\n",
        "%YAML 9\n",
    ),
    *(
        "seed: 0o7\n",
        "seed: 190:20:30\n",
        "!!python/object/apply:os.system ['x']\n",
        "--- a\n--- b\n",
    ),
    *(
        "epochs: !!binary aGk=\n",
        "epochs: !!set {a}\n",
        "epochs: 2001-01-01\n",
        "\tepochs: 1\n",
        "",
    ),
    *(
        "[" * 20_000,
        "{a: " * 5_000,
        "null\n",
        "- a\n",
        "a\n",
        "\ufeffepochs: 1\n",
        "epochs: 1\x00\n",
    ),
    *(
        "encoder: !!str 3\n",
        "encoder: *nobody\n",
        '"encoder": "\\ud800"\n',
        "epochs: 1\nEpochs: 2\n",
    ),
    *(
        "embedding-size: 4\nembedding_size: 5\n",
        "&a a: *a\n",
        "lr: 1e400\n",
        "on: off\n",
        "\x85: 1\n",
    ),
    *(
        "encoder: 'none",
        "lr: 9" + "9" * 400 + "\n",
        "a" * 2_000_000,
        "# only a comment\n",
        "1: 2\n",
    ),
)
_REFUSED = (_BOMB, _MERGES, "epochs: 1\nepochs: 2\n", "embedding-size: 4\nembedding_size: 5\n")
"""What no reader may take as it is."""


def make(rng: random.Random, samples: Samples, folder: Path) -> tuple[str, Act]:
    """A file that is spoilt as a value, as a text or as bytes, for either reader."""
    use = rng.choice(("config", "study"))
    base = copy.deepcopy(_CONFIG if use == "config" else dict(STUDY))
    how = rng.choice(("value", "value", "value", "raw", "bytes", "joined"))
    suffix, must = rng.choice((".yaml", ".json", ".yml")), False
    if how == "value":
        after, change = spoil_value(rng, base)
        what = change.what
        data = dumped(after, what) if suffix == ".json" else _yaml(after, what)
        must = what.startswith("twice") and suffix == ".json"
    elif how == "bytes":
        text = json.dumps(base) if suffix == ".json" else yaml.safe_dump(base)
        data, what = spoil_bytes(rng, text.encode())
    else:
        raw = rng.choice(_RAW)
        must, suffix = raw in _REFUSED, rng.choice((".yaml", ".yml"))
        data = raw.encode("utf-8", "surrogatepass")
        if how == "joined":
            rest = {k: v for k, v in base.items() if f"{k}:" not in raw}
            data = yaml.safe_dump(rest).encode() + data
        what = f"{how} {raw!r:.50}"
    file = folder / f"settings{suffix}"
    file.write_bytes(data)
    out = str(folder / "out")

    def act() -> str | None:
        if use == "config":
            arguments = ["train", "planted", "--documents", "48", "--config", str(file)]
            arguments += ["--epochs", "1", "--embedding-size", "4", "--out", out]
        else:
            arguments = ["run", str(file), "--dry-run", "--out", out]
        return "accepted" if command(arguments) == 0 and must else None

    return f"{use}{suffix} {what}", act


def _yaml(value: Any, what: str) -> bytes:
    """YAML where it can be, else JSON, which is YAML too."""
    if what.startswith(("deep", "twice")) or '"@' in json.dumps(value):
        return dumped(value, what)
    try:
        return yaml.safe_dump(value, allow_unicode=True).encode("utf-8", "surrogatepass")
    except yaml.YAMLError:
        return dumped(value, what)
