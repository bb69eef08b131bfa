"""Bits flipped in saved folders: what is read is what was written, or is refused by name."""

from __future__ import annotations

import random
from pathlib import Path

from fuzz.harness import Act
from fuzz.samples import Samples, content_of
from fuzz.spoiling import Change, unexpected

_KINDS = ("model", "verdict", "sweep", "comparison", "adversaries", "store", "packed")


def make(rng: random.Random, samples: Samples, folder: Path) -> tuple[str, Act]:
    """One to three bits of a table or of weights, flipped; nothing that is read may differ."""
    kind = rng.choice(_KINDS)
    target = samples.copy(kind, folder)
    files = [p for p in target.rglob("*") if p.suffix in (".parquet", ".safetensors", ".json")]
    file = rng.choice(sorted(files))
    data = bytearray(file.read_bytes())
    for _ in range(rng.choice((1, 1, 3))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(data)
    # text of JSON may have become other text; a number of a table or of weights may not
    is_text = file.suffix == ".json"
    where = "" if is_text else "nothing at all"

    def act() -> str | None:
        change = Change(f"flip in {file.relative_to(target)}", where, nonsense=False)
        after = content_of(kind, target)
        return None if is_text else unexpected(dict(samples.contents[kind]), after, change)

    return f"{kind}: a flip in {file.relative_to(target)}", act
