"""How verdicts change under other limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from verax.errors import VeraxError
from verax.exams.judgement.judgement import judge
from verax.exams.judgement.limits import BY_HAND, LimitSet
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.verdict import load_verdict
from verax.studies.store import open_study
from verax.studies.summaries import model_summaries


def changed_verdicts(results: Sequence[str | Path], limits: LimitSet) -> pd.DataFrame:
    """What exams say of saved results under limits set by hand, and under these.

    Args:
        results: folders of verdicts, or of studies.
        limits: measured ones.

    Returns:
        A row per model: results, model, by_hand and measured (how many exams are for it, against it
        and open), changed (exams whose verdict differs, with both), reading.
    """
    rows = []
    for folder in results:
        for model in _models(Path(folder)):
            before, after = judge(model, BY_HAND), judge(model, limits)
            verdicts = {row.exam: row.verdict for row in before.rows if row.counts}
            changed = [
                f"{row.exam}: {verdicts[row.exam]} → {row.verdict}"
                for row in after.rows
                if row.exam in verdicts and verdicts[row.exam] != row.verdict
            ]
            read = after.calibrated
            rows.append(
                {
                    "results": Path(folder).name,
                    "model": model.name,
                    "by_hand": before.short,
                    "measured": after.short,
                    "changed": "; ".join(changed) or "none",
                    "reading": "" if read is None else read.verdict,
                }
            )
    return pd.DataFrame(rows)


def _models(folder: Path) -> Iterator[ModelSummary]:
    if not folder.is_dir():
        raise VeraxError(f"no folder {folder}: give a saved verdict or a study")
    if (folder / "manifest.json").is_file() and (folder / "summary.parquet").is_file():
        yield load_verdict(folder).model_summary(folder.name)
        return
    verdicts = sorted(path.parent for path in folder.glob("*/summary.parquet"))
    if verdicts and all((path / "manifest.json").is_file() for path in verdicts):
        for path in verdicts:
            yield load_verdict(path).model_summary(path.name)
        return
    yield from model_summaries(open_study(folder))
