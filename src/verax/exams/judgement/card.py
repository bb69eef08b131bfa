"""A verdict as Markdown, for the card of a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from verax.exams.judgement.judgement import Judgement
from verax.exams.judgement.phrasing import with_interval
from verax.exams.judgement.row import Judged
from verax.exams.judgement.subjects import are_several, subjects_of
from verax.exams.titles import exam_title
from verax.portable import corpus_name

_MEANT = re.compile(r"([\\`*_{}\[\]#!|~$])")
_LEVELS = range(1, 7)
QUESTION = "Can this model's attention be trusted?"
QUESTION_OF_SCORES = "Which scores of this model may be shown as explanations?"


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it stands, in one line.

    >>> escaped("*a* | <b>\n[c](d)")
    '\\*a\\* \\| &lt;b&gt; \\[c\\](d)'
    """
    plain = " ".join(str(text).split()).replace("&", "&amp;")
    plain = "".join(character for character in plain if character.isprintable())
    return _MEANT.sub(r"\\\1", plain.replace("<", "&lt;").replace(">", "&gt;"))


def card(judgement: Judgement, manifest: Mapping[str, Any], level: int = 2) -> str:
    """The answer, its numbers, what was examined, and what the numbers do not say, as Markdown.

    Args:
        judgement: of a verdict.
        manifest: of the same verdict.
        level: of the heading, 1 to 6.
    """
    several = are_several(judgement.rows)
    mark = "#" * min(max(int(level), _LEVELS[0]), _LEVELS[-1])
    lines = [f"{mark} {QUESTION_OF_SCORES if several else QUESTION}", ""]
    lines += [f"**{escaped(judgement.headline)}**", ""]
    if several:
        lines += [
            f"- {escaped(name)}: {verdict}" for name, verdict in judgement.subjects.items()
        ] + [""]
    if judgement.judged:
        lines += [*_table(judgement.judged, several), ""]
    lines += [f"- {line}" for line in _examined(judgement, manifest)]
    if judgement.caveats:
        lines += ["", "What these numbers do not say:", ""]
        lines += [f"- {escaped(line)}" for line in judgement.caveats]
    return "\n".join(lines) + "\n"


def _table(rows: Sequence[Judged], several: bool) -> Iterator[str]:
    order = subjects_of(rows)
    heads = ["exam", "says", "number (95% interval)", "what the number is", "limits"]
    yield _row([*(["score"] if several else []), *heads])
    yield _row(["---"] * (len(heads) + several))
    for row in sorted(rows, key=lambda row: order.index(row.subject)) if several else rows:
        why = f" ({row.reason})" if row.reason else ""
        number = f"{with_interval(row.number)}, n = {row.number.n:,}"
        cells = [exam_title(row.exam), row.verdict + why, number, row.label, row.limits]
        yield _row([escaped(cell) for cell in ([row.subject, *cells] if several else cells)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _examined(judgement: Judgement, manifest: Mapping[str, Any]) -> Iterator[str]:
    """What was examined, by what, a line each."""
    corpus = manifest.get("corpus") or {}
    name = corpus_name(str(corpus.get("corpus", "a corpus without a name")))
    documents, whole = manifest.get("documents", 0), manifest.get("sampled_from", 0)
    of = f" of {whole:,}" if whole and whole != documents else ""
    known = corpus.get("fingerprint")
    yield (
        f"Examined: {documents:,}{of} documents of {escaped(name)}, split "
        f"{escaped(str(manifest.get('split', 'not known')))}"
        + (f" (fingerprint `{escaped(str(known))}`)" if known else "")
    )
    if judgement.accuracy is not None:
        yield f"Accuracy there: {escaped(with_interval(judgement.accuracy))}"
    classes = [str(one) for one in manifest.get("classes") or ()]
    if classes:
        more = f" and {len(classes) - 10:,} more" if len(classes) > 10 else ""
        yield f"Classes: {', '.join(escaped(one) for one in classes[:10])}{more}"
    if weights := manifest.get("weights"):
        yield f"Weights: `{escaped(str(weights))}`"
    yield f"Limits: {escaped(judgement.limits.version)}"
    version = manifest.get("verax")
    yield f"Made by Verax{f' {escaped(str(version))}' if version else ''}"
