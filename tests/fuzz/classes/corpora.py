"""Files of documents: formats, encodings, labels, ids, rationales and names."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import verax
from fuzz.harness import Act, command
from fuzz.samples import Samples
from fuzz.spoiling import NASTY, dumped, spoil_bytes, spoil_value
from support.documents import counts_of

_WORDS = (
    "good",
    "bad",
    "film",
    "plot",
    "é",
    "日本",
    "don't",
    "10.5",
    "a\u0301",
    "\u202e",
    "😀",
    ".",
)
_LABELS: tuple[Any, ...] = (
    *("", " ", "0", "1", "1.0", "-1", "nan", "inf", "True", "9" * 5000, "\x00", "\ud800", "=cmd()"),
    *(None, True, 0, 1.5, float("nan"), float("inf"), 2**63, -(2**70), [], {"a": 1}, b"x"),
)
_IDS: tuple[Any, ...] = (
    *("0", "1", "-1", "x", "9" * 4301, "1e3"),
    2**63,
    -1,
    1.5,
    None,
    float("inf"),
)
_SPLITS = ("train", "test", "validation", "dev", "", "x", None, 3, "TRAIN")
_RATIONALES: tuple[Any, ...] = (
    *([0, 1], [[0, 3]], [[0, 1], [1]], [[]], "[0,1", "0 1", "[[0, 99999]]", [[-5, 2]], [2, 3]),
    *(
        [[3, 1]],
        [[0.5, 1.5]],
        [["a", "b"]],
        {"a": 1},
        "",
        None,
        7,
        [[0, 2**63]],
        [None],
        [[None, 1]],
    ),
    *([[[0, 1]], [0, 1]], "[" * 3000, "[[1e999, 2]]", [True, False], [float("nan")]),
)
_ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "cp1252", "utf-7", "cp037")
_NAMES = (
    "a.csv",
    "x" * 200 + ".csv",
    "=1+1.csv",
    "a\nb.csv",
    "é.csv",
    "-o.csv",
    "a.CSV",
    "<b>.csv",
)


def make(rng: random.Random, samples: Samples, folder: Path) -> tuple[str, Act]:
    """A corpus that is odd in one or two ways, read by a command or from Python."""
    rows = _rows(rng)
    oddities = [rng.choice(_ODD) for _ in range(rng.choice((1, 1, 2)))]
    for odd in oddities:
        rows = odd(rng, rows)
    what = " and ".join(odd.__name__.strip("_") for odd in oddities)
    form = rng.choice(("csv", "tsv", "jsonl", "parquet", "folder", "memory", "name", "arrow"))
    if form == "memory":
        return f"in memory, {what}", _in_memory(rng, rows)
    if form == "name":
        return _by_name(rng, samples, folder, rows)
    path = _WRITERS[form](rng, rows, folder)
    if rng.random() < 0.2 and path.is_file():
        data, how = spoil_bytes(rng, path.read_bytes())
        path.write_bytes(data)
        what += f", {how}"
    return f"{form}, {what}", _read(rng, samples, folder, path)


Rows = list[dict[str, Any]]


def _rows(rng: random.Random) -> Rows:
    return [
        {"text": " ".join(rng.choices(_WORDS, k=rng.randrange(1, 9))), "label": str(n % 2)}
        for n in range(30)
    ]


def _labels(rng: random.Random, rows: Rows) -> Rows:
    few = rng.choices(_LABELS, k=rng.choice((1, 2, 5)))
    return [{**row, "label": rng.choice(few)} for row in rows]


def _texts(rng: random.Random, rows: Rows) -> Rows:
    odd = rng.choice(
        (None, 7, "", " ", "\x00", "\ud800", "x" * 200_000, "a " * 20_000, [], 1.5, "\r")
    )
    return [{**row, "text": odd if rng.random() < 0.3 else row.get("text", "")} for row in rows]


def _ids(rng: random.Random, rows: Rows) -> Rows:
    return [{**row, "id": rng.choice(_IDS)} for row in rows]


def _huge_ids(rng: random.Random, rows: Rows) -> Rows:
    kind = rng.choice(("9" * 4301, str(2**63), str(-(2**63)), "٣"))
    return [{**row, "id": kind} for row in rows]


def _splits(rng: random.Random, rows: Rows) -> Rows:
    return [{**row, "split": rng.choice(_SPLITS)} for row in rows]


def _rationales(rng: random.Random, rows: Rows) -> Rows:
    few = rng.choices(_RATIONALES, k=rng.choice((1, 2)))
    return [{**row, "rationale": rng.choice(few)} for row in rows]


def _columns(rng: random.Random, rows: Rows) -> Rows:
    name = rng.choice(("Text", "", "text ", "text\x00", "\ud800", "label ", "é" * 500))
    old = rng.choice(("text", "label"))
    return [{(name if key == old else key): value for key, value in row.items()} for row in rows]


def _few(rng: random.Random, rows: Rows) -> Rows:
    return rows[: rng.choice((0, 1, 2, 3, 5))]


def _one_class(rng: random.Random, rows: Rows) -> Rows:
    return [{**row, "label": "x"} for row in rows]


def _many_classes(rng: random.Random, rows: Rows) -> Rows:
    return [{**row, "label": str(n)} for n, row in enumerate(rows)]


def _tokens(rng: random.Random, rows: Rows) -> Rows:
    odd = rng.choice(([], [None], [1, "x"], "text", None, [[]], ["a b", ""], ["\x00"]))
    return [{**row, "tokens": odd} for row in rows]


_ODD: tuple[Callable[[random.Random, Rows], Rows], ...] = (
    *(_labels, _labels, _texts, _texts, _ids, _huge_ids, _splits, _rationales, _rationales),
    *(_columns, _few, _one_class, _many_classes, _tokens),
)


def _write_separated(rng: random.Random, rows: Rows, folder: Path) -> Path:
    suffix = rng.choice((".csv", ".tsv"))
    separator = rng.choice((",", ";", "\t", "|", "\x1f"))
    text = io.StringIO()
    names = list(dict.fromkeys(key for row in rows for key in row)) or ["text", "label"]
    quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    writer = csv.writer(text, delimiter=separator, quoting=quoting, escapechar="\\")
    writer.writerow(names)
    for row in rows:
        cells = [row.get(name) for name in names]
        if rng.random() < 0.02:
            cells.append("one more")
        writer.writerow(cells)
    path = folder / f"corpus{suffix}"
    path.write_bytes(text.getvalue().encode(rng.choice(_ENCODINGS), "replace"))
    return path


def _write_jsonl(rng: random.Random, rows: Rows, folder: Path) -> Path:
    lines = [json.dumps(row, default=str).encode("utf-8", "replace") for row in rows]
    if lines and rng.random() < 0.6:
        place = rng.randrange(len(lines))
        after, change = spoil_value(rng, rows[place] if _is_plain(rows[place]) else {"text": "x"})
        lines[place] = dumped(after, change.what)
    path = folder / "corpus.jsonl"
    path.write_bytes(b"\n".join(lines))
    return path


def _is_plain(row: dict[str, Any]) -> bool:
    try:
        json.dumps(row)
    except (TypeError, ValueError):
        return False
    return True


def _write_parquet(rng: random.Random, rows: Rows, folder: Path) -> Path:
    path = folder / "corpus.parquet"
    rows = [{k.replace("\ud800", "?"): v for k, v in row.items()} for row in rows]
    frame = pd.DataFrame(rows or [{"text": "a", "label": "b"}], dtype=object)
    for name in frame.columns:
        try:
            pa.array(frame[name], from_pandas=True)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError, ValueError):
            frame[name] = [str(v).encode("utf-8", "replace").decode() for v in frame[name]]
    frame.columns = [c.encode("utf-8", "replace").decode() for c in frame.columns]
    table = pa.Table.from_pandas(frame, preserve_index=False)
    how = rng.choice(("plain", "no metadata", "bad metadata", "odd metadata", "twice"))
    if how == "no metadata":
        table = table.replace_schema_metadata(None)
    elif how == "bad metadata":
        bad = rng.choice((b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"columns": 3}', b"[" * 5000))
        table = table.replace_schema_metadata({b"pandas": bad})
    elif how == "odd metadata":
        notes = json.loads(table.schema.metadata[b"pandas"])
        after, change = spoil_value(rng, notes)
        table = table.replace_schema_metadata({b"pandas": dumped(after, change.what)})
    elif how == "twice":
        table = table.append_column("text", pa.array(["x"] * len(table)))
    parquet.write_table(table, path)
    return path


def _write_arrow(rng: random.Random, rows: Rows, folder: Path) -> Path:
    """Parquet columns of kinds that no text or label is of."""
    n = 30
    kinds = (
        pa.array([{"a": 1}] * n),
        pa.array([b"\xff"] * n),
        pa.array([1] * n, pa.timestamp("ns")),
        pa.array([1] * n, pa.duration("s")),
        pa.array([None] * n, pa.null()),
        pa.array([[1, 2]] * n),
        pa.array(["a", "b", None] * 10).dictionary_encode(),
        pa.array([1] * n, pa.decimal128(5, 2)),
        pa.array([[("a", 1)]] * n, pa.map_(pa.string(), pa.int64())),
        pa.array([2**63] * n, pa.uint64()),
        pa.array([1.5, float("nan"), float("inf")] * 10),
        pa.array([True, False, None] * 10),
    )
    texts = pa.array([f"good film {i}" for i in range(n)])
    columns = {"text": texts, "label": pa.array(["a", "b"] * 15)}
    columns[rng.choice(("text", "label", "id", "rationale", "split", "tokens"))] = rng.choice(kinds)
    path = folder / "corpus.parquet"
    parquet.write_table(pa.table(columns), path)
    return path


def _write_folder(rng: random.Random, rows: Rows, folder: Path) -> Path:
    target = folder / "corpus"
    target.mkdir()
    for split in rng.sample(("train", "valid", "test", "dev"), k=rng.choice((1, 2, 3))):
        written = _WRITERS[rng.choice(("csv", "jsonl", "parquet"))](rng, rows, target)
        written.rename(target / f"{split}{written.suffix}")
    if rng.random() < 0.3:
        value = rng.choice((["1", "0"], {"a": 1}, [None], ["1"], "x", *NASTY))
        (target / "classes.json").write_bytes(dumped(value))
    return target


_WRITERS: dict[str, Callable[[random.Random, Rows, Path], Path]] = {
    "csv": _write_separated,
    "tsv": _write_separated,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
    "arrow": _write_arrow,
    "folder": _write_folder,
}


def _read(rng: random.Random, samples: Samples, folder: Path, path: Path) -> Act:
    use = rng.choice(("load", "load", "corpora", "train", "predict", "examine", "save"))
    odd = rng.random() < 0.3
    encoding = rng.choice((*_ENCODINGS, "nope", "base64", "\x00", "")) if odd else "utf-8"
    label = rng.choice(("label", "label", "none", "text", ""))
    tokenizer = rng.choice(("words", "words", "tokens", "whitespace", "characters", "keras"))

    def act() -> str | None:
        options = {"encoding": encoding, "label_column": label, "tokenizer": tokenizer}
        if use == "load":
            return _checked(verax.load_corpus(path, **options))
        flags = [f"--{n.replace('_', '-')}={v}" for n, v in options.items()]
        arguments = {
            "corpora": ["corpora", str(path), *flags, "--json"],
            "save": ["corpora", str(path), *flags, "--save", str(folder / "saved")],
            "train": [
                "train",
                str(path),
                *flags,
                "--encoder",
                "none",
                "--embedding-size",
                "4",
                "--epochs",
                "1",
                "--out",
                str(folder / "model"),
            ],
            "predict": ["predict", str(samples.folder / "model"), "--file", str(path)],
            "examine": [
                "examine",
                str(samples.folder / "model"),
                "--corpus",
                str(path),
                "--exams",
                "replacement",
            ],
        }[use]
        command(arguments)
        return None

    return act


def _in_memory(rng: random.Random, rows: Rows) -> Act:
    form = rng.choice(("frame", "lists", "texts", "splits", "odd"))
    # pandas itself makes no column of such a name
    rows = [{k.replace("\ud800", "?"): v for k, v in row.items()} for row in rows]

    def act() -> str | None:
        frame = pd.DataFrame(rows, dtype=object)  # so that pandas makes it of any text
        source: Any = frame
        if form == "lists":
            source = ([row.get("text") for row in rows], [row.get("label") for row in rows])
        elif form == "texts":
            source = [row.get("text") for row in rows]
        elif form == "splits":
            source = {rng.choice(("train", "x", None)): frame, "test": rng.choice((frame, None, 3))}
        elif form == "odd":
            source = rng.choice(
                (None, 3, b"x", [], {}, (), ([], []), np.zeros((3, 3)), object(), [None])
            )
        return _checked(verax.load_corpus(source))

    return act


def _checked(corpus: verax.Corpus) -> str | None:
    """What is wrong with a corpus that was accepted: a label is no class, a text has no words."""
    if corpus.classes and len(set(corpus.classes)) != len(corpus.classes):
        return f"classes twice: {corpus.classes[:5]}"
    for name, documents in corpus.splits.items():
        if corpus.classes and len(documents):
            labels = documents.labels
            if labels.min() < 0 or labels.max() >= len(corpus.classes):
                return f"{name} has a label that is no class"
        if len(documents) and int(counts_of(documents).min()) < 1:
            return f"{name} has a document without words"
        if not all(isinstance(text, str) for text in documents.texts):
            return f"{name} has a text that is none"
        for text in documents.texts:
            text.encode()
    return None


def _by_name(rng: random.Random, samples: Samples, folder: Path, rows: Rows) -> tuple[str, Act]:
    """Odd names: of files, of built-in corpora, of the folder of corpora."""
    text = "text,label\n" + "".join(f"good film {i},{i % 2}\n" for i in range(30))
    name: str = rng.choice(
        (
            *(
                "a\x00b.csv",
                "\udcff.csv",
                "\ud800",
                "x" * 5000,
                "planted:",
                "planted:documents=",
                "/",
            ),
            *(
                "planted:documents=9" + "9" * 4301,
                "planted:seed=-1",
                "planted:classes=3.5",
                "",
                " ",
            ),
            *(
                "reviews:",
                "reviews:/nope",
                "~nobody/x.csv",
                "a/b",
                "file:///x",
                "in-memory:x",
            ),
            *(
                "planted:classes=2,classes=3",
                "planted:label_noise=nan",
                "planted:documents=2147483648",
            ),
            *(
                "planted:length=4294967296",
                "planted:vocabulary=999999999999",
                ".",
                "..",
                "\n",
                "é.csv",
            ),
        )
    )
    if rng.random() < 0.4:
        name = rng.choice(_NAMES)
        (folder / name).write_text(text, encoding="utf-8")
        name = str(folder / name)
    use = rng.choice(("load", "corpora", "train", "predict"))
    arguments = {
        "corpora": ["corpora", name, "--json"],
        "train": [
            "train",
            name,
            "--encoder",
            "none",
            "--embedding-size",
            "4",
            "--epochs",
            "1",
            "--out",
            str(folder / "model"),
        ],
        "predict": ["predict", str(samples.folder / "model"), "--file", name],
    }

    def act() -> str | None:
        if use == "load":
            return _checked(verax.load_corpus(name))
        command(arguments[use])
        return None

    return f"name {name!r:.60}, {use}", act
