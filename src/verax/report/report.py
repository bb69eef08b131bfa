"""`report`: results as one page a person can look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from verax.drawing.chart import Chart, drawable
from verax.drawing.names import MOST_CHARTED
from verax.errors import VeraxError
from verax.exams.judgement.model_summary import SEEDS, ModelSummary
from verax.exams.registry import EXAMS
from verax.exams.verdict import Verdict
from verax.opening import Opened, open_shown
from verax.report.adversary_parts import adversary_parts
from verax.report.class_scores import class_part
from verax.report.comparison_parts import comparison_parts
from verax.report.explanation_page import explanation_page
from verax.report.page import Part, page, write
from verax.report.scored_texts import scored_part
from verax.report.sections import about_part, exam_part, explorer_part, first_screen, plan_part
from verax.report.study_about import study_about
from verax.report.sweep_parts import sweep_parts
from verax.report.templating import fill
from verax.studies import Adversaries, Comparison, StudyResults, Sweep
from verax.studies.summaries import LABEL, labelled, model_summaries

Other = Sweep | Adversaries | Comparison
GALLERY = "gallery_documents"
NO_CHARTS = "Charts need altair and vl-convert-python: pip install 'verax[report]'."
_DRAWING = ("altair", "vl_convert")
_NO_DOCUMENTS = (
    "The study was packed without its tables by document: charts that show single documents are "
    "not drawn."
)
_OVER_SEEDS = "Each number is the mean over seeds; an interval is Student's, over these."
_ONE_SEED = "Documents of the first seed of each configuration."
_CORPORA = 3
"""Corpora, or numbers of documents, that a line names."""


def report(result: Opened | pd.DataFrame, path: str | Path, title: str | None = None) -> None:
    """Write results as one HTML file, which needs no other and no network.

    Without altair and vl-convert-python (the extra `report`) the page has its tables and words, and
    says what to install for the charts.

    Args:
        result: a verdict; several by the models' names, shown side by side; a study's results; a
            sweep, trained adversaries, or a comparison; or the table that `model.explain(texts)`
            returns, whose words are shown in colour.
        path: of the file.
        title: of the page; made of the result, unless given.
    """
    write(path, report_page(result, title))


def report_page(result: Opened | pd.DataFrame, title: str | None = None) -> str:
    """The HTML of the page that `report` writes."""
    if isinstance(result, pd.DataFrame):
        return explanation_page(result, title)
    if isinstance(result, Other):
        return page(title or _title(result), _about_other(result), _other_parts(result))
    if isinstance(result, StudyResults):
        return _study_page(result, title)
    verdicts = {_name(result): result} if isinstance(result, Verdict) else dict(result)
    if not verdicts:
        raise VeraxError("nothing to report: give at least one verdict", code="option.missing")
    return _verdicts_page(verdicts, title)


def open_reported(paths: Sequence[str | Path]) -> tuple[Opened, str]:
    """The results in folders, and a title: one of any kind, or several verdicts.

    Args:
        paths: folders; `name=folder` names a verdict.
    """
    if not paths:
        raise VeraxError(
            "nothing to report: give the folder of a verdict or a study",
            code="option.missing",
        )
    if len(paths) == 1:
        result = open_shown(paths[0])
        return result, _title(result)
    verdicts: dict[str, Verdict] = {}
    for path in paths:
        name, _, folder = str(path).partition("=")
        if not folder or Path(path).exists():
            name, folder = Path(path).name, str(path)
        opened = open_shown(folder)
        several = {name: opened} if isinstance(opened, Verdict) else opened
        if not isinstance(several, Mapping):
            raise VeraxError(
                f"{folder} is no verdict: several can be shown only if all are",
                code="result.wrong-kind",
            )
        for model, verdict in several.items():
            if model in verdicts:
                raise VeraxError(
                    f"two verdicts are called {model!r}: name them, as in one={folder}",
                    code="option.duplicate",
                )
            verdicts[model] = verdict
    return verdicts, _title(verdicts)


def draw_other(result: Other) -> tuple[list[Chart], str]:
    """The charts of a result that is no verdict, and a note where they cannot be drawn here."""
    if not _can_draw():
        return [], NO_CHARTS
    from verax.report.charts import charts_of_other

    return drawable(charts_of_other(result))


def draw(verdicts: Mapping[str, Verdict]) -> tuple[list[Chart], str]:
    """The charts of some verdicts, and a note where they cannot be drawn here."""
    if not _can_draw():
        return [], NO_CHARTS
    from verax.report.charts import charts_of

    first = dict(list(verdicts.items())[:MOST_CHARTED])
    note = ""
    if len(first) < len(verdicts):
        note = f"Charts show the first {MOST_CHARTED} of {len(verdicts)} models."
    charts, why_not = drawable(charts_of(first))
    return charts, why_not or note


def draw_study(results: StudyResults, models: Sequence[ModelSummary]) -> tuple[list[Chart], str]:
    """The charts of a study, each with what it is over, and a note on those not drawn.

    Charts of numbers show those of the tables, over seeds; charts of documents show those of one
    seed.
    """
    if not _can_draw():
        return [], NO_CHARTS
    from verax.report.charts import charts_of

    several = any(model.over == SEEDS for model in models)
    over_seeds = {m.name: Verdict({}, m.manifest, m.summary) for m in models[:MOST_CHARTED]}
    numbers = {chart.name: chart for chart in charts_of(over_seeds)}
    verdicts = _first_seeds(results)
    order = charts_of(verdicts) if verdicts else list(numbers.values())
    names = {chart.name for chart in order}
    charts: list[Chart] = []
    for chart in [*(c for name, c in numbers.items() if name not in names), *order]:
        over = _OVER_SEEDS if chart.name in numbers else _ONE_SEED
        shown = numbers.get(chart.name, chart)
        charts.append(replace(shown, reading=f"{shown.reading} {over}") if several else shown)
    notes = [] if verdicts else [_NO_DOCUMENTS]
    if len(models) > MOST_CHARTED:
        notes.append(f"Charts show the first {MOST_CHARTED} of {len(models)} configurations.")
    charts, why_not = drawable(charts)
    return charts, why_not or " ".join(notes)


def _first_seeds(results: StudyResults) -> dict[str, Verdict]:
    """The first seed of each configuration; none of a study packed without such tables."""
    keys = labelled(results).drop_duplicates(LABEL).set_index(LABEL)["cell"]
    try:
        return {str(n): results.verdict(str(key)) for n, key in keys[:MOST_CHARTED].items()}
    except VeraxError:
        return {}


def _can_draw() -> bool:
    return all(find_spec(module) is not None for module in _DRAWING)


def _verdicts_page(verdicts: Mapping[str, Verdict], title: str | None) -> str:
    models = [verdict.model_summary(name) for name, verdict in verdicts.items()]
    charts, note = draw(verdicts)
    parts = [*_exam_parts(models, charts, note), *class_part(verdicts)]
    galleries = {name: v for name, v in verdicts.items() if GALLERY in v.tables}
    if galleries:
        from verax.report.explorer import explorer_data

        parts.append(explorer_part(explorer_data(galleries)))
    scored = scored_part(verdicts)
    first = first_screen(models, explorer=bool(galleries))
    has_documents = bool(galleries or scored)
    parts = [first, *parts, *scored, *plan_part(models, has_documents), about_part(models)]
    shown = {"explorer": bool(galleries), "scored": bool(scored)}
    return page(title or _title(verdicts), _about(verdicts), parts, **shown)


def _study_page(results: StudyResults, title: str | None) -> str:
    models = model_summaries(results)
    charts, note = draw_study(results, models)
    parts = [first_screen(models), *_exam_parts(models, charts, note)]
    parts.append(study_about(results, models))
    cells = results.cells
    corpora = _together(dict.fromkeys(Path(str(name)).name for name in cells["corpus"]), "corpora")
    seeds = cells["seed"].nunique()
    counts = ", ".join(f"{number:,} {status}" for status, number in results.counts.items())
    question = results.question or "a study"
    about = f"{question} · {corpora} · {seeds} seed{'s' * (seeds > 1)} · cells: {counts}"
    return page(title or _title(results), about, parts)


def _other_parts(result: Other) -> list[Part]:
    charts, note = draw_other(result)
    if isinstance(result, Sweep):
        return sweep_parts(result, charts, note)
    if isinstance(result, Adversaries):
        return adversary_parts(result, charts, note)
    return comparison_parts(result, charts, note)


def _exam_parts(models: Sequence[ModelSummary], charts: Sequence[Chart], note: str) -> list[Part]:
    taken = list(dict.fromkeys(exam for model in models for exam in model.exams))
    ordered = [exam for exam in EXAMS if exam in taken]
    ordered += [exam for exam in taken if exam not in EXAMS]
    return [exam_part(exam, models, charts, note) for exam in ordered]


def _name(verdict: Verdict) -> str:
    if verdict.manifest.get("kind") and verdict.manifest.get("model", {}).get("name"):
        return str(verdict.manifest["model"]["name"])
    model = verdict.manifest.get("model", {}).get("options", {})
    levels = "hierarchical" if model.get("hierarchical") else None
    parts = [levels, model.get("encoder"), model.get("projection")]
    if model.get("grounding", "none") != "none":
        parts.append(model["grounding"])
    return ", ".join(str(part) for part in parts if part) or "the model"


def _title(result: Opened) -> str:
    if isinstance(result, StudyResults):
        return result.name
    if isinstance(result, Sweep | Adversaries | Comparison):
        titles = {Sweep: "Along λ", Adversaries: "Adversaries", Comparison: "Models side by side"}
        return f"{titles[type(result)]} on {_corpus(result.manifest)}"
    verdicts = [result] if isinstance(result, Verdict) else list(result.values())
    corpora = dict.fromkeys(_corpus(verdict.manifest) for verdict in verdicts)
    return f"Attention on {_together(corpora, 'corpora')}"


def _corpus(manifest: Mapping[str, Any]) -> str:
    corpus = manifest.get("corpus") or {}
    name = corpus.get("corpus") if isinstance(corpus, Mapping) else corpus
    return Path(str(name or "a corpus")).name


def _about(verdicts: Mapping[str, Verdict]) -> str:
    """Which model, or how many, and the documents of each where these differ."""
    documents: dict[str, list[str]] = {}
    for name, verdict in verdicts.items():
        if "documents" in verdict.manifest:
            number, split = verdict.manifest["documents"], verdict.manifest.get("split", "")
            documents.setdefault(f"{number:,} documents of {split}", []).append(name)
    if len(documents) > _CORPORA:
        documents = {}
    model = _name(next(iter(verdicts.values()))) if len(verdicts) == 1 else ""
    values = {"model": model, "number": len(verdicts), "documents": documents}
    return fill("verdict", "about", **values)


def _together(names: Iterable[str], what: str) -> str:
    """Names as a line has them, or how many where they are too many.

    >>> _together(["sst", "imdb"], "corpora"), _together("abcd", "corpora")
    ('sst and imdb', '4 corpora')
    """
    listed = list(names)
    if len(listed) > _CORPORA:
        return f"{len(listed)} {what}"
    return " and ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)


def _about_other(result: Other) -> str:
    split = result.manifest.get("split") or "documents"
    if isinstance(result, Sweep):
        return f"a model for every λ of sparsegen · {split}"
    if isinstance(result, Adversaries):
        base = result.manifest.get("base", {}).get("name", "one model")
        return f"of {base}, the base · {split}"
    return f"{len(result.groups)} models · {result.manifest.get('documents') or 0:,} of {split}"
