"""Who sees which batch: all exams every batch, or as many as there is time for.

Within a limit of time exams that take time in proportion to a document's words come first, for all
documents. Those that take more see the shortest documents first, so that one long document takes
time from no other. What is examined is the same to the last bit as without a limit: batches are
made of the same documents, and put together alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verax.exams.exam import Exam
from verax.exams.item_evidence import ItemExam, put_together
from verax.models.kinds import POOLED
from verax.time_limit import OutOfTimeError, TimeLimit, within

GALLERY = "gallery"

Rows = NDArray[np.int64]
Watching = Callable[[str], Callable[[Iterable[Any]], Iterable[Any]]]


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
                self.who.see(model, trace)
                if last:
                    self.who.settle()
        except OutOfTimeError:
            return False
        return True


def see_all(
    seers: Sequence[Any], model: Any, encoded: Any, max_tokens: int, watching: Watching
) -> None:
    """Show every batch to all, one after the other."""
    for trace in model.traces(encoded, max_tokens, watching("examining")):
        for seer in seers:
            seer.see(model, trace)


def see_within(
    limit: TimeLimit,
    exams: Sequence[Exam],
    gallery: Any,
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
        model: the model that is examined.
        encoded: all documents, as the model reads them.
        max_tokens: padded tokens held at once.
        watching: shows how far it got.

    Returns:
        Exam, or `gallery` → the rows of the documents that it has not seen, where there are any. An
        exam that needs all documents has then seen none.
    """
    batches = model.batches(encoded, max_tokens)
    seers = [Seer(exam.name, exam, exam.costly or model.kind != POOLED) for exam in exams]
    if gallery.size:
        seers.append(Seer(GALLERY, gallery, costly=True))
    quick, costly = ([s for s in seers if s.costly is is_costly] for is_costly in (False, True))
    if quick:
        for rows in watching("examining")(batches):
            _see_quick(limit, quick, model, encoded, rows)
    if costly:
        # what exams of items put together stays together, in whatever order it comes
        units = [[rows] for rows in batches]
        if model.kind == POOLED:
            units = put_together(batches, encoded, len(model.classes))
        for unit in watching("examining, the shortest first")(units[::-1]):
            _see_costly(limit, costly, model, encoded, unit)
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
    limit: TimeLimit, seers: Sequence[Seer], model: Any, encoded: Any, rows: Rows
) -> None:
    if limit.is_up:
        for seer in seers:
            seer.left_out.append(rows)
        return
    trace = model.trace_rows(encoded, rows)
    for seer in seers:
        seer.who.see(model, trace)


def _see_costly(
    limit: TimeLimit, seers: Sequence[Seer], model: Any, encoded: Any, unit: Sequence[Rows]
) -> None:
    """Show a unit to each that has not run out of time yet; who cannot see all of it sees none.

    Exams of items come first, and take half of what is left at most; they read nothing again.
    """
    active = [seer for seer in seers if not seer.left_out]
    active.sort(key=lambda seer: not isinstance(seer.who, ItemExam))
    marks = [(seer, seer.who.mark()) for seer in active]
    for number, rows in enumerate(unit, start=1):
        trace = None if limit.is_up or not active else model.trace_rows(encoded, rows)
        for seer in list(active):
            of_items = isinstance(seer.who, ItemExam) and seer is not active[-1]
            share = limit.share(2) if of_items else limit
            if trace is None or not seer.see(share, model, trace, last=number == len(unit)):
                active.remove(seer)
    for seer, mark in marks:
        if seer not in active:
            seer.who.back_to(mark)
    for seer in seers:
        if seer not in active:
            seer.left_out.extend(unit)
