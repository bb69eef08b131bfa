"""Give stored cells the keys that their configurations have now.

    VERAX_DATA=… python scripts/rekey.py [FOLDER …]

Run it after a change of the rule by which keys are computed (`verax.studies.grid.cell.RULE`), or
when an option moves. Every pack below the folders (by default results and docs) is read, and each
old key and fingerprint is replaced by the new one wherever it occurs: in packs, in other Parquet
files and in text. A second run changes nothing. Cells whose exams are not registered, or have
another version by now, keep their keys, and so do those whose corpus is not at hand.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from verax import VeraxError
from verax.corpora import Corpus, load_corpus
from verax.files import new_file, write_text
from verax.schema import checksum_of
from verax.studies import Cell
from verax.studies.grid.loader import Loader
from verax.studies.store.archive import FIRST, METADATA, SUM, sum_of_pack

ROOT = Path(__file__).parents[1]
TEXTS = (".csv", ".json", ".md", ".svg", ".yaml")
_KEY = re.compile(r"\b[0-9a-f]{16}\b")


def main(folders: Iterable[Path]) -> None:
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    packs = [path for path in files if path.name == FIRST]
    fingerprints = new_fingerprints(packs)
    keys, cells = new_keys(packs, fingerprints)
    new = {**fingerprints, **keys}
    changed = [path for path in files if new and path.name != FIRST and replace(path, new)]
    # after the tables, whose checksums it holds
    changed += [path for path in packs if new and replace(path, new)]
    print(f"{len(keys):,} of {cells:,} keys changed, in {len(changed):,} files")


def configs(packs: Iterable[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield key and configuration of each cell of a study."""
    for path in packs:
        for row in parquet.read_table(path, columns=["cell", "config"]).to_pylist():
            config = json.loads(row["config"])
            if "function" not in config:  # a call of `run_grid`
                yield row["cell"], config


def new_fingerprints(packs: Iterable[Path]) -> dict[str, str]:
    """Return the fingerprint that the corpus of each old one has now, if it is at hand."""
    found: dict[str, str] = {}
    for _, config in configs(packs):
        old = config["fingerprint"]
        if "tokeniser" not in config["corpus"] or old in found:
            continue
        try:
            corpus = loaded(moved_corpus(config["corpus"]))
        except VeraxError as error:
            print(f"{old}: {error}", file=sys.stderr)
            continue
        reader = config["corpus"]["tokeniser"], config["corpus"].get("lowercase", True)
        if old_fingerprint(corpus, *reader) != old:
            print(f"{old}: {corpus.name} at hand is another corpus", file=sys.stderr)
            continue
        found[old] = corpus.fingerprint
    return found


def loaded(config: Mapping[str, Any]) -> Corpus:
    """Load the corpus of a configuration."""
    options = {name: value for name, value in config.items() if name not in ("corpus", "loader")}
    if "loader" in config:
        return Loader.named(config["loader"]).load(config["corpus"], options)
    return load_corpus(config["corpus"], **options)


def old_fingerprint(corpus: Corpus, kind: str, lowercase: bool) -> str:
    """Return the fingerprint of a corpus when it had a tokenizer."""
    reader = f"Tokeniser(kind={kind!r}, lowercase={lowercase})"
    digest = hashlib.sha256(f"({corpus.classes!r}, {reader})".encode())
    for documents in corpus.splits.values():
        for text in documents.texts:
            digest.update(repr(text).encode("utf-8", "surrogatepass"))
        digest.update(documents.labels.astype("<i8").tobytes())
    return digest.hexdigest()[:16]


def new_keys(packs: Iterable[Path], fingerprints: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """Return the new key of each cell whose key changes, and how many cells there are."""
    found: dict[str, str] = {}
    for key, config in configs(packs):
        if "tokeniser" in config["corpus"] and config["fingerprint"] not in fingerprints:
            found[key] = key
            continue
        cell = Cell.from_json(moved(config, fingerprints))
        found[key] = cell.key if cell.is_current else key
    if len(set(found.values())) < len(found):
        sys.exit("different cells have the same key now: nothing was changed")
    return {old: new for old, new in found.items() if old != new}, len(found)


def moved(config: dict[str, Any], fingerprints: Mapping[str, str]) -> dict[str, Any]:
    """Return the configuration of a cell with options where they are now.

    The tokenizer was an option of the corpus, and is one of the model.
    """
    corpus = config["corpus"]
    if "tokeniser" not in corpus or config["fingerprint"] not in fingerprints:
        return config
    return {
        **config,
        "corpus": moved_corpus(corpus),
        "fingerprint": fingerprints[config["fingerprint"]],
        "model": {**reading_of(corpus), **config["model"]},
    }


def moved_verdict(manifest: dict[str, Any], fingerprints: Mapping[str, str]) -> dict[str, Any]:
    """Return the manifest of a verdict with options where they are now."""
    corpus = manifest["corpus"]
    if "tokeniser" not in corpus or corpus.get("fingerprint") not in fingerprints:
        return manifest
    model = dict(manifest["model"])
    if "tokeniser" in model.get("corpus", {}):
        model["corpus"] = moved_corpus(model["corpus"])
    if "encoder" in model.get("options", {}):
        model["options"] = {**reading_of(corpus), **model["options"]}
    rest = {n: v for n, v in manifest.items() if n != "texts_fingerprint"}
    return {**rest, "corpus": moved_corpus(corpus), "model": model}


def reading_of(corpus: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a model that were options of its corpus."""
    lowercase = corpus.get("lowercase", True)
    return {"tokenizer": corpus["tokeniser"], "lowercase": lowercase, "max_length": None}


def moved_corpus(corpus: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of a corpus without its tokenizer."""
    names = {"min_length": "min_words", "max_length": "max_words"}
    kept = {
        names.get(name, name): value
        for name, value in corpus.items()
        if name not in ("tokeniser", "lowercase") and (name, value) != ("tokens_column", "tokens")
    }
    kind = corpus["tokeniser"]
    counts = {"min_length", "max_length", "drop_extremes"} & corpus.keys() or kind == "keras"
    return {**kept, **({"count_words_by": kind} if counts and kind != "words" else {})}


def replace(path: Path, keys: Mapping[str, str]) -> bool:
    """Replace keys in a file; return whether it held any."""

    def renamed(text: str) -> str:
        if path.name == FIRST and text.startswith('{"corpus": '):
            text = json.dumps(moved(json.loads(text), keys), ensure_ascii=False)
        elif path.name == FIRST and '"tokeniser": ' in text:
            text = json.dumps(moved_verdict(json.loads(text), keys), ensure_ascii=False, indent=2)
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
