"""Who sees which batch: all exams every batch, or as many as there is time for.

Within a limit of time exams that take time in proportion to a document's words come first, in half
of it where there are others; then exams of items, which read nothing again, in half of what is
left; then all others. All see the shortest documents first, so that one long document takes time
from no other. A forward pass that there is no time for is broken off, as a Transformer's over
thousands of words, and its documents are left out. What is examined is the same to the last bit as
without a limit: batches are made of the same documents, and put together alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verax.exams.exam import Exam
from verax.exams.item_evidence import ItemExam, put_together
from verax.models.kinds import POOLED
from verax.models.layers import decisions, probabilities
from verax.time_limit import OutOfTimeError, TimeLimit, check_time, within

GALLERY = "gallery"

Rows = NDArray[np.int64]
Watching = Callable[[str], Callable[[Iterable[Any]], Iterable[Any]]]


class Decided:
    """The model's own decisions and how sure it is of them, of every document that was read.

    Args:
        classes: names of the model's classes.
    """

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = classes
        self._by_document: dict[int, tuple[int, float]] = {}
        self._right: dict[int, bool] = {}

    def see(self, trace: Any) -> None:
        """Keep the decisions of a batch."""
        logits = trace.logits.detach()
        sure = probabilities(logits.double()).amax(-1)
        ids = trace.ids.tolist()
        pairs = zip(decisions(logits).tolist(), sure.tolist(), strict=True)
        self._by_document |= dict(zip(ids, pairs, strict=True))
        if trace.labels is not None:
            right = decisions(logits) == trace.labels
            self._right |= dict(zip(ids, right.tolist(), strict=True))

    def against_labels(self) -> dict[str, int]:
        """Return of how many documents the model decided, and how many of these rightly."""
        return {"documents": len(self._right), "right": sum(self._right.values())}

    def to_json(self) -> dict[str, Any]:
        """Return how many documents get each class, and the mean confidence."""
        counts = Counter(decided for decided, _ in self._by_document.values())
        sure = [one for _, one in self._by_document.values()]
        return {
            "decisions": {name: counts[number] for number, name in enumerate(self.classes)},
            "confidence": round(sum(sure) / len(sure), 6) if sure else None,
        }


class Seer:
    """One that sees batches, an exam or the gallery, and the rows of those it has not seen.

    Args:
        name: the exam's name, or `gallery`.
        who: it.
        costly: whether it takes more time than in proportion to a document's words.
    """

    def __init__(self, name: str, who: Any, costly: bool) -> None:
        self.name, self.who, self.costly = name, who, costly
        self.left_out: list[Rows] = []

    def see(self, limit: TimeLimit, model: Any, trace: Any, last: bool) -> bool:
        """Show it a batch, the last of its unit or not; whether there was time for it."""
        try:
            with within(limit):
                check_time()
                self.who.see(model, trace)
                if last:
                    self.who.settle()
        except OutOfTimeError:
            return False
        return True


class _Traces:
    """Forward passes over batches; the last is kept, for whoever asks for the same batch next."""

    def __init__(self, model: Any, encoded: Any, decided: Decided) -> None:
        self._model, self._encoded, self._decided = model, encoded, decided
        self._last: tuple[Rows, Any] | None = None
        self._too_long: set[int] = set()

    def within(self, limit: TimeLimit, rows: Rows) -> Any:
        """The pass over a batch; None where there is no time for it, or was none before."""
        if limit.is_up or id(rows) in self._too_long:
            return None
        if self._last is None or self._last[0] is not rows:
            self._last = None  # two would be twice the memory
            try:
                with within(limit):
                    self._last = rows, self._model.trace_rows(self._encoded, rows)
            except OutOfTimeError:
                self._too_long.add(id(rows))
                return None
            self._decided.see(self._last[1])
        return self._last[1]


def see_all(
    seers: Sequence[Any],
    decided: Decided,
    model: Any,
    encoded: Any,
    max_tokens: int,
    watching: Watching,
) -> None:
    """Show every batch to all, one after the other."""
    for trace in model.traces(encoded, max_tokens, watching("examining")):
        decided.see(trace)
        for seer in seers:
            seer.see(model, trace)


def see_within(
    limit: TimeLimit,
    exams: Sequence[Exam],
    gallery: Any,
    decided: Decided,
    model: Any,
    encoded: Any,
    max_tokens: int,
    watching: Watching,
) -> dict[str, Rows]:
    """Show batches to exams until time is up.

    Args:
        limit: of time.
        exams: those that are taken.
        gallery: what keeps documents to show.
        decided: what keeps the model's decisions.
        model: the model that is examined.
        encoded: all documents, as the model reads them.
        max_tokens: padded tokens held at once.
        watching: shows how far it got.

    Returns:
        Exam, or `gallery` → the rows of the documents that it has not seen, where there are any. An
        exam that needs all documents has then seen none.
    """
    batches, traces = model.batches(encoded, max_tokens), _Traces(model, encoded, decided)
    seers = [Seer(exam.name, exam, exam.costly or model.kind != POOLED) for exam in exams]
    if gallery.size:
        seers.append(Seer(GALLERY, gallery, costly=True))
    quick = [seer for seer in seers if not seer.costly]
    pooled = model.kind == POOLED
    of_items = [s for s in seers if pooled and s.costly and isinstance(s.who, ItemExam)]
    others = [seer for seer in seers if seer.costly and seer not in of_items]
    # exams of items put batches together: what is together without a limit stays together;
    # models of other kinds have neither these exams nor quick ones
    units = put_together(batches, encoded, len(model.classes)) if pooled else []
    if quick:
        # a lone batch, if anything, is worth all of the time
        share = limit.share(2) if len(quick) < len(seers) and len(batches) > 1 else limit
        for unit in watching("examining, the shortest first")(units[::-1]):
            _see_quick(share, quick, model, traces, unit)
    if of_items:
        share = limit.share(2) if others else limit
        for unit in watching("examining items, the shortest first")(units[::-1]):
            _see_costly(share, of_items, model, traces, unit)
    if others:
        for rows in watching("examining, the shortest first")(batches[::-1]):
            _see_costly(limit, others, model, traces, [rows])
    for seer in seers:
        if seer.left_out and getattr(seer.who, "needs_all", False):
            seer.left_out = batches
    return {seer.name: np.concatenate(seer.left_out) for seer in seers if seer.left_out}


def out_of_time(unseen: Mapping[str, Rows], words: Rows) -> dict[str, dict[str, int]]:
    """Exam → how many documents it leaves out, and the words of the shortest and the longest.

    Args:
        unseen: exam → rows of what it has not seen.
        words: (documents,) how many words each has.
    """
    return {
        name: {
            "documents": len(rows),
            "words_of_shortest": int(words[rows].min()),
            "words_of_longest": int(words[rows].max()),
        }
        for name, rows in unseen.items()
    }


def _see_quick(
    limit: TimeLimit, seers: Sequence[Seer], model: Any, traces: _Traces, unit: Sequence[Rows]
) -> None:
    """Show a unit to all; batches that cannot be read in time are left out."""
    for rows in unit:
        trace = traces.within(limit, rows)
        for seer in seers:
            if trace is None:
                seer.left_out.append(rows)
            else:
                seer.who.see(model, trace)
    for seer in seers:
        seer.who.settle()


def _see_costly(
    limit: TimeLimit, seers: Sequence[Seer], model: Any, traces: _Traces, unit: Sequence[Rows]
) -> None:
    """Show a unit to each that has not run out of time yet; who cannot see all of it sees none."""
    active = [seer for seer in seers if not seer.left_out]
    marks = [(seer, seer.who.mark()) for seer in active]
    for number, rows in enumerate(unit, start=1):
        trace = traces.within(limit, rows) if active else None
        for seer in list(active):
            if trace is None or not seer.see(limit, model, trace, last=number == len(unit)):
                active.remove(seer)
    for seer, mark in marks:
        if seer not in active:
            seer.who.back_to(mark)
    for seer in seers:
        if seer not in active:
            seer.left_out.extend(unit)
