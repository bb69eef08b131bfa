"""Files of every kind give the same corpus, and hostile ones a plain error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from support.errors import raises
from support.internals import is_corpus_folder, read_folder, read_table
from verax.corpora import Corpus, known_corpora, load_corpus
from verax.errors import VeraxWarning

AWKWARD = [
    "NA",
    "null",
    "None",
    "nan",
    "two\nlines",
    'a "quote"',
    "tab\there",
    "comma, comma",
    "é🎬",
]
ROWS = [
    {
        "text": f"{AWKWARD[i % len(AWKWARD)]} {i}" if i >= 9 else AWKWARD[i],
        "label": i % 3,
        "id": i + 7,
    }
    for i in range(60)
]


def write(rows: list[dict[str, Any]], path: Path) -> Path:
    frame = pd.DataFrame(rows)
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def contents(corpus: Corpus) -> dict[str, Any]:
    return {
        name: (d.texts, d.labels.tolist(), d.ids.tolist()) for name, d in corpus.splits.items()
    } | {"classes": corpus.classes}


SUFFIXES = [".csv", ".tsv", ".jsonl", ".parquet"]


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_every_kind_of_single_file_gives_the_same_corpus(suffix: str, tmp_path: Path) -> None:
    reference = load_corpus(write(ROWS, tmp_path / "rows.csv"))
    other = load_corpus(write(ROWS, tmp_path / f"rows{suffix}"))
    assert contents(other) == contents(reference)
    assert other.fingerprint == reference.fingerprint
    assert other.train.ids.min() >= 7


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_kind_of_folder_gives_the_same_corpus(suffix: str, tmp_path: Path) -> None:
    for name, rows in (("train", ROWS[:40]), ("dev", ROWS[40:50]), ("test", ROWS[50:])):
        write(rows, tmp_path / f"{name}{suffix}")
    corpus = load_corpus(tmp_path)
    assert corpus.train.texts == [row["text"] for row in ROWS[:40]]
    assert corpus.validation.labels.tolist() == [row["label"] for row in ROWS[40:50]]
    assert corpus.test.ids.tolist() == [row["id"] for row in ROWS[50:]]
    assert corpus.notes == ()


@pytest.mark.parametrize("kind", [float, bool, str])
def test_labels_of_any_type_are_the_same_in_every_kind_of_file(
    kind: Callable[[int], Any], tmp_path: Path
) -> None:
    rows = [{**row, "label": kind(row["label"] % 2)} for row in ROWS]
    corpora = [load_corpus(write(rows, tmp_path / f"rows{suffix}")) for suffix in SUFFIXES]
    assert len({corpus.fingerprint for corpus in corpora}) == 1
    assert corpora[0].classes == (["false", "true"] if kind is bool else ["0", "1"])


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_words_that_look_like_nothing_survive(suffix: str, tmp_path: Path) -> None:
    table = read_table(write(ROWS, tmp_path / f"rows{suffix}"))
    assert table["text"].tolist() == [row["text"] for row in ROWS]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_a_byte_order_mark_is_no_part_of_the_first_name(suffix: str, tmp_path: Path) -> None:
    path = write(ROWS, tmp_path / f"rows{suffix}")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_table(path).columns.tolist() == ["text", "label", "id"]


def test_windows_line_ends_and_blank_lines_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b'text,label\r\n"two\r\nlines",1\r\n\r\nb,0\r\n')
    assert read_table(path)["text"].tolist() == ["two\r\nlines", "b"]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"text": "a\\u2028b"}\r\n\n{"text": "c"}')
    assert read_table(path)["text"].tolist() == ["a\u2028b", "c"]


def test_upper_case_suffixes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "ROWS.CSV"
    path.write_text("text,label\na,0\n")
    assert len(read_table(path)) == 1


def test_of_two_columns_of_one_name_the_first_is_read_and_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("text,label,text\n" + "".join(f"good {n},{n % 2},x\n" for n in range(20)))
    with pytest.warns(VeraxWarning, match="two columns 'text': the first is read"):
        corpus = load_corpus(file)
    assert all(text.startswith("good") for text in corpus.documents("all").texts)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("rows.csv", b"", ("file.empty",)),
        ("rows.csv", b"\n\n", ("file.empty",)),
        ("rows.csv", b"text,label\n", ("file.empty",)),
        ("rows.jsonl", b"\n", ("file.empty",)),
        ("rows.csv", b"text,label\ncaf\xe9,1\n", ("file.wrong-encoding",)),
        ("rows.jsonl", b'{"text": "caf\xe9"}\n', ("file.wrong-encoding",)),
        ("rows.csv", "text,label\na,1\n".encode("utf-16"), ("file.wrong-encoding",)),
        ("rows.csv", b'text,label\n"open,1\n', ("file.malformed",)),
        ("rows.csv", b"text,label\na,1\nb,c,2\n", ("file.malformed", "3")),
        ("rows.csv", b"text,label\na, b,1\nc, d,2\n", ("file.malformed",)),
        ("rows.csv", b"text,label\na,1,\nb,2,\n", ("file.malformed",)),
        ("rows.jsonl", b'{"text": "a"}\n{"text": \n', ("file.malformed", "2")),
        ("rows.jsonl", b'{"text": "a"}\n["b"]\n', ("file.malformed", "2")),
        ("rows.jsonl", b'{"text": "a"}\n{"text": "\\ud83d!"}\n', ("text.invalid-unicode", "2")),
        ("rows.parquet", b"PAR1 not really", ("file.unreadable",)),
        ("rows.txt", b"text\n", ("file.unreadable",)),
    ],
)
def test_broken_files_are_refused_by_name(
    name: str, content: bytes, expected: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with raises(*expected) as error:
        read_table(path)
    assert str(path) in str(error.value)
    assert "C error" not in str(error.value)
    assert "\n" not in str(error.value)


def test_whole_characters_written_as_surrogate_pairs_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "\\ud83c\\udfac"}\n')
    assert read_table(path)["text"].tolist() == ["🎬"]


def test_missing_files_are_refused_with_what_is_expected(tmp_path: Path) -> None:
    with raises("file.missing"):
        read_table(tmp_path / "none.csv")


def test_a_folder_must_not_have_a_split_twice(tmp_path: Path) -> None:
    for name in ("train.csv", "dev.csv", "valid.csv"):
        write(ROWS, tmp_path / name)
    with raises("corpus.wrong-splits", "valid.csv", "dev.csv"):
        read_folder(tmp_path)


def test_a_folder_needs_a_train_file(tmp_path: Path) -> None:
    write(ROWS, tmp_path / "test.csv")
    assert not is_corpus_folder(tmp_path)
    with raises("corpus.wrong-splits"):
        read_folder(tmp_path)


@pytest.mark.parametrize("content", ["{", '{"a": 1}', "[1, 2]", "\ud800"])
def test_a_class_order_that_is_none_is_refused(content: str, tmp_path: Path) -> None:
    write(ROWS, tmp_path / "train.csv")
    (tmp_path / "classes.json").write_text(content, encoding="utf-8", errors="surrogatepass")
    with raises("file.malformed", "classes.json"):
        load_corpus(tmp_path)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_the_separator_is_told_by_the_header(separator: str, tmp_path: Path) -> None:
    reference = load_corpus(write(ROWS, tmp_path / "rows.csv"))
    pd.DataFrame(ROWS).to_csv(tmp_path / "other.csv", index=False, sep=separator)
    assert contents(load_corpus(tmp_path / "other.csv")) == contents(reference)


def test_separators_in_a_quoted_header_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text('text,"a;b;c;d"\nx,y\n')
    assert read_table(tmp_path / "rows.csv").columns.tolist() == ["text", "a;b;c;d"]


def test_a_tsv_file_is_split_at_tabs_however_many_commas_its_header_has(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("label\ttext, cleaned, lower\n1\tgood, nice; a | b\n0\tbad\n")
    assert read_table(path).to_dict("list") == {
        "label": ["1", "0"],
        "text, cleaned, lower": ["good, nice; a | b", "bad"],
    }
    path.write_text("label,text\n1,good\n")
    assert read_table(path).columns.tolist() == ["label,text"]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("rows.csv", "1,good film\n0,bad, long film\n", "file.no-header"),
        (
            "rows.csv",
            "good film, nice,1\nbad film, dull,0\nbad, long, film,0\n",
            "file.no-header",
        ),
        ("rows.tsv", "1\tgood film\n0\tbad\tlong film\n", "file.no-header"),
        ("rows.csv", "1,good film\n0,bad film\n", "corpus.missing-column"),
    ],
)
def test_a_file_without_a_header_is_reported_as_such(
    name: str, content: str, code: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    with raises(code):
        load_corpus(tmp_path / name)
    (tmp_path / "train.csv").write_text(content)
    with raises(code):
        load_corpus(tmp_path)


def test_a_header_with_other_names_of_columns_is_one_if_options_name_them(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("stars,body\n1,good, nice film\n")
    with raises("file.malformed"):
        load_corpus(tmp_path / "rows.csv", text_column="body", label_column="stars")


TEXTS = ["Good food, nice; staff", 'She said "no", twice', "", "two\nlines | more", "plain\ttext"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_header_without_separators_names_one_column(
    separator: str, suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"rows{suffix}"
    pd.DataFrame({"body": TEXTS}).to_csv(path, index=False, sep=separator)
    assert read_table(path).to_dict("list") == {"body": TEXTS}
    path.write_text("\n\nbody\nGood food, nice staff\n\nBad; a \x1f\n")
    assert read_table(path)["body"].tolist() == ["Good food, nice staff", "Bad; a \x1f"]
    between = "\t" if suffix == ".tsv" else ","
    path.write_text(f'\n"a\nb"{between}label\nx{between}y\n')  # more than one, after a blank line
    assert read_table(path).columns.tolist() == ["a\nb", "label"]


@pytest.mark.parametrize(("written", "read"), [("utf-8-sig", "utf-8"), ("utf-16", "utf-16")])
def test_a_byte_order_mark_is_no_part_of_the_header(
    written: str, read: str, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("text;label\nété;1\n", encoding=written)
    table = read_table(tmp_path / "rows.csv", read)
    assert table.to_dict("list") == {"text": ["été"], "label": ["1"]}


def test_an_encoding_can_be_named(tmp_path: Path) -> None:
    reference = load_corpus(
        write([{**r, "text": f"é {r['id']}"} for r in ROWS], tmp_path / "a.csv")
    )
    text = (tmp_path / "a.csv").read_text(encoding="utf-8")
    (tmp_path / "b.csv").write_text(text, encoding="latin-1")
    with raises("file.wrong-encoding", "--encoding"):
        load_corpus(tmp_path / "b.csv")
    corpus = load_corpus(tmp_path / "b.csv", encoding="latin-1")
    assert corpus.fingerprint == reference.fingerprint
    assert (corpus.config["encoding"], "encoding" in reference.config) == ("latin-1", False)
    with raises("option.unknown-value", "latin-11"):
        load_corpus(tmp_path / "b.csv", encoding="latin-11")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"text": ' + "[" * 100_000, ("file.malformed", "1")),
        (
            '{"text": "a", "label": ' + "9" * 4301 + "}",
            ("file.malformed", "1"),
        ),
        ('{"text": "\\ud800", "label": "a"}', ("text.invalid-unicode", "1")),
        ('{"text": "a", "label": "\\u0000"}', ("corpus.bad-value",)),
    ],
)
def test_jsonl_that_would_break_its_reader_is_refused_in_a_line(
    line: str, expected: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text(line + "\n", encoding="utf-8")
    with raises(*expected) as error:
        load_corpus(file)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("notes", [b"", b"{", b"[]", b'{"columns": 3}', b"[" * 5000, b"\xff"])
def test_parquet_with_notes_that_are_not_of_pandas_is_refused(notes: bytes, tmp_path: Path) -> None:
    file = tmp_path / "corpus.parquet"
    texts = pa.table({"text": [f"good {i}" for i in range(40)], "label": ["a", "b"] * 20})
    parquet.write_table(texts.replace_schema_metadata({b"pandas": notes}), file)
    with raises("file.*", file):
        load_corpus(file)


def test_ids_of_thousands_of_digits_are_row_numbers(tmp_path: Path) -> None:
    file = tmp_path / "corpus.csv"
    rows = "".join(f"{'9' * 4301},good {i},{i % 2}\n" for i in range(40))
    file.write_text(f"id,text,label\n{rows}")
    ids = [i for part in load_corpus(file).splits.values() for i in part.ids.tolist()]
    assert sorted(ids) == list(range(40))


def test_a_data_folder_that_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERAX_DATA", str(tmp_path))

    def refuse(folder: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with raises("file.unreadable"):
        known_corpora()
