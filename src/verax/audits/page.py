"""The page of an audit in Markdown, from its results alone: answers first, then how they came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verax.audits.answers import (
    CONTROLS,
    HALF,
    REPLACEABLE,
    UNIFORM,
    Answers,
    answers_of,
    fewer_than_random,
    head_survival,
    of_documents,
)
from verax.audits.audit import FULL, INJECTIONS, Audit
from verax.audits.contrasts import ATTENTION, TITLES, Contrast, contrast, spans_by_score
from verax.audits.estimating import ABSENT, NO, OPEN, YES, Estimate
from verax.audits.phrasing import QUESTIONS, number
from verax.audits.registry import contrasts_of, entries_of
from verax.audits.results import AuditResults
from verax.errors import VeraxError
from verax.exams.judgement.headline import LEAST_DOCUMENTS
from verax.exams.judgement.row import AGAINST, FOR
from verax.exams.judgement.subjects import MIXED, exams_with
from verax.exams.registry import EXAMS
from verax.files import write_files
from verax.importance import DERIVED

PAGE, CHARTS = "README.md", "charts"
TRIAL = "A trial at scale {scale}: its numbers say that it runs, and nothing about the models."


@dataclass(frozen=True, eq=False)
class Answered:
    """An audit with its answers.

    answers    of each kind of model that there are results of
    contrasts  between kinds
    """

    audit: Audit
    results: AuditResults
    answers: Sequence[Answers]
    contrasts: Sequence[Contrast]

    @property
    def scales(self) -> list[str]:
        """The scales that models were made at."""
        return sorted({str(one.get("scale", "")) for one in self.facts})

    @property
    def facts(self) -> list[Any]:
        """What is known of each model on the page."""
        models = [m for a in self.answers for m in self.results.models(a.entry.id)]
        return [self.results.facts[model] for model in models]

    def names(self) -> dict[str, str]:
        """Entry → its title, with its texts where a title is there twice."""
        several = len({one.entry.texts for one in self.answers}) > 1
        return {
            one.entry.id: f"{one.entry.title}, {one.entry.texts}" if several else one.entry.title
            for one in self.answers
        }


def tell(audit: Audit, results: AuditResults) -> Answered:
    """The answers of an audit."""
    answers = [a for e in entries_of(audit) if (a := answers_of(results, e)) is not None]
    if not answers:
        raise VeraxError(
            f"these results have no model of audit {audit.name}: run it first",
            code="result.missing",
        )
    pairs = contrasts_of(audit)
    contrasts = [c for pair in pairs if (c := contrast(results, *pair)) is not None]
    return Answered(audit, results, answers, contrasts)


def write_page(audit: Audit, results: AuditResults, out: str | Path) -> Path:
    """Pack the results of an audit into a folder, and write its page and its pictures there."""
    answered, folder = tell(audit, results), Path(out)
    if not audit.includes:
        wanted = {m for e in audit.entries for m in results.models(e.id)}
        tables = {n: t[t["model"].isin(list(wanted))] for n, t in results.tables.items()}
        packed = AuditResults(
            {m: f for m, f in results.facts.items() if m in wanted},
            {n: t for n, t in tables.items() if len(t)},
        )
        packed.pack(folder)
    pictures = pictures_of(answered)
    files = {f"{CHARTS}/{name}.svg": c.svg("light") + "\n" for name, c in pictures.items()}
    files[PAGE] = page(answered, {name: c.title for name, c in pictures.items()})
    write_files(folder, files)
    return folder / PAGE


def page(answered: Answered, pictures: dict[str, str] | None = None) -> str:
    """The whole page; it depends on nothing but the results."""
    audit = answered.audit
    trial = [s for s in answered.scales if s != FULL]
    parts = [
        f"# {audit.title}",
        f"**{TRIAL.format(scale=', '.join(trial))}**" if trial else "",
        audit.question,
        _direct(answered),
        audit.note,
        _answers(answered),
        _reading(answered),
        *(f"![{title}]({CHARTS}/{name}.svg)" for name, title in (pictures or {}).items()),
        *_scores(answered),
        *_contrasts(answered),
        *_spans(answered),
        *annex(answered),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _direct(answered: Answered) -> str:
    """The audit's own question, answered in a few lines."""
    kinds = len(answered.answers)
    counts = Counter(score for one in answered.answers for score in one.may_be_shown)
    lines = ["No score may be shown."]
    if counts:
        known = [f"{score} in {counts[score]}" for score in DERIVED if score in counts]
        lines = [
            f"Scores that may be shown, by how many of {kinds} kinds of model: {', '.join(known)}."
        ]
    if kinds == 1 and counts:
        lines = [f"Scores that may be shown: {', '.join(answered.answers[0].may_be_shown)}."]
    names = answered.names()
    for pair in answered.contrasts:
        if pair.first in names and pair.second in names and ATTENTION in pair.differences:
            apart = pair.differences[ATTENTION]
            lines.append(
                f"{names[pair.first]} against {names[pair.second]}: {_words_saved(apart)}."
            )
    spans = answered.results.tables.get("spans")
    if (
        spans is not None
        and len(spans)
        and any(e.entry.texts == INJECTIONS for e in answered.answers)
    ):
        by_score = spans_by_score(spans)
        if "attention" in by_score:
            top, share = (percent(by_score["attention"][name]) for name in ("top", "share"))
            lines.append(
                f"Of the five words that attention ranks first {number(top, '%', 0)} are the "
                f"instruction's, by chance {number(share, '%', 0)}."
            )
    return "\n".join(f"- {line}" for line in lines)


def _words_saved(apart: Estimate) -> str:
    """How many fewer of the words attention needs in order to change decisions, in words.

    >>> _words_saved(Estimate(-16.8, -24.9, -8.8, 3, 360))
    'worse, attention needs 16.8 points (8.8 to 24.9) more of the words'
    """
    verdict = apart.beyond(0.0)
    if verdict == YES:
        return f"better, attention needs {number(apart, ' points')} fewer of the words"
    if verdict == NO:
        more = Estimate(-apart.value, -apart.high, -apart.low, apart.seeds, apart.n)
        return f"worse, attention needs {number(more, ' points')} more of the words"
    return f"{OPEN}, the words that attention saves differ by {number(apart, ' points')}"


def percent(one: Estimate) -> Estimate:
    """A share in percent."""
    return Estimate(100 * one.value, 100 * one.low, 100 * one.high, one.seeds, one.n)


def _answers(answered: Answered) -> str:
    heads = ["model", "seeds", "accuracy", *(question for question, _ in QUESTIONS)]
    rows = []
    for one in answered.answers:
        name = answered.names()[one.entry.id]
        said = [words(one) for _, words in QUESTIONS]
        rows.append([name, str(one.seeds), number(one.accuracy, "%"), *said])
    return markdown(heads, rows)


def _reading(answered: Answered) -> str:
    command = f"verax audit {answered.audit.name} --scale {'/'.join(answered.scales)}"
    return (
        f"Made by `{command}`. Numbers are means over seeds and documents. A 95% interval is the "
        "wider of a bootstrap over seeds and documents and Student's t over seeds; of one model it "
        "is over documents. A score may be shown if the exam `deletion` supports it in every seed "
        "(to beat chance is not enough) and no exam contradicts it; where one exam supports and "
        "another contradicts it in every seed, it is mixed. Decisions notice uniform attention if "
        "the interval is below 80% that stay, and do not if it is above 95%. *Inconclusive*: it "
        f"lies elsewhere, or seeds differ. *No verdict*: fewer than {LEAST_DOCUMENTS} documents "
        "were examined, or the model may have learnt nothing. "
        f"States have stopped telling their word below {HALF:.0f}% of the mutual information that "
        "the word's embedding has with the word. A head is replaceable if the interval is above "
        f"{REPLACEABLE:.0f}% of decisions that stay, in every seed."
    )


def _scores(answered: Answered) -> Iterator[str]:
    """Numbers of every score."""
    yield "## Every score"
    for one in answered.answers:
        yield f"### {answered.names()[one.entry.id]}"
        rows = []
        for score in (*DERIVED, *CONTROLS):
            if score not in one.fewer:
                continue
            anew = one.drawn_anew.get(score)
            rows.append(
                [
                    score,
                    _may_be_shown(answered, one, score),
                    number(one.fewer[score]),
                    number(one.excess.get(score)),
                    "—" if anew is None else f"{anew[0]:.2f} ({anew[1]:.2f} to {anew[2]:.2f})",
                ]
            )
        heads = [
            "score",
            "may be shown",
            "words fewer than random order, points",
            "words beyond the smallest set",
            "correlation once all weights are drawn anew",
        ]
        yield markdown(heads, rows)
        lower = f"; at least {number(one.lower)}" if one.lower is not None else ""
        yield (
            f"The smallest set of words found that changes the decision has {number(one.smallest)} "
            f"words{lower}."
        )


def _may_be_shown(answered: Answered, one: Answers, score: str) -> str:
    """Return whether a score may be shown, and which exams disagree in every seed."""
    if score in CONTROLS:
        return "a control"
    answer = one.shown.get(score, ABSENT)
    if answer != MIXED:
        return answer
    models = answered.results.models(one.entry.id)
    judged = [answered.results.judgements[model].rows for model in models]
    good, bad = (
        [exam for exam in EXAMS if all(exam in exams_with(said, score, rows) for rows in judged)]
        for said in (FOR, AGAINST)
    )
    words = {"supported by": good, "contradicted by": bad}
    return ", ".join([MIXED, *(f"{w} {_and(names)}" for w, names in words.items() if names)])


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _contrasts(answered: Answered) -> Iterator[str]:
    names = answered.names()
    rows = [
        [
            f"{names[one.first]} − {names[one.second]}",
            *(number(one.differences.get(what)) for what in TITLES),
        ]
        for one in answered.contrasts
        if one.first in names and one.second in names
    ]
    if rows:
        yield "## Side by side"
        yield markdown(["difference", *TITLES.values()], rows)


def _spans(answered: Answered) -> Iterator[str]:
    spans = answered.results.tables.get("spans")
    if (
        spans is None
        or not len(spans)
        or not any(a.entry.texts == INJECTIONS for a in answered.answers)
    ):
        return
    yield "## Does a score find the instruction?"
    rows = [
        [score, *(number(values.get(column), digits=2) for column in ("auprc", "top", "share"))]
        for score, values in spans_by_score(spans).items()
    ]
    heads = ["score", "average precision", "of the top five words", "of five words by chance"]
    yield markdown(heads, rows)
    yield (
        f"Over {spans['id'].nunique()} texts with an instruction that the guard flags. Texts are "
        "documentation of made-up projects, put together from templates by a seed "
        "(`verax.audits.injections`): in half of them one sentence tells a reading assistant to do "
        "something, in its twin a harmless sentence stands there. What chance gives of average "
        "precision is the row of random order. Intervals are over texts as if they were drawn one "
        "by one; they come from few templates."
    )


def annex(answered: Answered) -> Iterator[str]:
    """What a user under regulation must know."""
    yield "## Annex: what was examined, on whom, and who should not rely on it"
    facts = [
        (model, answered.results.facts[model])
        for one in answered.answers
        for model in answered.results.models(one.entry.id)
    ]
    rows = []
    for model, one in facts:
        weights = one["built"]["weights"]
        source = weights.get("package") or weights.get("word_vectors", "drawn at random")
        seconds = one["seconds"]
        rows.append(
            [
                f"`{model}`",
                str(source),
                f"`{str(weights.get('sha256', '—'))[:16]}`",
                f"`{one['fingerprint']}`",
                f"{one['corpus']} `{one['texts_fingerprint']}`",
                str(one["documents"]),
                f"{seconds['making']:.0f} + {seconds['exams'] + seconds['rest']:.0f} s",
                str(one["device"]),
            ]
        )
    heads = ["model", "weights from", "sha256 of the file", "weights examined", "data"]
    changed = sorted({str(w) for _, one in facts if (w := one["built"]["weights"].get("cut"))})
    yield markdown([*heads, "documents", "made + examined in", "on"], rows)
    if changed:
        yield (
            f"Weights of packages were changed before use: {'; '.join(changed)}. The whole "
            "vocabulary may cut a word into other pieces where a deletion joins its neighbours."
        )
    strengths = [
        [f"`{model}`", f"{one['built']['strength']:g}", _tried(one["built"])]
        for model, one in facts
        if "strength" in one["built"]
    ]
    if strengths:
        yield markdown(["model", "strength", "accuracy on validation by strength"], strengths)
    yield "### Subgroups"
    yield markdown(
        ["model", "documents of", "n", "accuracy, %", "stay under uniform, %", "attention, points"],
        list(_groups(answered)),
    )
    yield _limits(answered)


def _tried(built: Any) -> str:
    tried = {"none": built["ungrounded_accuracy"], **built["strengths_tried"]}
    return ", ".join(f"{strength}: {100 * value:.1f}%" for strength, value in tried.items())


def _groups(answered: Answered) -> Iterator[list[str]]:
    """Numbers by class and by length."""
    for one in answered.answers:
        models = answered.results.models(one.entry.id)
        documents = answered.results.table("documents", models[:1])
        for column in ("label", "length"):
            for group, part in documents.groupby(documents[column].astype(str), sort=False):
                ids = set(part["id"])
                yield [
                    answered.names()[one.entry.id],
                    f"class {group}" if column == "label" else f"{group} length",
                    str(len(ids)),
                    number(of_documents(answered.results, models, "decisions.accuracy", ids, 100)),
                    number(of_documents(answered.results, models, UNIFORM, ids, 100)),
                    number(fewer_than_random(answered.results, models, "attention", ids)),
                ]


def _limits(answered: Answered) -> str:
    corpora = sorted({str(one["corpus"]) for one in answered.facts})
    return (
        "**Limits of use.** The answers are about these weights, these corpora "
        f"({', '.join(corpora)}), whole words deleted from the text, and the limits of the "
        "judgement that is named in the results. Subgroups are classes and terciles of length; no "
        "attribute of a person is known of any text. **Who should not rely on it:** whoever "
        "examines another fine-tuning of the same weights, another language or kind of text; "
        "whoever must show a reason to a person about whom a decision was made: a score that may "
        "be shown finds words that matter to the model, not reasons that hold in the world."
    )


def pictures_of(answered: Answered) -> dict[str, Any]:
    """The pictures of an audit, by name."""
    from verax.audits import charts

    spans = answered.results.tables.get("spans")
    has_spans = spans is not None and any(a.entry.texts == INJECTIONS for a in answered.answers)
    first = answered.answers[0]
    models = answered.results.models(first.entry.id)
    drawn = {
        "scores": charts.scores_chart(answered.answers),
        "uniform": charts.uniform_chart(answered.answers),
        "layers": charts.layers_chart(answered.answers),
        "heads": charts.heads_chart(first.entry.title, head_survival(answered.results, models)),
        "contrasts": charts.contrasts_chart(answered.contrasts, answered.names()),
        "spans": charts.spans_chart(spans_by_score(spans))
        if has_spans and spans is not None
        else None,
    }
    return {name: chart for name, chart in drawn.items() if chart is not None}


def markdown(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table; bars and line breaks inside a cell do not end it."""

    def line(cells: Sequence[Any]) -> str:
        texts = [" ".join(str(cell).replace("|", "\\|").split()) for cell in cells]
        return f"| {' | '.join(texts)} |"

    return "\n".join([line(heads), "|" + "---|" * len(heads), *(line(row) for row in rows)])
