"""`mimic_diabetes` and `mimic_anemia`: Jain & Wallace's clinical tasks, from your own MIMIC-III.

PhysioNet lends MIMIC-III to credentialed people only, so the tables are read from a folder of
yours: NOTEEVENTS and DIAGNOSES_ICD, .csv or .csv.gz, as PhysioNet gives them. The command writes
a corpus that `verax.load_corpus`, studies and papers read by its name:

    python -m research mimic mimic_anemia /path/to/mimic-iii --out $VERAX_DATA/mimic_anemia

The recipe is that of Jain & Wallace's released code, where it and their paper differ:

- a document is one admission: its discharge summaries, those marked as errors left out, reports
  before addenda, each by date and then by row, joined by a blank; admissions without a diagnosis
  are left out;
- diabetes is *yes* with the ICD-9 code 250.00, else *no*, other codes of diabetes included;
- anemia is *acute* (285.1, class 1) or *chronic* (285.2, class 0, though the paper's text has it
  the other way round); admissions with both are left out;
- splits of diabetes are lists of admissions, which also choose the admissions; those of anemia are
  drawn with fixed seeds.

`ids` are HADM_IDs.
"""

from __future__ import annotations

import argparse
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

import verax
from verax import VeraxError
from verax.corpora import Corpus

CLASSES = {"mimic_diabetes": ("no", "yes"), "mimic_anemia": ("chronic", "acute")}
_NOTES = ("HADM_ID", "CHARTDATE", "CATEGORY", "DESCRIPTION", "ISERROR", "TEXT")
_DIAGNOSES = ("SUBJECT_ID", "HADM_ID", "ICD9_CODE")
_LISTS = {
    "train": "train_50_hadm_ids.csv",
    "validation": "dev_50_hadm_ids.csv",
    "test": "test_50_hadm_ids.csv",
}
ROWS = 10_000  # notes held at once while NOTEEVENTS, 4 GB, goes by

_DE_IDENTIFIED = re.compile(r"\[\s*\*\s*\*.*?\*\s*\*\s*\]", re.DOTALL)
_REPEATED = re.compile(r"([^\w\s]|_)(?:\s*\1)+")
_NUMBER = re.compile(r"\b\w*\d\w*(?:[.,/:]\w*\d\w*)*")


def main(arguments: Sequence[str], program: str) -> int:
    """Write a corpus made of the tables of MIMIC-III."""
    parser = argparse.ArgumentParser(prog=program, description=str(__doc__).split("\n")[0])
    parser.add_argument("task", choices=CLASSES)
    parser.add_argument("tables", type=Path, help="folder of NOTEEVENTS and DIAGNOSES_ICD")
    parser.add_argument("--out", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--validation-fraction", type=float, metavar="X", help="[0.1]")
    parser.add_argument("--test-fraction", type=float, metavar="X", help="[0.1]")
    parser.add_argument("--seed", type=int, metavar="N", help="without lists [0]")
    args = parser.parse_args(arguments)
    given = {"validation": args.validation_fraction, "test": args.test_fraction, "seed": args.seed}
    given = {name: value for name, value in given.items() if value is not None}
    corpus = read_mimic(args.task, args.tables, **given)
    corpus.save(args.out)
    print(*corpus.notes, f"{corpus} is in {args.out}", sep="\n")
    return 0


def read_mimic(
    task: str,
    folder: Path,
    *,
    validation: float | None = None,
    test: float | None = None,
    seed: int | None = None,
) -> Corpus:
    """Return a task's corpus, with notes on everything that was left out.

    Args:
        task: `mimic_diabetes` or `mimic_anemia`.
        folder: holds NOTEEVENTS and DIAGNOSES_ICD, and for diabetes perhaps the lists of splits.
        validation: share of the patients, for diabetes without lists; 0.1 by default.
        test: the same.
        seed: seed of this draw; 0 by default.
    """
    paths = [_table(task, folder, table) for table in ("DIAGNOSES_ICD", "NOTEEVENTS")]
    lists = _lists(folder) if task == "mimic_diabetes" else None
    if (task == "mimic_anemia" or lists) and (validation, test, seed) != (None, None, None):
        raise VeraxError(
            f"corpus {task!r} has fixed splits: leave out the fractions and the seed",
            code="option.not-applicable",
        )
    notes: list[str] = []
    admissions = _labelled(task, paths[0], notes)
    if lists is not None:
        listed = np.concatenate(list(lists.values()))
        admissions = admissions[admissions.index.isin(listed)]
        if missing := len(listed) - len(admissions):
            notes.append(f"{missing:,} admissions of the lists have no diagnosis: left out")
    texts = _summaries(paths[1], admissions.index, notes)
    admissions = admissions.assign(text=pd.Series(texts, dtype=object)).dropna(subset="text")
    if admissions.empty:
        raise VeraxError(
            f"no discharge summary in {paths[1]} is of an admission that {task!r} asks for "
            f"({'; '.join(notes)}): expected NOTEEVENTS and DIAGNOSES_ICD of one MIMIC-III, whole",
            code="corpus.empty",
        )
    admissions = admissions.sort_values(["subject", "id"])
    if lists is not None:
        rows = {s: np.flatnonzero(admissions.index.isin(ids)) for s, ids in lists.items()}
    elif task == "mimic_anemia":
        rows = _drawn(admissions["label"].to_numpy() == "acute", notes)
    else:
        shares = [0.1 if share is None else share for share in (validation, test)]
        rows = _by_patient(admissions, shares, seed or 0, notes)
    table = admissions.reset_index()[["text", "label", "id"]]
    tables = {split: table.iloc[chosen].reset_index(drop=True) for split, chosen in rows.items()}
    order = {name: name for name in CLASSES[task]}
    corpus = verax.load_corpus(tables, labels=order)
    return replace(corpus, name=task, notes=(*notes, *corpus.notes))


def normalise(text: str) -> str:
    """A note as Jain & Wallace have it, up to tokenizing and case.

    What de-identification took out is one word, `deid` (theirs: <DE>); a sign repeated, blanks
    between or not, is one sign; a word with a digit, or several joined by . , / or :, is `qqq`.

    >>> normalise("BP 120/80 on [**2101-3-4**], K 3.5 .... Dr. [**Last Name (NI) 7**] x2 -- -")
    'BP qqq on deid , K qqq . Dr. deid qqq -'
    """
    text = _DE_IDENTIFIED.sub(" deid ", text)
    text = _REPEATED.sub(r"\1 ", text)
    return " ".join(_NUMBER.sub("qqq", text).split())


def _find(folder: Path, table: str) -> Path | None:
    """The file of a table, in any case, plain before zipped."""
    names = [f"{table}.csv".lower(), f"{table}.csv.gz".lower()]
    if not folder.is_dir():
        return None
    paths = [p for p in sorted(folder.iterdir()) if p.name.lower() in names and p.is_file()]
    return min(paths, key=lambda path: names.index(path.name.lower()), default=None)


def _table(task: str, folder: Path, table: str) -> Path:
    path = _find(folder, table)
    if path is None:
        raise VeraxError(
            f"corpus {task!r} needs your own copy of MIMIC-III, and {folder} holds no {table}.csv "
            f"or {table}.csv.gz: name the folder that has it",
            code="corpus.not-at-hand",
        )
    return path


def _lists(folder: Path) -> dict[str, NDArray[np.int64]] | None:
    """The admissions of each split, as Jain & Wallace's repository lists them, if present."""
    paths = {split: folder / name for split, name in _LISTS.items()}
    present = [path.name for path in paths.values() if path.is_file()]
    if not present:
        return None
    if absent := [path.name for path in paths.values() if not path.is_file()]:
        raise VeraxError(
            f"{folder} has {' and '.join(present)} but not {' and '.join(absent)}: "
            "give all three lists of admissions, or none",
            code="corpus.not-at-hand",
        )
    lists = {split: _ids(path) for split, path in paths.items()}
    every, counts = np.unique(np.concatenate(list(lists.values())), return_counts=True)
    if (counts > 1).any():
        raise VeraxError(
            f"the lists of admissions in {folder} name {every[counts > 1][0]} more than once: "
            "each belongs to one split",
            code="file.malformed",
        )
    return lists


def _ids(path: Path) -> NDArray[np.int64]:
    lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        if line.strip() and not re.fullmatch(r"\s*[0-9]{1,18}\s*", line):
            raise VeraxError(
                f"{path} line {number} is {line[:40]!r}: expected one admission's HADM_ID a line, "
                "and no header",
                code="file.malformed",
            )
    return np.array([int(line) for line in lines if line.strip()], dtype=np.int64)


def _labelled(task: str, path: Path, notes: list[str]) -> pd.DataFrame:
    """The admissions of a task: `subject` and `label`, indexed by HADM_ID."""
    table = pd.concat(list(_chunks(path, _DIAGNOSES)), ignore_index=True)
    codes = table["ICD9_CODE"].str.replace(".", "", regex=False).str.strip().str.upper()
    table = pd.DataFrame(
        {"id": _whole(table["HADM_ID"]), "subject": _whole(table["SUBJECT_ID"]), "code": codes}
    )
    known = table["id"].notna() & table["subject"].notna() & (table["code"] != "")
    if unknown := int((~known).sum()):
        notes.append(f"{unknown:,} diagnoses without a code or an admission left out")
    table = table[known].astype({"id": "int64", "subject": "int64"})
    admissions = table.groupby("id")[["subject"]].first()

    def having(prefix: str) -> NDArray[np.bool_]:
        return admissions.index.isin(table["id"][table["code"].str.startswith(prefix)])

    if task == "mimic_diabetes":
        return admissions.assign(label=np.where(having("25000"), "yes", "no"))
    acute, chronic = having("2851"), having("2852")
    if both := int((acute & chronic).sum()):
        notes.append(f"{both:,} admissions with both acute and chronic anemia left out")
    return admissions.assign(label=np.where(acute, "acute", "chronic"))[acute ^ chronic]


def _summaries(path: Path, wanted: pd.Index, notes: list[str]) -> dict[int, str]:
    """The normalised text of each wanted admission that has one."""
    parts_of: dict[int, list[tuple[bool, str, str]]] = {}
    read = summaries = errors = homeless = others = 0
    for chunk in _chunks(path, _NOTES):
        read += len(chunk)
        chunk = chunk[chunk["CATEGORY"].str.strip().str.lower() == "discharge summary"]
        summaries += len(chunk)
        wrong = ~chunk["ISERROR"].str.strip().isin(["", "0"])
        errors += int(wrong.sum())
        chunk = chunk[~wrong].assign(id=lambda t: _whole(t["HADM_ID"]))
        homeless += int(chunk["id"].isna().sum())
        chunk = chunk.dropna(subset="id")
        kept = chunk[chunk["id"].isin(wanted)]
        others += len(chunk) - len(kept)
        addendum = kept["DESCRIPTION"].str.strip().str.lower() == "addendum"
        rows = zip(kept["id"], addendum, kept["CHARTDATE"], kept["TEXT"], strict=True)
        for admission, late, date, text in rows:
            parts_of.setdefault(int(admission), []).append((bool(late), str(date), str(text)))
    with_summary, used = len(parts_of), sum(map(len, parts_of.values()))
    texts = {}
    while parts_of:  # popped, so that raw and normalised texts are not all held at once
        admission, parts = parts_of.popitem()
        parts.sort(key=lambda part: part[:2])  # stable: rows of one day stay in their order
        if text := normalise(" ".join(text for _, _, text in parts)):
            texts[admission] = text
    notes.append(f"{read:,} notes read, {summaries:,} of them discharge summaries")
    for count, what in (
        (errors, "summaries marked as errors"),
        (homeless, "summaries of no admission"),
        (others, "summaries of admissions outside the task"),
        (len(wanted) - with_summary, "admissions without a summary"),
        (with_summary - len(texts), "admissions with an empty summary"),
    ):
        if count:
            notes.append(f"{count:,} {what} left out")
    notes.append(f"{used:,} summaries and addenda joined into {len(texts):,} documents")
    return texts


def _drawn(positive: NDArray[np.bool_], notes: list[str]) -> dict[str, NDArray[np.int64]]:
    """Jain & Wallace's draw: 20% test, then 15% of the rest for validation, stratified.

    Drawn from class 0, then class 1, each in the order given (theirs: SUBJECT_ID, HADM_ID).
    """
    order = np.argsort(positive, kind="stable")
    positive = positive[order]
    rows = np.arange(len(positive))
    try:
        rest, test = train_test_split(rows, stratify=positive, test_size=0.2, random_state=12939)
        train, validation = train_test_split(
            rest, stratify=positive[rest], test_size=0.15, random_state=13448
        )
    except ValueError as error:
        raise VeraxError(
            f"too few documents to draw splits from ({int(positive.sum()):,} acute, "
            f"{int((~positive).sum()):,} chronic): expected the whole of MIMIC-III",
            code="corpus.too-small",
        ) from error
    notes.append("splits drawn by admission with Jain & Wallace's seeds: a patient may be in two")
    drawn = {"train": train, "validation": validation, "test": test}
    return {split: np.sort(order[places]) for split, places in drawn.items()}


def _by_patient(
    admissions: pd.DataFrame, shares: Sequence[float], seed: int, notes: list[str]
) -> dict[str, NDArray[np.int64]]:
    """A draw that never parts a patient, stratified by whether any of their admissions is *yes*."""
    if min(shares) <= 0 or sum(shares) >= 1:
        raise VeraxError(
            f"validation {shares[0]} and test {shares[1]}: expected shares above 0 that leave "
            "patients to train on",
            code="option.conflict",
        )
    ever = (admissions["label"] == "yes").groupby(admissions["subject"]).any()
    try:
        rest, test = train_test_split(
            ever.index, stratify=ever, test_size=shares[1], random_state=seed
        )
        train, validation = train_test_split(
            rest,
            stratify=ever[rest],
            test_size=shares[0] / (1 - shares[1]),
            random_state=seed,
        )
    except ValueError as error:
        raise VeraxError(
            f"too few patients to draw splits from ({len(ever):,}): expected the whole of "
            "MIMIC-III",
            code="corpus.too-small",
        ) from error
    notes.append(
        f"no {_LISTS['train']} and its like here: all admissions taken, validation and test drawn "
        "by patient; not the documents or splits of Jain & Wallace"
    )
    drawn = zip(_LISTS, (train, validation, test), strict=True)
    return {s: np.flatnonzero(admissions["subject"].isin(patients)) for s, patients in drawn}


def _whole(column: pd.Series) -> pd.Series:
    """Whole numbers written as text, with NaN for what is none."""
    numbers = pd.to_numeric(column.str.strip(), errors="coerce").astype("float64")
    return numbers.where(numbers % 1 == 0)


def _chunks(path: Path, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """The table's rows a chunk at a time, the columns in use only, as text, named in capitals."""
    try:
        header = pd.read_csv(path, nrows=0, encoding="utf-8-sig").columns
        names = {str(c): str(c).strip().upper() for c in header}
        if absent := [c for c in columns if c not in names.values()]:
            raise VeraxError(
                f"{path} has no column {' or '.join(absent)} (found: {', '.join(names)}): "
                "expected the table of MIMIC-III as PhysioNet gives it",
                code="corpus.missing-column",
            )
        # all columns are parsed: with `usecols`, pandas lets rows with cells too many pass
        with pd.read_csv(
            path, dtype=str, na_filter=False, chunksize=ROWS, encoding="utf-8-sig"
        ) as chunks:
            for chunk in chunks:
                if not isinstance(chunk.index, pd.RangeIndex):
                    raise VeraxError(
                        f"{path} has more cells in a row than its header names: expected the table "
                        "of MIMIC-III as PhysioNet gives it, text in quotes",
                        code="file.malformed",
                    )
                yield chunk.rename(columns=names)[list(columns)]
    except UnicodeDecodeError as error:
        raise VeraxError(
            f"{path} is not UTF-8: get the file from PhysioNet again", code="file.wrong-encoding"
        ) from error
    except pd.errors.EmptyDataError as error:
        raise VeraxError(
            f"{path} is empty: expected a header and rows", code="file.empty"
        ) from error
    except (pd.errors.ParserError, gzip.BadGzipFile, EOFError, zlib.error, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise VeraxError(
            f"cannot read {path}: {reason}; expected PhysioNet's file, whole: compare its checksum",
            code="file.unreadable",
        ) from error
