"""The MIMIC-III tasks, on made-up tables in MIMIC-III's public schema: no word is a patient's."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from in_process import run_here
from sklearn.model_selection import train_test_split

from research.__main__ import main
from research.papers import Paper, check_paper, mimic, paper, papers
from research.papers.mimic import normalise, read_mimic
from research.papers.paper import OWN_DATA, laid
from research.papers.run import chosen_parts
from support.documents import tokens_of
from support.errors import raises
from verax.corpora import Corpus, Tokenizer, load_corpus
from verax.studies import read_study

DIAGNOSES = ["ROW_ID", "SUBJECT_ID", "HADM_ID", "SEQ_NUM", "ICD9_CODE"]
NOTES = [
    *("ROW_ID", "SUBJECT_ID", "HADM_ID", "CHARTDATE", "CHARTTIME", "STORETIME"),
    *("CATEGORY", "DESCRIPTION", "CGID", "ISERROR", "TEXT"),
]
HEAD = ",".join(NOTES) + "\n"
CODES = {"no": ["4019", "25002"], "yes": ["25000"], "acute": ["2851"], "chronic": ["28521"]}


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """As PhysioNet writes it: text in quotes, numbers bare."""
    path.parent.mkdir(parents=True, exist_ok=True)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(header)
        writer.writerows(rows)


def note(admission: Any, text: str, **other: Any) -> list[Any]:
    row = {
        "ROW_ID": 1,
        "SUBJECT_ID": 7,
        "HADM_ID": admission,
        "CHARTDATE": "2150-01-02",
        "CHARTTIME": "",
        "STORETIME": "",
        "CATEGORY": "Discharge summary",
        "DESCRIPTION": "Report",
        "CGID": "",
        "ISERROR": "",
        "TEXT": text,
        **other,
    }
    return [row[name] for name in NOTES]


def diagnoses(labels: Sequence[str], each: int = 1) -> list[list[Any]]:
    """Admissions 100, 101, …, `each` of them a patient, with the codes of their labels."""
    return [
        [0, 10 + i // each, 100 + i, number, code]
        for i, label in enumerate(labels)
        for number, code in enumerate(CODES[label], start=1)
    ]


def tables(
    folder: Path,
    codes: Sequence[Sequence[Any]],
    notes: Sequence[Sequence[Any]] | None = None,
    suffix: str = ".csv",
) -> Path:
    ids = list(dict.fromkeys(row[2] for row in codes))
    notes = notes or [note(i, f'Summary of {chr(97 + i % 26)}.\nSecond line, "so".') for i in ids]
    write(folder / f"DIAGNOSES_ICD{suffix}", DIAGNOSES, codes)
    write(folder / f"NOTEEVENTS{suffix}", NOTES, notes)
    return folder


def lists(folder: Path, train: Iterable[int], dev: Iterable[int], test: Iterable[int]) -> None:
    for name, ids in (("train", train), ("dev", dev), ("test", test)):
        text = "".join(f"{i}\n" for i in ids)
        (folder / f"{name}_50_hadm_ids.csv").write_text(text)


def everything(corpus: Corpus) -> dict[int, tuple[str, str]]:
    """Text and label by admission."""
    return {
        int(i): (text, corpus.classes[label])
        for d in corpus.splits.values()
        for i, text, label in zip(d.ids, d.texts, d.labels, strict=True)
    }


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Thirty admissions of diabetes, with lists: 100 to 119, 120 to 124, 125 to 129."""
    folder = tables(tmp_path / "mimic3", diagnoses(["no", "yes"] * 15))
    lists(folder, range(100, 120), range(120, 125), range(125, 130))
    return folder


def test_diabetes_is_the_code_250_00_and_the_lists_are_its_splits(small: Path) -> None:
    corpus = read_mimic("mimic_diabetes", small)
    assert corpus.classes == ["no", "yes"]
    assert [len(d) for d in corpus.splits.values()] == [20, 5, 5]
    assert corpus.validation.ids.tolist() == list(range(120, 125))
    labels = {i: label for i, (_, label) in everything(corpus).items()}
    assert labels == {i: ("no", "yes")[i % 2] for i in range(100, 130)}  # 250.02 is no


def test_the_lists_choose_the_admissions(small: Path) -> None:
    lists(small, range(100, 110), range(110, 114), [114, 115, 999])
    corpus = read_mimic("mimic_diabetes", small)
    assert sorted(everything(corpus)) == list(range(100, 116))
    assert "1 admissions of the lists have no diagnosis: left out" in corpus.notes
    assert "14 summaries of admissions outside the task left out" in corpus.notes


@pytest.mark.parametrize("code", ["2851", "285.1", " 2851 ", "28510"])
def test_codes_are_read_with_and_without_their_point(tmp_path: Path, code: str) -> None:
    rows = diagnoses(["chronic"] * 20 + ["acute"] * 20)
    rows += [[0, 5, 500, 1, "V2851"], [0, 5, 501, 1, "E2851"], [0, 5, 502, 1, "4019"]]
    rows = [[*row[:4], code if row[4] == "2851" else row[4]] for row in rows]
    corpus = read_mimic("mimic_anemia", tables(tmp_path, rows))
    labels = [label for _, label in everything(corpus).values()]
    assert (labels.count("acute"), labels.count("chronic")) == (20, 20)


def test_anemia_is_chronic_or_acute_and_never_both(tmp_path: Path) -> None:
    rows = diagnoses(["acute", "chronic"] * 20)
    rows += [[0, 5, 500, 1, "2851"], [0, 5, 500, 2, "28529"], [0, 6, 501, 1, ""]]
    corpus = read_mimic("mimic_anemia", tables(tmp_path, rows))
    assert corpus.classes == ["chronic", "acute"]
    assert sorted(everything(corpus)) == list(range(100, 140))
    assert "1 admissions with both acute and chronic anemia left out" in corpus.notes
    assert "1 diagnoses without a code or an admission left out" in corpus.notes


def test_anemia_is_drawn_as_jain_and_wallace_draw_it(tmp_path: Path) -> None:
    """Their frame: chronic, then acute, each by patient and admission; two stratified draws."""
    random = np.random.default_rng(3)
    patients, admissions = random.permutation(90), 100 + random.permutation(90)
    label = np.where(random.random(90) < 0.6, "acute", "chronic")
    rows = [[0, p, a, 1, CODES[c][0]] for p, a, c in zip(patients, admissions, label, strict=True)]
    corpus = read_mimic("mimic_anemia", tables(tmp_path, [[*map(_plain, r)] for r in rows]))

    frame = pd.DataFrame({"p": patients, "a": admissions, "t": label == "acute"})
    data = frame.sort_values(["t", "p", "a"]).reset_index(drop=True)
    rest, test = train_test_split(data.index, stratify=data["t"], test_size=0.2, random_state=12939)
    train, dev = train_test_split(
        rest, stratify=data["t"][rest], test_size=0.15, random_state=13448
    )
    for split, rows_of in (("train", train), ("validation", dev), ("test", test)):
        assert set(corpus.splits[split].ids) == set(data["a"][rows_of])
    assert [len(d) for d in corpus.splits.values()] == [61, 11, 18]
    assert any("Jain & Wallace's seeds" in n for n in corpus.notes)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def test_a_document_is_reports_then_addenda_by_date(small: Path) -> None:
    later = {"DESCRIPTION": "Addendum"}
    notes = [
        note(100, "Late addendum.", CHARTDATE="2150-01-09", **later),
        note(100, "Early addendum.", CHARTDATE="2150-01-01", **later),
        note(100, 'Second report,\n\n  of "two"', CHARTDATE="2150-01-05"),
        note(100, "first report;", CHARTDATE="2150-01-04"),
        note(100, "Same day.", CHARTDATE="2150-01-05"),
        note(100, "An error.", ISERROR="1"),
        note(100, "A nurse's note.", CATEGORY="Nursing/other"),
        note("", "Of nobody."),
        note(999, "Of somebody else."),
        note(102, " \n "),
        *(note(i, f"plain text {chr(97 + i - 103)}") for i in range(103, 130)),
    ]
    tables(small, diagnoses(["no", "yes"] * 15), notes)
    corpus = read_mimic("mimic_diabetes", small)
    text, _ = everything(corpus)[100]
    assert text == (
        'first report; Second report, of "two" Same day. Early addendum. Late addendum.'
    )
    assert corpus.notes == (
        "37 notes read, 36 of them discharge summaries",
        "1 summaries marked as errors left out",
        "1 summaries of no admission left out",
        "1 summaries of admissions outside the task left out",
        "1 admissions without a summary left out",
        "1 admissions with an empty summary left out",
        "33 summaries and addenda joined into 28 documents",
    )


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("seen by [**First Name8 (NamePattern2) 12**][**Last Name\n(STitle) **]", "deid deid"),
        ("on [ ** 2150-3-4 ** ] at", "on deid at"),
        ("[**2150**]'s", "deid 's"),
        ("====\nPLAN:\n=====  ----- - -", "= PLAN: = -"),
        ("____ left blank ____", "_ left blank _"),
        ("BP 120/80, 3.5mg at 10:30 x2; 1,000", "BP qqq, qqq at qqq qqq; qqq"),
        ("2-3 days, q6h. Then 5.", "qqq-qqq days, qqq. Then qqq."),
        ("and/or a.m. * no digit *", "and/or a.m. * no digit *"),
    ],
)
def test_notes_are_normalised(raw: str, normal: str) -> None:
    found = normalise(raw)
    assert found.removeprefix("seen by ") == normal
    assert normalise(found) == found


def test_each_mark_is_one_token_whatever_the_tokenizer(small: Path, tmp_path: Path) -> None:
    text = "Dr. [**Last Name (NI) 3**] gave 5mg"
    tables(small, diagnoses(["no", "yes"] * 15), [note(i, text) for i in range(100, 130)])
    read_mimic("mimic_diabetes", small).save(saved := tmp_path / "saved")
    for tokenizer, tokens in (
        ("words", ["dr", ".", "deid", "gave", "qqq"]),
        ("whitespace", ["dr.", "deid", "gave", "qqq"]),
    ):
        assert tokens_of(load_corpus(saved).test, Tokenizer(tokenizer))[0] == tokens
    assert load_corpus(saved).test.texts[0].startswith("Dr")


def test_zipped_files_and_lower_case_names_read_alike(small: Path, tmp_path: Path) -> None:
    plain = read_mimic("mimic_diabetes", small)
    other = tables(tmp_path / "other", diagnoses(["no", "yes"] * 15), suffix=".csv.gz")
    lists(other, range(100, 120), range(120, 125), range(125, 130))
    zipped = read_mimic("mimic_diabetes", other)
    for path in list(other.iterdir()):
        if path.suffix == ".gz":
            content = gzip.decompress(path.read_bytes()).decode()
            header, _, rest = content.partition("\n")
            path.with_name(path.name.lower()).write_bytes(
                gzip.compress((header.lower() + "\n" + rest).encode())
            )
            path.unlink()
    lower = read_mimic("mimic_diabetes", other)
    assert plain.fingerprint == zipped.fingerprint == lower.fingerprint
    assert plain.notes == zipped.notes == lower.notes


def test_notes_of_one_admission_may_stand_in_different_chunks(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = [note(i, f"part {part},\n of {i}") for part in "ab" for i in range(100, 130)]
    tables(small, diagnoses(["no", "yes"] * 15), notes)
    whole = read_mimic("mimic_diabetes", small)
    monkeypatch.setattr(mimic, "ROWS", 7)
    assert read_mimic("mimic_diabetes", small).fingerprint == whole.fingerprint
    assert whole.train.texts[0] == "part a, of qqq part b, of qqq"


def test_admissions_written_as_decimals_are_the_same(small: Path) -> None:
    whole = read_mimic("mimic_diabetes", small)
    path = small / "NOTEEVENTS.csv"
    table = pd.read_csv(path, dtype=str, na_filter=False)
    table["HADM_ID"] = table["HADM_ID"] + ".0"
    table.to_csv(path, index=False)
    assert read_mimic("mimic_diabetes", small).fingerprint == whole.fingerprint


def test_without_lists_patients_are_never_parted(tmp_path: Path) -> None:
    folder = tables(tmp_path, diagnoses(["no", "yes", "no", "no"] * 60, each=3))
    corpus = read_mimic("mimic_diabetes", folder, test=0.25)
    assert sorted(everything(corpus)) == list(range(100, 340))
    assert [len(d) for d in corpus.splits.values()] == [156, 24, 60]
    patients = [set((d.ids - 100) // 3) for d in corpus.splits.values()]
    assert not patients[0] & patients[1] | patients[0] & patients[2] | patients[1] & patients[2]
    assert any("not the documents or splits of Jain & Wallace" in n for n in corpus.notes)
    again = read_mimic("mimic_diabetes", folder, test=0.25)
    assert again.fingerprint == corpus.fingerprint
    other = read_mimic("mimic_diabetes", folder, test=0.25, seed=1)
    assert set(other.test.ids) != set(corpus.test.ids)
    with raises("option.conflict"):
        read_mimic("mimic_diabetes", folder, test=0.5, validation=0.5)


def test_fixed_splits_cannot_be_changed(small: Path) -> None:
    for task in ("mimic_diabetes", "mimic_anemia"):
        with raises("option.not-applicable", task):
            read_mimic(task, small, seed=1)
        with raises("option.not-applicable", task):
            read_mimic(task, small, test=0.2)


def test_the_command_writes_a_corpus_that_is_read_by_its_name(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = read_mimic("mimic_diabetes", small)
    out = str(tmp_path / "mimic_diabetes")
    assert main(["mimic", "mimic_diabetes", str(small), "--out", out]) == 0
    assert made.notes[0] in capsys.readouterr().out
    monkeypatch.setenv("VERAX_DATA", str(tmp_path))
    corpus = load_corpus("mimic_diabetes")
    assert corpus.fingerprint == made.fingerprint
    assert corpus.classes == ["no", "yes"]


def test_a_missing_table_is_one_line(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with raises("corpus.not-at-hand", "DIAGNOSES_ICD.csv"):
        read_mimic("mimic_anemia", Path("/no/such"))
    (small / "NOTEEVENTS.csv").unlink()
    with raises("corpus.not-at-hand", "NOTEEVENTS.csv"):
        read_mimic("mimic_diabetes", small)
    assert main(["mimic", "mimic_diabetes", str(small), "--out", str(small / "out")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", ("file.empty",)),
        (b"HADM_ID,TEXT\n1,a\n", ("corpus.missing-column",)),
        (b"\xff\xfe\xfa", ("file.wrong-encoding",)),
        ((HEAD + '1,2,3,4,5,6,7,8,9,10,"open').encode(), ("file.unreadable",)),
        ((HEAD + "a,b,c,d,e,f,g,h,i,j,k,l\n" * 2).encode(), ("file.malformed",)),
        (
            (HEAD + ",".join("abcdefghijk") + "\n" + ",".join("abcdefghijkl")).encode(),
            ("file.unreadable", "11"),
        ),
        (HEAD.encode(), ("corpus.empty",)),
    ],
)
def test_a_broken_table_is_one_line(small: Path, content: bytes, expected: tuple[str, ...]) -> None:
    (small / "NOTEEVENTS.csv").write_bytes(content)
    with raises(*expected) as error:
        read_mimic("mimic_diabetes", small)
    assert "\n" not in str(error.value)


def test_a_zip_cut_short_is_one_line(small: Path) -> None:
    whole = gzip.compress((small / "NOTEEVENTS.csv").read_bytes())
    (small / "NOTEEVENTS.csv").unlink()
    for content in (whole[: len(whole) // 2], b"no zip at all"):
        (small / "NOTEEVENTS.csv.gz").write_bytes(content)
        with raises("file.unreadable") as error:
            read_mimic("mimic_diabetes", small)
        assert "\n" not in str(error.value)


def test_lists_are_checked(small: Path) -> None:
    (small / "dev_50_hadm_ids.csv").write_text("hadm_id\n120\n")
    with raises("file.malformed", "dev_50_hadm_ids.csv", "1"):
        read_mimic("mimic_diabetes", small)
    (small / "dev_50_hadm_ids.csv").write_text("100\n120\n")
    with raises("file.malformed", "100"):
        read_mimic("mimic_diabetes", small)
    (small / "dev_50_hadm_ids.csv").unlink()
    with raises("corpus.not-at-hand", "dev_50_hadm_ids.csv"):
        read_mimic("mimic_diabetes", small)


def test_too_few_to_draw_from_is_told(tmp_path: Path) -> None:
    folder = tables(tmp_path, diagnoses(["acute", "acute", "acute", "chronic"]))
    with raises("corpus.too-small"):
        read_mimic("mimic_anemia", folder)


# the parts of papers that read these corpora


@pytest.fixture
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with both corpora, of notes of 8 to 27 words."""
    data = tmp_path / "data"
    for task, classes in mimic.CLASSES.items():
        codes = diagnoses([classes[i % 3 == 0] for i in range(90)])
        notes = [note(row[2], "so it is said " * (2 + row[2] % 5) + "now.") for row in codes]
        folder = tables(tmp_path / f"tables-{task}", codes, notes)
        assert main(["mimic", task, str(folder), "--out", str(data / task)]) == 0
    monkeypatch.setenv("VERAX_DATA", str(data))
    return data


OWN_PARTS = [(one, part) for one in papers() for part in one.own_data]


@pytest.mark.usefixtures("own_data")
@pytest.mark.parametrize(("one", "part"), OWN_PARTS, ids=str)
def test_parts_on_own_data_are_run_where_the_data_are(
    one: Paper, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = chosen_parts([one], "full")[one][part]
    for corpus in read_study(study).corpora.values():
        assert set(corpus.classes) in [set(classes) for classes in mimic.CLASSES.values()]
    monkeypatch.delenv("VERAX_DATA")
    assert part not in chosen_parts([one], "full")[one]
    assert part not in one.studies("full")
    assert list(chosen_parts([one], "full", [part])[one]) == [part]  # by its name, then an error


@pytest.mark.slow
@pytest.mark.usefixtures("own_data")
def test_a_claim_about_own_data_is_judged(tmp_path: Path) -> None:
    """Claim 13 of Tutek & Šnajder is on diabetes alone."""
    tutek = paper("tutek-snajder-2020")
    study = laid(
        tutek.studies(OWN_DATA)["mimic_diabetes"],
        {
            "models": {"hidden_size": 4, "embedding_size": 4, "attention": "additive"},
            "training": {"epochs": 1},
            "seeds": [1],
        },
    )
    study["models"] = study["models"][:1]
    run_here(study, tmp_path / "ran" / "mimic_diabetes")
    checked = check_paper(tutek, tmp_path / "ran")
    (one,) = (one for one in checked.judged if one.claim.id == 13)
    assert checked.own_corpora == ["mimic_diabetes"]
    assert sum(part.of for part in one.finding.parts) == 10
