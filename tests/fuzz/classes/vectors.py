"""Files of word vectors: headers, rows, numbers, encodings, archives."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

from fuzz.harness import Act, command
from fuzz.samples import Samples
from fuzz.spoiling import spoil_bytes

_HEADERS = (
    *("3 4", "3 4 5", "0 0", "3 0", "3 -1", "9 999999999999", "9 2147483648", "9" * 5000 + " 4"),
    *("3 " + "9" * 5000, "٣ ٤", "x y", "", " ", "3\t4", "3 4\r", "\ufeff3 4", "3.0 4.0", "1e3 4"),
    *("9 1000000", "9 100000000", "² ³"),
)
_NUMBERS = (
    *(
        "nan",
        "inf",
        "-inf",
        "1e400",
        "1e39",
        "x",
        "",
        "0x1",
        "1_0",
        "٣",
        "1e-400",
        "9" * 5000,
        "1,5",
    ),
    *("\x00", "True", "--1", "+1", "infinity", "1e"),
)


def make(rng: random.Random, samples: Samples, folder: Path) -> tuple[str, Act]:
    """A vectors file that is odd in its header, a row, its bytes or its archive."""
    words = ["good0_1", "good1_2", "w1", "w2", "w3", ".", "two words"]
    rows = [[word, *(f"{rng.uniform(-1, 1):.3f}" for _ in range(4))] for word in words]
    how = rng.choice(
        ("header", "number", "number", "ragged", "bytes", "zip", "long", "twice", "kind")
    )
    lines = [" ".join(row) for row in rows]
    what, zipped = how, rng.random() < 0.2
    if how == "header":
        header = rng.choice(_HEADERS)
        lines, what = [header, *lines], f"header {header!r:.40}"
    elif how == "number":
        number = rng.choice(_NUMBERS)
        rows[rng.randrange(len(rows))][rng.randrange(1, 5)] = number
        lines, what = [" ".join(row) for row in rows], f"number {number!r:.40}"
    elif how == "ragged":
        place = rng.randrange(len(rows))
        rows[place] = rng.choice(
            (rows[place][:-1], [*rows[place], "1"], rows[place][:1], [], [" "])
        )
        lines = [" ".join(row) for row in rows]
    elif how == "twice":
        lines += lines
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    if how == "bytes":
        data, what = spoil_bytes(rng, data)
    elif how == "long":
        data = rng.choice(
            (b"w1 " + b"0 " * 3_000_000, b"a" * 40_000_000, b" " * 10_000_000, b"\n" * 5_000_000)
        )
        what = f"long {data[:4]!r}"
    elif how == "zip":
        data, what = spoil_bytes(rng, gzip.compress(data))
        what, zipped = f"zip {what}", False
        if rng.random() < 0.3:
            data, what = gzip.compress(bytes(400_000_000), 1), "a bomb"
    file = folder / rng.choice(("vectors.txt", "vectors.vec", "vectors.txt.gz"))
    file.write_bytes(gzip.compress(data, 1) if zipped else data)
    if how == "kind":
        file.unlink()
        file.mkdir() if rng.random() < 0.5 else file.symlink_to(file)
    arguments = ["train", "planted", "--documents", "48", "--encoder", "none", "--epochs", "1"]
    arguments += ["--out", str(folder / "out"), "--vectors", str(file)]

    def act() -> str | None:
        command(arguments)
        return None

    return f"vectors {what}", act
