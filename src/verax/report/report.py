"""`report`: what was found, as one page a person can look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from verax.drawing.names import MOST_CHARTED
from verax.errors import VeraxError
from verax.exams.judgement.model_summary import SEEDS, ModelSummary
from verax.exams.registry import EXAMS
from verax.exams.verdict import Verdict
from verax.opening import Opened, open_path
from verax.papers import Checked
from verax.report.adversary_parts import adversary_parts
from verax.report.cells import of_documents, of_seeds
from verax.report.comparison_parts import comparison_parts
from verax.report.markup import named, text
from verax.report.page import Part, page, write
from verax.report.paper_parts import paper_parts
from verax.report.sections import Chart, about_part, exam_part, first_screen, stand_part
from verax.report.study_about import study_about
from verax.report.sweep_parts import sweep_parts
from verax.studies import Adversaries, Comparison, StudyResults, Sweep
from verax.studies.summaries import model_summaries

Other = Checked | Sweep | Adversaries | Comparison
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


def report(found: Opened, path: str | Path, title: str | None = None) -> None:
    """Write what was found as one HTML file, which needs no other and no network.

    found  a verdict; several by the models' names, shown side by side; a study's results; a
           paper, checked; a sweep, trained adversaries, or a comparison

    Without altair and vl-convert-python (the extra `report`) the page has its tables and words, and
    says what to install for the charts.
    """
    write(path, report_page(found, title))


def report_page(found: Opened, title: str | None = None) -> str:
    """The page itself."""
    if isinstance(found, Other):
        return page(title or _title(found), text(_about_other(found)), _other_parts(found))
    if isinstance(found, StudyResults):
        return _study_page(found, title)
    verdicts = {_name(found): found} if isinstance(found, Verdict) else dict(found)
    if not verdicts:
        raise VeraxError("nothing to report: give at least one verdict")
    return _verdicts_page(verdicts, title)


def open_reported(places: Sequence[str | Path]) -> tuple[Opened, str]:
    """What folders hold, and a title: one of anything, or several of verdicts.

    `name=folder` names a verdict.
    """
    if not places:
        raise VeraxError("nothing to report: give the folder of a verdict, a study or a paper")
    if len(places) == 1:
        found = open_path(places[0])
        return found, _title(found)
    verdicts: dict[str, Verdict] = {}
    for place in places:
        name, _, folder = str(place).partition("=")
        if not folder or Path(place).exists():
            name, folder = Path(place).name, str(place)
        own = open_path(folder)
        several = {name: own} if isinstance(own, Verdict) else own
        if not isinstance(several, Mapping):
            raise VeraxError(f"{folder} is no verdict: several can be shown only if all are")
        for own_name, verdict in several.items():
            if own_name in verdicts:
                raise VeraxError(
                    f"two verdicts are called {own_name!r}: name them, as in one={folder}"
                )
            verdicts[own_name] = verdict
    return verdicts, _title(verdicts)


def draw_other(found: Other) -> tuple[list[Chart], str]:
    """The charts of what is no verdict, and a note where they cannot be drawn here."""
    if not _can_draw():
        return [], NO_CHARTS
    from verax.report.charts import charts_of_other

    return list(charts_of_other(found)), ""


def draw(verdicts: Mapping[str, Verdict]) -> tuple[list[Chart], str]:
    """The charts of some verdicts, and a note where they cannot be drawn here."""
    if not _can_draw():
        return [], NO_CHARTS
    from verax.report.charts import charts_of

    first = dict(list(verdicts.items())[:MOST_CHARTED])
    note = ""
    if len(first) < len(verdicts):
        note = f"Charts show the first {MOST_CHARTED} of {len(verdicts)} models."
    return list(charts_of(first)), note


def draw_study(results: StudyResults, models: Sequence[ModelSummary]) -> tuple[list[Chart], str]:
    """The charts of a study, each with what it is over, and a note on those not drawn.

    What shows numbers shows those of the tables, over seeds; what shows documents shows those of
    one seed.
    """
    if not _can_draw():
        return [], NO_CHARTS
    from verax.report.charts import charts_of

    several = any(model.over == SEEDS for model in models)
    numbers = {chart.name: chart for chart in charts_of(of_seeds(models))}
    verdicts = of_documents(results)
    order = charts_of(verdicts) if verdicts else list(numbers.values())
    names = {chart.name for chart in order}
    found: list[Chart] = []
    for chart in [*(c for name, c in numbers.items() if name not in names), *order]:
        over = _OVER_SEEDS if chart.name in numbers else _ONE_SEED
        own = numbers.get(chart.name, chart)
        found.append(replace(own, reading=f"{own.reading} {over}") if several else own)
    notes = [] if verdicts else [_NO_DOCUMENTS]
    if len(models) > MOST_CHARTED:
        notes.append(f"Charts show the first {MOST_CHARTED} of {len(models)} configurations.")
    return found, " ".join(notes)


def _can_draw() -> bool:
    return all(find_spec(module) is not None for module in _DRAWING)


def _verdicts_page(verdicts: Mapping[str, Verdict], title: str | None) -> str:
    models = [verdict.model_summary(name) for name, verdict in verdicts.items()]
    charts, note = draw(verdicts)
    parts = _exam_parts(models, charts, note)
    shown = {name: v for name, v in verdicts.items() if GALLERY in v.tables}
    if shown:
        from verax.report.stand import stand_data

        parts.append(stand_part(stand_data(shown)))
    first = first_screen(models, stand=bool(shown))
    parts = [first, *parts, about_part(models)]
    return page(title or _title(verdicts), _about(verdicts), parts, stand=bool(shown))


def _study_page(results: StudyResults, title: str | None) -> str:
    models = model_summaries(results)
    charts, note = draw_study(results, models)
    parts = [first_screen(models), *_exam_parts(models, charts, note)]
    parts.append(study_about(results, models))
    cells = results.cells
    corpora = _together(dict.fromkeys(Path(str(name)).name for name in cells["corpus"]), "corpora")
    seeds = cells["seed"].nunique()
    told = [results.question or "a study", corpora, f"{seeds} seed{'s' * (seeds > 1)}"]
    counts = ", ".join(f"{number:,} {status}" for status, number in results.counts.items())
    about = text(" · ".join([*told, f"cells: {counts}"]))
    return page(title or _title(results), about, parts)


def _other_parts(found: Other) -> list[Part]:
    charts, note = draw_other(found)
    if isinstance(found, Sweep):
        return sweep_parts(found, charts, note)
    if isinstance(found, Adversaries):
        return adversary_parts(found, charts, note)
    if isinstance(found, Comparison):
        return comparison_parts(found, charts, note)
    return paper_parts(found, charts, note)


def _exam_parts(models: Sequence[ModelSummary], charts: Sequence[Chart], note: str) -> list[Part]:
    taken = list(dict.fromkeys(exam for model in models for exam in model.exams))
    ordered = [exam for exam in EXAMS if exam in taken]
    ordered += [exam for exam in taken if exam not in EXAMS]
    return [exam_part(exam, models, charts, note) for exam in ordered]


def _name(verdict: Verdict) -> str:
    model = verdict.manifest.get("model", {}).get("options", {})
    levels = "hierarchical" if model.get("hierarchical") else None
    parts = [levels, model.get("encoder"), model.get("projection")]
    if model.get("grounding", "none") != "none":
        parts.append(model["grounding"])
    return ", ".join(str(part) for part in parts if part) or "the model"


def _title(found: Opened) -> str:
    if isinstance(found, Checked):
        return f"{found.paper.authors}: {found.paper.title}"
    if isinstance(found, StudyResults):
        return found.name
    if isinstance(found, Sweep | Adversaries | Comparison):
        told = {Sweep: "Along λ", Adversaries: "Adversaries", Comparison: "Models side by side"}
        return f"{told[type(found)]} on {_corpus(found.manifest)}"
    verdicts = [found] if isinstance(found, Verdict) else list(found.values())
    corpora = dict.fromkeys(_corpus(verdict.manifest) for verdict in verdicts)
    return f"Attention on {_together(corpora, 'corpora')}"


def _corpus(manifest: Mapping[str, Any]) -> str:
    told = manifest.get("corpus") or {}
    name = told.get("corpus") if isinstance(told, Mapping) else told
    return Path(str(name or "a corpus")).name


def _about(verdicts: Mapping[str, Verdict]) -> str:
    """Which model, or how many, and the documents of each where these differ."""
    one = next(iter(verdicts.values()))
    told = [f"{len(verdicts)} models" if len(verdicts) > 1 else named(_name(one))]
    documents: dict[str, list[str]] = {}
    for name, verdict in verdicts.items():
        if "documents" in verdict.manifest:
            number, split = verdict.manifest["documents"], verdict.manifest.get("split", "")
            documents.setdefault(f"{number:,} documents of {split}", []).append(name)
    if len(documents) == 1:
        told += map(text, documents)
    elif len(documents) <= _CORPORA:
        told += [
            f"{', '.join(map(named, names))}: {text(what)}" for what, names in documents.items()
        ]
    return " · ".join(told)


def _together(names: Iterable[str], what: str) -> str:
    """Names as a line says them, or how many where they are too many.

    >>> _together(["sst", "imdb"], "corpora"), _together("abcd", "corpora")
    ('sst and imdb', '4 corpora')
    """
    found = list(names)
    if len(found) > _CORPORA:
        return f"{len(found)} {what}"
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def _about_other(found: Other) -> str:
    if isinstance(found, Checked):
        shown = "published beside measured" if found.has_published else "measured again"
        return f"{found.paper.name}: {shown}"
    split = found.manifest.get("split") or "documents"
    if isinstance(found, Sweep):
        return f"a model for every λ of sparsegen · {split}"
    if isinstance(found, Adversaries):
        base = found.manifest.get("base", {}).get("name", "one model")
        return f"of {base}, the base · {split}"
    return f"{len(found.groups)} models · {found.manifest.get('documents', 0):,} of {split}"
