"""What is packed of a paper: numbers enough to check it, no documents, the same bytes each time."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from in_process import run_here
from made_up_paper import PAPER

import verax
from research.papers import PaperResults, pack_paper
from research.papers.packing import delta_js_points
from research.papers.results import finished_in
from support.documents import tokens_of
from support.errors import raises
from verax.studies import open_study

CORPUS = {"limit": 60, "min_words": 6}
STUDY: dict[str, Any] = {
    "corpora": {"rotten_tomatoes": CORPUS},
    "models": {"encoder": "none", "hidden_size": 8, "embedding_size": 8},
    "training": {"epochs": 1},
    "exams": ["erasure", {"single_token": {"curves": 3}}],
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two parts of one cell each: the second erases nothing."""
    folder = tmp_path_factory.mktemp("ran")
    run_here({**STUDY, "name": "made-up-2020.sst", "seeds": [1]}, folder / "sst")
    run_here(
        {**STUDY, "name": "made-up-2020.more", "seeds": [2], "exams": ["single_token"]},
        folder / "more",
    )
    return folder


@pytest.fixture(scope="module")
def packed(ran: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("packed") / "made-up"
    pack_paper(PAPER, ran, out)
    return out


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def strings(path: Path) -> dict[str, set[str]]:
    """Every value of every column of text, lists and the file's own metadata too."""
    table = pq.read_table(path)
    found = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            found[name] = {str(value) for value in column.to_pylist()}
    about = table.schema.metadata or {}
    found["metadata"] = {value.decode("utf-8", "replace") for value in about.values()}
    return found


@pytest.mark.slow
def test_a_few_files_are_written(packed: Path) -> None:
    assert set(contents(packed)) == {
        "delta_js_points.parquet",
        *(f"sst/{name}.parquet" for name in ("cells", "summary", "history", "single_token_tokens")),
        *(f"more/{name}.parquet" for name in ("cells", "summary", "history")),
    }


@pytest.mark.slow
def test_no_document_is_in_them(packed: Path) -> None:
    corpus = verax.load_corpus("rotten_tomatoes", **CORPUS)
    # long enough to be nothing but a piece of that document
    starts = [
        " ".join(words[i : i + 4])
        for documents in corpus.splits.values()
        for words in tokens_of(documents)
        for i in range(0, len(words) - 4, 2)
    ]
    pieces = {piece for piece in starts if len(piece) >= 20}
    assert len(pieces) > 200
    whole = [text for documents in corpus.splits.values() for text in documents.texts]
    for path in packed.rglob("*.parquet"):
        raw = path.read_bytes()
        assert not any(text.encode() in raw for text in whole)
        for values in strings(path).values():
            told = "\n".join(" ".join(re.split(r"\W+", value.lower())) for value in values)
            plain = "\n".join(values).lower()
            assert not any(piece in told or piece in plain for piece in pieces)


def test_no_column_holds_words(packed: Path) -> None:
    """Columns of text are names of things; those of documents are numbers."""
    known = {"cell", "exam", "table", "row", "column", "measure", "unit", "metadata", "selected"}
    for path in packed.rglob("*.parquet"):
        if path.name != "cells.parquet":
            assert set(strings(path)) <= known
    # what a row is called is told by the exam, and no word of a document
    corpus = verax.load_corpus("rotten_tomatoes", **CORPUS)
    texts = {text for documents in corpus.splits.values() for text in documents.texts}
    for name in ("sst", "more"):
        assert not strings(packed / name / "cells.parquet")["verdict"] & texts


@pytest.mark.slow
def test_packing_again_gives_the_same_bytes(ran: Path, packed: Path, tmp_path: Path) -> None:
    before = contents(packed)
    pack_paper(PAPER, ran, packed)
    assert contents(packed) == before
    pack_paper(PAPER, ran, tmp_path / "other")
    assert contents(tmp_path / "other") == before


def test_the_pack_has_the_numbers_of_the_stores(ran: Path, packed: Path) -> None:
    one, other = PaperResults.open(ran), PaperResults.open(packed)
    by = ["cell", "exam", "table", "row", "column"]
    frames = [
        found.summary.astype(dict.fromkeys(by, str)).sort_values(by, ignore_index=True)
        for found in (one, other)
    ]
    pd.testing.assert_frame_equal(*frames, check_dtype=False, check_categorical=False)
    assert set(one.cells["cell"]) == set(other.cells["cell"])
    pd.testing.assert_frame_equal(
        one.tables["single_token_tokens"], other.tables["single_token_tokens"]
    )


def test_points_are_those_of_the_erasing_cells(ran: Path, packed: Path) -> None:
    (key,) = open_study(ran / "sst").done
    expected = delta_js_points(open_study(ran / "sst").verdict(key).tables["erasure_single"])
    found = PaperResults.open(packed).tables["delta_js_points"]
    assert set(found["cell"]) == {key}
    assert len(found) > 0
    assert found["id"].tolist() == expected["id"].tolist()
    assert found["delta_js"].to_numpy() == pytest.approx(expected["delta_js"].to_numpy(), abs=1e-6)
    assert found["delta_alpha"].dtype == "float32"


@pytest.mark.slow
def test_parts_of_an_earlier_pack_stay(ran: Path, packed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for part in ("sst", "more"):
        (tmp_path / part).mkdir()
        (tmp_path / part / part).symlink_to(ran / part)
        pack_paper(PAPER, tmp_path / part, out)
    assert contents(out) == contents(packed)
    # a cell packed again takes the place of its own points alone
    points = pd.read_parquet(out / "delta_js_points.parquet")
    others = points.assign(cell="0" * 16)
    both = pd.concat([others, points], ignore_index=True)
    both.to_parquet(out / "delta_js_points.parquet", index=False)
    found = pack_paper(PAPER, tmp_path / "sst", out).tables["delta_js_points"]
    assert found["cell"].value_counts().to_dict() == {
        "0" * 16: len(points),
        points["cell"][0]: len(points),
    }


def test_documents_are_packed_of_the_parts_that_figures_draw_alone(
    ran: Path, packed: Path, tmp_path: Path
) -> None:
    pack_paper(replace(PAPER, kept=()), ran, tmp_path)
    everything = contents(packed)
    del everything["sst/single_token_tokens.parquet"], everything["sst/cells.parquet"]
    found = contents(tmp_path)
    del found["sst/cells.parquet"]  # it says what was left out
    assert found == everything
    assert "single_token_tokens" in open_study(tmp_path / "sst").left_out


def test_nothing_is_packed_if_one_cell_ran_with_uncommitted_changes(
    ran: Path, tmp_path: Path
) -> None:
    """Parts are packed in the order of their names: here the last one cannot be."""
    shutil.copytree(ran, tmp_path / "ran")
    (key,) = open_study(ran / "sst").done
    manifest = tmp_path / "ran" / "sst" / "cells" / key / "manifest.json"
    told = json.loads(manifest.read_text()) | {"commit": f"{'a' * 40}-dirty"}
    told["sha256"] = _sum(told)
    manifest.write_text(json.dumps(told))
    with raises("study.uncommitted", "sst", key):
        pack_paper(PAPER, tmp_path / "ran", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def _sum(manifest: dict[str, Any]) -> str:
    """The hash of all else in a manifest, as docs/running.md has it: compact JSON, sorted."""
    rest = {name: value for name, value in manifest.items() if name != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_folder_without_studies_is_told(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with raises("result.missing"):
            pack_paper(PAPER, folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_packed_is_not_packed_again(packed: Path, tmp_path: Path) -> None:
    with raises("result.wrong-kind"):
        pack_paper(PAPER, packed, tmp_path / "out")


@pytest.mark.slow
def test_studies_of_another_paper_are_not_packed(ran: Path, packed: Path, tmp_path: Path) -> None:
    other = replace(PAPER, name="meister-2021")
    with raises("result.wrong-kind", "made-up-2020.more"):
        pack_paper(other, ran, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    # nor are any put beside another's
    run_here({**STUDY, "name": "meister-2021.one", "seeds": [1]}, tmp_path / "one" / "one")
    before = contents(packed)
    with raises("result.wrong-kind", "meister-2021"):
        pack_paper(other, tmp_path / "one", packed)
    assert contents(packed) == before


def test_finished_cells_are_counted_in_stores_and_packs(
    ran: Path, packed: Path, tmp_path: Path
) -> None:
    assert [*finished_in(tmp_path / "nowhere"), *finished_in(tmp_path)] == []
    keys, again = ([key for _, key in finished_in(folder)] for folder in (ran, packed))
    assert len(set(keys)) == len(keys) == 2
    assert set(again) == set(keys)
