"""Saved models, verdicts, stores, packs, sweeps, comparisons, adversaries and limits, spoilt."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from pyarrow import parquet
from safetensors.torch import load_file, save_file

import verax
from fuzz.harness import Act, command
from fuzz.samples import Samples, content_of
from fuzz.spoiling import (
    Change,
    dumped,
    sign,
    spoil_bytes,
    spoil_json,
    spoil_table,
    spoil_value,
    unexpected,
)
from verax import Result
from verax.exams import load_limits
from verax.studies import StudyResults

_TEXT = "a good0_1 film . good1_2 w3"


def make_model(rng: random.Random, samples: Samples, folder: Path) -> tuple[str, Act]:
    """A saved model with a spoilt config, vocabulary or weights."""
    model = samples.copy("model", folder)
    how = rng.choice(("config", "config", "config", "vocabulary", "weights", "bytes"))
    change = {
        "config": lambda: _config(rng, model),
        "vocabulary": lambda: _vocabulary(rng, model),
        "weights": lambda: _weights(rng, model),
        "bytes": lambda: _bytes(rng, model),
    }[how]()
    use = rng.choice(("load", "load", "predict", "explain", "examine", "compare"))

    def act() -> str | None:
        if use == "load":
            wrong = unexpected(dict(samples.contents["model"]), content_of("model", model), change)
            verax.load(model, device="cpu").predict([_TEXT])
            return wrong
        arguments = {
            "predict": ["predict", str(model), _TEXT],
            "explain": ["explain", str(model), _TEXT],
            "examine": ["examine", str(model), "--exams", "replacement", "--sample", "3"],
            "compare": [
                "compare",
                str(model),
                str(samples.folder / "model"),
                "--sample",
                "3",
                "--exams",
                "replacement",
            ],
        }[use]
        return _commanded(arguments, change)

    return f"model {change.what}, {use}", act


def _commanded(arguments: list[str], change: Change) -> str | None:
    code = command(arguments)
    return f"{change.what}: accepted by {arguments[0]}" if change.nonsense and code == 0 else None


def _config(rng: random.Random, model: Path) -> Change:
    change = spoil_json(rng, model / "config.json")
    first = change.where.partition("/")[0]
    # rows of the history are read as columns
    return Change(change.what, "history" if first == "history" else change.where, change.nonsense)


def _vocabulary(rng: random.Random, model: Path) -> Change:
    file = model / "vocabulary.json"
    words = json.loads(file.read_text(encoding="utf-8"))
    how = rng.choice(("twice", "null", "number", "longer", "shorter", "json", "empty", "mapping"))
    if how == "json":
        change = spoil_json(rng, file)
        return Change(f"vocabulary {change.what}", "vocabulary", nonsense=change.nonsense)
    place = rng.randrange(len(words))
    if how == "twice":
        words[place] = words[place - 1]
    elif how == "null":
        words[place] = None
    elif how == "number":
        words[place] = 7
    elif how == "longer":
        words.append("more")
    elif how == "shorter":
        words.pop()
    elif how == "empty":
        words = []
    else:
        words = dict.fromkeys(words, 1)
    file.write_text(json.dumps(words), encoding="utf-8")
    return Change(f"vocabulary {how} {place}", "vocabulary", nonsense=True)


def _weights(rng: random.Random, model: Path) -> Change:
    file = model / "model.safetensors"
    weights = load_file(file)
    name = rng.choice(sorted(weights))
    how = rng.choice(
        ("nan", "inf", "int8", "half", "double", "bool", "shape", "drop", "extra", "huge")
    )
    value = weights[name]
    if how in ("nan", "inf"):
        value = value.clone()
        value.view(-1)[rng.randrange(value.numel())] = float(how)
    elif how == "drop":
        del weights[name]
    elif how == "extra":
        weights["extra"] = torch.zeros(2)
    elif how == "shape":
        value = value.reshape(-1, 1) if value.dim() != 2 else value.reshape(-1)
    elif how == "huge":
        value = torch.full_like(value, 3e38)
    else:
        kinds = {"int8": torch.int8, "half": torch.float16, "double": torch.float64}
        value = value.to(kinds.get(how, torch.bool))
    if how not in ("drop", "extra"):
        weights[name] = value
    save_file(weights, file)
    where = f"weights/{name}"
    return Change(f"weights {how} of {name}", where, nonsense=how != "huge")


def _bytes(rng: random.Random, model: Path) -> Change:
    file = rng.choice(sorted(model.iterdir()))
    data, how = spoil_bytes(rng, file.read_bytes())
    file.write_bytes(data)
    where = {"vocabulary.json": "vocabulary", "model.safetensors": "weights"}.get(file.name, "")
    return Change(f"{file.name}: {how}", where, nonsense=False)


def make_verdict(rng: random.Random, samples: Samples, folder: Path) -> tuple[str, Act]:
    """A saved verdict with a spoilt manifest or table."""
    return _result(rng, samples, folder, "verdict")


def _result(rng: random.Random, samples: Samples, folder: Path, kind: str) -> tuple[str, Act]:
    result = samples.copy(kind, folder)
    how = rng.choice(("manifest", "manifest", "table", "forged", "files"))
    if how == "manifest":
        change = spoil_json(rng, result / "manifest.json")
    elif how == "files":
        change = _files(rng, result)
    else:
        change = spoil_table(rng, rng.choice(sorted(result.glob("*.parquet"))))
        if how == "forged":
            sign(result)
    use = rng.choice(("open", "open", "open", "report", "figures", "compare"))
    if use == "compare" and kind != "verdict":
        use = "report"
    if use in ("report", "figures") and not samples.pages:
        use = "open"

    def act() -> str | None:
        if use == "open":
            after = content_of(kind, result)
            opened = verax.open(result)
            assert isinstance(opened, Result)
            _look_at(opened)
            return _unexpected(samples, kind, after, change)
        arguments = {
            "report": ["report", str(result), "-o", str(folder / "page.html")],
            "figures": ["figures", str(result), "--out", str(folder / "figures")],
            "compare": ["compare", str(result), str(samples.folder / kind)],
        }[use]
        return _commanded(arguments, change)

    return f"{kind} {change.what}, {how}, {use}", act


def _unexpected(samples: Samples, kind: str, after: dict[str, Any], change: Change) -> str | None:
    """As `unexpected`, but that tables are made anew of what is kept, so that all may differ."""
    before = dict(samples.contents[kind])
    if change.where.startswith("table/") and kind != "verdict":
        before = {n: v for n, v in before.items() if not n.startswith("table/")}
        after = {n: v for n, v in after.items() if not n.startswith("table/")}
        return f"{change.what}: accepted" if change.nonsense else unexpected(before, after, change)
    if not change.where.startswith("table/"):
        before, after = (
            {n: v for n, v in one.items() if not n.startswith("table/") or kind == "verdict"}
            for one in (before, after)
        )
    return unexpected(before, after, change)


def _files(rng: random.Random, result: Path) -> Change:
    file = rng.choice(sorted(result.iterdir()))
    how = rng.choice(("gone", "bytes", "bytes", "folder"))
    where = "" if file.suffix == ".json" else f"table/{file.stem}"
    if how == "bytes":
        data, words = spoil_bytes(rng, file.read_bytes())
        file.write_bytes(data)
        return Change(f"{file.name}: {words}", where, nonsense=False)
    file.unlink()
    if how == "folder":
        file.mkdir()
    return Change(f"{file.name}: {how}", where, nonsense=False)


def _look_at(result: Result) -> None:
    """All that a person could ask of a result."""
    repr(result)
    str(result)
    if isinstance(result, verax.Verdict):
        result.summary()
        result.document_values()
        result.judgement.to_json()
    result._repr_html_()


def make_store(rng: random.Random, samples: Samples, folder: Path) -> tuple[str, Act]:
    """A study's folder with a spoilt file, cells signed again or not."""
    store = samples.copy("store", folder)
    key = rng.choice(sorted(path.name for path in (store / "cells").iterdir()))
    how = rng.choice(("top", "top", "manifest", "cell", "cell", "cell", "failed", "bytes"))
    change = {
        "top": lambda: _top(rng, store),
        "manifest": lambda: spoil_json(rng, store / "cells" / key / "manifest.json"),
        "cell": lambda: _cell(rng, store / "cells" / key),
        "failed": lambda: _failed(rng, store, key),
        "bytes": lambda: _store_bytes(rng, store),
    }[how]()
    return f"store {how} {change.what}", _studied(rng, samples, folder, store, change, "store")


def _top(rng: random.Random, store: Path) -> Change:
    change = spoil_json(rng, store / rng.choice(("store.json", "resolved.json", "resolved.json")))
    return Change(change.what, "", change.nonsense)


def _failed(rng: random.Random, store: Path, key: str) -> Change:
    (store / "failed").mkdir(exist_ok=True)
    record = {"reason": "error", "error": "x", "traceback": "y", "started": "z"}
    after, change = spoil_value(rng, record)
    (store / "failed" / f"{key}.json").write_bytes(dumped(after, change.what))
    return Change(change.what, "", nonsense=False)


def _store_bytes(rng: random.Random, store: Path) -> Change:
    file = rng.choice(sorted(path for path in store.rglob("*") if path.is_file()))
    data, how = spoil_bytes(rng, file.read_bytes())
    file.write_bytes(data)
    return Change(f"{file.relative_to(store)}: {how}", "", nonsense=False)


def _cell(rng: random.Random, cell: Path) -> Change:
    """A file of a cell, and its checksum, changed: as a forger would."""
    jsons = ["verdict.json", "verdict.json", "model/config.json"]
    tables = sorted(path.name for path in cell.glob("*.parquet"))
    name = rng.choice([*jsons, *tables])
    if name.endswith(".json"):
        change = spoil_json(rng, cell / name)
    else:
        change = spoil_table(rng, cell / name)
    manifest = json.loads((cell / "manifest.json").read_text(encoding="utf-8"))
    data = (cell / name).read_bytes()
    entry = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    manifest["files"][name] = entry
    (cell / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return Change(f"{name} {change.what}", "", change.nonsense)


def _studied(
    rng: random.Random, samples: Samples, folder: Path, study: Path, change: Change, kind: str
) -> Act:
    uses = ["open"] * 4 + ["model", "sweep", "pack"] * 2 + ["report", "figures"]  # pages take long
    use = rng.choice(uses)
    if use in ("report", "figures") and not samples.pages:
        use = "open"
    weak = Change(change.what, "", change.nonsense)
    packing = study
    if kind == "packed" and use == "pack":  # a study is continued in a folder that holds a pack
        packing = folder / "continued"
        shutil.copytree(samples.folder / "store", packing)
        shutil.rmtree(packing / "cells")
        shutil.copytree(study, packing / "packed")

    def act() -> str | None:
        if use in ("report", "figures", "pack"):
            arguments = {
                "report": ["report", str(study), "-o", str(folder / "page.html")],
                "figures": ["figures", str(study), "--out", str(folder / "figures")],
                "pack": ["pack", str(packing), "--out", str(folder / "out")],
            }[use]
            command(arguments)
            return None
        opened = verax.open(study)
        assert isinstance(opened, StudyResults)
        repr(opened)
        if use == "model":
            for one in opened.done:
                opened.model(one, device="cpu").predict([_TEXT])
            return None
        if use == "sweep":
            verax.Sweep.of_study(opened).points()
            return None
        for name in (opened.cells, opened.failures):
            name.to_dict()
        for table in opened.tables:
            opened.table(table)
        opened.judgements()
        after = content_of(kind, study)
        if set(opened.counts) != {"done"}:
            return None  # a damaged cell is named, and left out
        return unexpected(dict(samples.contents[kind]), after, weak)

    return act


def make_other(rng: random.Random, samples: Samples, folder: Path) -> tuple[str, Act]:
    """Sweeps, comparisons, adversaries, packs, limits."""
    kinds = ("sweep", "comparison", "adversaries", "packed", "packed", "limits")
    kind = rng.choice(kinds)
    if kind == "limits":
        return _limits(rng, samples, folder)
    if kind == "packed":
        return _packed(rng, samples, folder)
    return _result(rng, samples, folder, kind)


def _limits(rng: random.Random, samples: Samples, folder: Path) -> tuple[str, Act]:
    file = samples.copy("limits", folder) / rng.choice(("limits.json", "measured.json"))
    change = spoil_json(rng, file)
    use = rng.choice(("load", "judge", "examine"))

    def act() -> str | None:
        if use == "examine":
            model = str(samples.folder / "model")
            arguments = ["examine", model, "--exams", "replacement", "--sample", "3"]
            return _commanded([*arguments, "--limits", str(file)], change)
        limits = load_limits(file)
        if use == "judge":
            opened = verax.load_verdict(samples.folder / "verdict")
            json.dumps(opened.judge(limits).to_json(), allow_nan=False)
        return f"{change.what}: accepted" if change.nonsense else None

    return f"limits {change.what}, {use}", act


def _packed(rng: random.Random, samples: Samples, folder: Path) -> tuple[str, Act]:
    packed = samples.copy("packed", folder)
    how = rng.choice(("about", "about", "column", "column", "table", "models", "bytes", "gone"))
    first = packed / "cells.parquet"
    if how in ("bytes", "gone"):
        change = _files(rng, packed)
        change = Change(change.what, "", nonsense=False)
    elif how == "table":
        tables = sorted(packed.glob("*.parquet"))
        file = rng.choice([path for path in tables if path.name not in (first.name, _MODELS)])
        change = spoil_table(rng, file)
        change = Change(change.what, "", nonsense=False)
    elif how == "models":
        change = _packed_models(rng, packed / _MODELS)
    elif how == "about":
        after, change = spoil_value(rng, _about(first))
        _write_first(first, parquet.read_table(first), dumped(after, change.what))
        change = Change(change.what, "", change.nonsense)
    else:
        change = _packed_column(rng, first)
    if how in ("table", "models") and rng.random() < 0.7:
        _sign_pack(packed)
    return f"packed {how} {change.what}", _studied(rng, samples, folder, packed, change, "packed")


_MODELS = "files.parquet"


def _about(first: Path) -> dict[str, Any]:
    return dict(json.loads(parquet.read_metadata(first).metadata[b"verax.study"]))


def _write_first(first: Path, table: pa.Table, about: bytes | str) -> None:
    parquet.write_table(table.replace_schema_metadata({b"verax.study": about}), first)


def _sign_pack(packed: Path) -> None:
    """Sizes and checksums of the files as they are now."""
    first = packed / "cells.parquet"
    about = _about(first)
    for name in about["files"]:
        data = (packed / name).read_bytes()
        about["files"][name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    _write_first(first, parquet.read_table(first), json.dumps(about))


def _packed_column(rng: random.Random, first: Path) -> Change:
    """A JSON column of `cells.parquet`, or its key or status, spoilt in one row."""
    table, about = parquet.read_table(first), _about(first)
    kept = ["cell", "status", "config", "manifest", "verdict", "tables", "left_out"]
    name = rng.choice(kept)
    values = table.column(name).to_pylist()
    row, nonsense = rng.randrange(len(values)), False
    if name in ("cell", "status"):
        values[row], what = rng.choice((None, "", "x", "../x", "done", "failed", "0" * 16)), "value"
    else:
        after, change = spoil_value(rng, json.loads(values[row]))
        what, nonsense = change.what, change.nonsense
        values[row] = dumped(after, what).decode("utf-8", "replace")
    place = table.schema.get_field_index(name)
    table = table.set_column(place, name, pa.array(values, pa.string()))
    _write_first(first, table, json.dumps(about))
    return Change(f"{name} {what}", "", nonsense)


def _packed_models(rng: random.Random, file: Path) -> Change:
    table = parquet.read_table(file)
    rows = table.to_pylist()
    row = rng.choice(rows)
    how = rng.choice(("bytes", "name", "null", "cell"))
    if how == "bytes":
        row["bytes"], _ = spoil_bytes(rng, row["bytes"])
    elif how == "name":
        row["file"] = rng.choice(("", "../x", "x", None))
    elif how == "null":
        row["bytes"] = None
    else:
        row["cell"] = rng.choice(("", "x", None))
    parquet.write_table(pa.Table.from_pylist(rows, schema=table.schema), file)
    return Change(f"models {how}", "", nonsense=False)
