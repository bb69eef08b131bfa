"""Give stored cells the keys that their configurations have now.

    python scripts/rekey.py [FOLDER …]

Run it after a change of the rule by which keys are computed (`verax.studies.grid.cell.RULE`), or
when an option moves. Every pack below the folders (by default results and docs) is read, and each
old key is replaced by the new one wherever it occurs: in packs, in other Parquet files and in text.
A second run changes nothing. Cells whose exams are not registered, or have another version by now,
keep their keys.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from verax.corpora import CorpusOptions
from verax.files import new_file, write_text
from verax.schema import checksum_of
from verax.studies import Cell
from verax.studies.store.archive import FIRST, METADATA, SUM, sum_of_pack

ROOT = Path(__file__).parents[1]
TEXTS = (".csv", ".json", ".md", ".svg", ".yaml")
_KEY = re.compile(r"\b[0-9a-f]{16}\b")


def main(folders: Iterable[Path]) -> None:
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    packs = [path for path in files if path.name == FIRST]
    keys, cells = new_keys(packs)
    changed = [path for path in files if keys and path.name != FIRST and replace(path, keys)]
    # after the tables, whose checksums it holds
    changed += [path for path in packs if keys and replace(path, keys)]
    print(f"{len(keys):,} of {cells:,} keys changed, in {len(changed):,} files")


def new_keys(packs: Iterable[Path]) -> tuple[dict[str, str], int]:
    """Return the new key of each cell whose key changes, and how many cells there are."""
    found: dict[str, str] = {}
    for path in packs:
        rows = parquet.read_table(path, columns=["cell", "config"]).to_pylist()
        for row in rows:
            config = json.loads(row["config"])
            if "function" in config:  # a call of `run_grid`
                continue
            cell = Cell.from_json(moved(config))
            found[row["cell"]] = cell.key if cell.is_current else row["cell"]
    if len(set(found.values())) < len(found):
        sys.exit("different cells have the same key now: nothing was changed")
    return {old: new for old, new in found.items() if old != new}, len(found)


def moved(config: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of a cell with options where they are now.

    What `resplit`, `drop_extremes` and `strip_messages` of `load_corpus` did, a loader of
    `research` does. The config of its corpora has what a study gives, and no defaults.
    """
    corpus = config["corpus"]
    own = {_LOADING[name]: value for name, value in corpus.items() if name in _LOADING}
    if not own or "loader" in corpus:  # or moved already
        return config
    defaults = {field.name: field.default for field in dataclasses.fields(CorpusOptions)}
    given = {
        name: value
        for name, value in corpus.items()
        if name not in _LOADING
        and (name == "tokeniser" or name not in defaults or value != defaults[name])
    }
    return {**config, "corpus": {**given, **own, "loader": "research.papers.loading:read@1"}}


_LOADING = {"resplit": "pool", "drop_extremes": "drop_extremes", "strip_messages": "strip_messages"}


def replace(path: Path, keys: Mapping[str, str]) -> bool:
    """Replace keys in a file; return whether it held any."""

    def renamed(text: str) -> str:
        if path.name == FIRST and text.startswith('{"corpus": '):
            text = json.dumps(moved(json.loads(text)), ensure_ascii=False)
        return _KEY.sub(lambda match: keys.get(match[0], match[0]), text)

    if path.suffix in TEXTS:
        text = path.read_text(encoding="utf-8")
        if renamed(text) != text:
            write_text(path, renamed(text))
            return True
    if path.suffix != ".parquet":
        return False
    with parquet.ParquetFile(path) as file:
        groups = [file.read_row_group(number) for number in range(file.num_row_groups)]
        metadata, schema = dict(file.metadata.metadata or {}), file.schema_arrow
    new = [pa.table([_renamed(c, renamed) for c in one.columns], schema=schema) for one in groups]
    if all(one.equals(other) for one, other in zip(groups, new, strict=True)):
        return False
    about: dict[str, Any] = {}
    if METADATA in metadata:
        about = json.loads(metadata[METADATA])
        tables = {name: (path.parent / name).read_bytes() for name in about["files"]}
        about["files"] = {name: checksum_of(data) for name, data in tables.items()}
        about[SUM] = sum_of_pack(about, [row for rows in new for row in rows.to_pylist()])
        notes = {name: value for name, value in (schema.metadata or {}).items() if name != METADATA}
        schema = schema.with_metadata(notes or None)
    how = {"compression": "zstd", "compression_level": 9, "write_page_checksum": True}
    with (
        new_file(path) as stream,
        parquet.ParquetWriter(stream, schema, write_statistics=not about, **how) as writer,
    ):
        for rows in new:
            writer.write_table(rows.cast(schema), row_group_size=max(1, len(rows)))
        if about:
            writer.add_key_value_metadata({METADATA.decode(): json.dumps(about)})
    return True


def _renamed(column: pa.ChunkedArray, renamed: Any) -> pa.ChunkedArray:
    """A column with new keys, if it is text."""
    kind = column.type
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not (pa.types.is_string(values) or pa.types.is_large_string(values)):
        return column
    encoded = column.combine_chunks().cast(values).dictionary_encode()
    names = pa.array(
        [None if v is None else renamed(v) for v in encoded.dictionary.to_pylist()], values
    )
    return pa.chunked_array([pa.DictionaryArray.from_arrays(encoded.indices, names).cast(kind)])


if __name__ == "__main__":
    main(list(map(Path, sys.argv[1:])) or [ROOT / "results", ROOT / "docs"])
