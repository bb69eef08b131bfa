"""How verdicts change under other limits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from verax.errors import VeraxError
from verax.exams.judgement.judgement import judge, limits_for
from verax.exams.judgement.limits import BY_HAND, LimitSet
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.row import ATTENTION, WITHHELD, Judged
from verax.studies.store import open_study
from verax.studies.summaries import model_summaries

MANIFEST, SUMMARY, AUDIT = "manifest.json", "summary.parquet", "models.json"
"""Files of saved results: of a verdict, and what an audit packs in place of the first."""


def changed_verdicts(results: Sequence[str | Path], limits: LimitSet) -> pd.DataFrame:
    """What exams say of saved results under limits set by hand, and under these.

    Args:
        results: folders of verdicts, of several verdicts, of studies or of audits.
        limits: measured ones.

    Returns:
        A row per model, or per seeds of one that change alike: results, model, by_hand and measured
        (how many exams are for the attention, against it and open), changed (exams whose verdict
        differs, with both), and why no measured limit applies, where none does.
    """
    rows = []
    for folder in results:
        for model in _models(Path(folder)):
            rows.append({"results": Path(folder).name, **_change(model, limits)})
    frame = pd.DataFrame(rows)
    names = [name for name in frame.columns if name != "model"]
    frame["entry"] = frame["model"].str.replace(r"-\d+$", "", regex=True)
    alike = frame.groupby([*names, "entry"], sort=False, dropna=False)["model"].agg(list)
    table = alike.reset_index()
    pairs = zip(table["entry"], table["model"], strict=True)
    table["model"] = [m[0] if len(m) == 1 else f"{entry}, {len(m)} seeds" for entry, m in pairs]
    return table[["results", "model", *names[1:]]]


def _change(model: ModelSummary, limits: LimitSet) -> dict[str, str]:
    before, after = judge(model, BY_HAND), judge(model, limits)
    verdicts = {row.exam: row.verdict for row in _of_attention(before.rows)}
    changed = [
        f"{row.exam}: {verdicts[row.exam]} → {row.verdict}"
        for row in _of_attention(after.rows)
        if row.exam in verdicts and verdicts[row.exam] != row.verdict
    ]
    _, why = limits_for(model, limits)
    return {
        "model": model.name,
        "by_hand": _counts(before.rows),
        "measured": _counts(after.rows),
        "changed": "; ".join(changed) or "none",
        "not measured": "; ".join(why),
    }


def _of_attention(rows: Sequence[Judged]) -> list[Judged]:
    return [row for row in rows if row.counts and row.subject == ATTENTION]


def _counts(rows: Sequence[Judged]) -> str:
    votes = [row.verdict for row in _of_attention(rows)]
    if WITHHELD in votes:
        return "no verdict"
    return ", ".join(f"{votes.count(v)} {v}" for v in ("for", "against", "open") if v in votes)


def _models(folder: Path) -> Iterator[ModelSummary]:
    if not folder.is_dir():
        raise VeraxError(
            f"no folder {folder}: give a saved verdict, a study or an audit", code="file.missing"
        )
    if (folder / AUDIT).is_file() and (folder / SUMMARY).is_file():
        yield from _audited(folder)
        return
    places = [folder, *sorted(folder.glob("*/"))]
    verdicts = [p for p in places if (p / MANIFEST).is_file() and (p / SUMMARY).is_file()]
    for path in verdicts:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        yield ModelSummary(path.name, pd.read_parquet(path / SUMMARY), manifest)
    if not verdicts:
        yield from model_summaries(open_study(folder))


def _audited(folder: Path) -> Iterator[ModelSummary]:
    facts = json.loads((folder / AUDIT).read_text(encoding="utf-8"))
    summary, documents = (pd.read_parquet(folder / n) for n in (SUMMARY, "documents.parquet"))
    yield from audited_models(facts, summary, documents)


def audited_models(
    facts: Mapping[str, Mapping[str, Any]], summary: pd.DataFrame, documents: pd.DataFrame
) -> Iterator[ModelSummary]:
    """Yield the models of an audit, as a judgement reads them.

    Args:
        facts: model → what was examined.
        summary: every number, with a column `model`.
        documents: the class and length of every document, with a column `model`.
    """
    for name, one in facts.items():
        rows = summary[summary["model"] == name].drop(columns="model").reset_index(drop=True)
        read = documents[documents["model"] == name]
        options = one["description"]
        manifest = {
            "classes": one["classes"],
            "labels": read["label"].astype(str).value_counts().to_dict(),
            "words": float(read["words"].mean()),
            "documents": one["documents"],
            "model": {"options": options},
        }
        if "kind" in options:
            manifest["kind"] = options["kind"]
        yield ModelSummary(str(name), rows, manifest)
