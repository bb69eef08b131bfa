"""The plausibility exam: rankings of words held against what people marked."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.corpora.corpus import SPLITS, Corpus, Documents
from verax.corpora.ragged import Ragged
from verax.errors import VeraxError
from verax.exams.deletion.rankings import RankingOptions, chosen_rankings, scores_of
from verax.exams.exam import Exam, Pair, no_direction
from verax.exams.judgement.limits import Limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.phrasing import with_interval
from verax.exams.judgement.row import NOT_APPLICABLE, Judged
from verax.exams.judgement.subjects import is_derived
from verax.exams.measures import VALUE, MeasurePlace
from verax.exams.plausibility import baselines, summary
from verax.exams.plausibility.annotators import pairwise_f1
from verax.exams.plausibility.baselines import BASELINES, FREQUENCY, RANDOM, words_in
from verax.exams.plausibility.measures import (
    DOCUMENT_COUNTS,
    NAME,
    NOT_FAITHFUL,
    PLAUSIBILITY,
    TABLES,
)
from verax.exams.plausibility.overlap import average_precision, iou_f1, token_f1, top_words
from verax.exams.reading import check_finite, correct, labels_of
from verax.exams.registry import register
from verax.models.base import TextClassifier
from verax.models.kinds import KINDS, PREDICT, TRANSFORMER
from verax.models.layers import decisions

PEOPLE = (
    "Plausible is not faithful: a person's reason need not be the model's. These numbers speak "
    "neither for attention nor against it."
)
GROUND_TRUTH = (
    "Here the marked words are known to decide the label: they are ground truth for a model that "
    "decides rightly. Elsewhere plausible is not faithful."
)


@register
class PlausibilityExam(Exam):
    """How far each ranking of words matches what people marked, beside baselines.

    Gives two tables:

    plausibility_instances  words, marked, marked_share, usual_share (of the other splits), reason
                            (a place in `REASONS`, 0 where examined), annotators, annotator_f1,
                            cause (1 where the marks are the known cause), correct, decision
    plausibility            for each ranking (`draw` tells random ones apart): auprc; token_f1 and
                            iou_f1 of as many words as are marked; share_token_f1 and share_iou_f1
                            of the usual share of words, where other splits have marks
    """

    name = NAME
    title = "Plausibility"
    question = "Do the words that a score ranks first match those that people marked?"
    comparison = f"agreement with what people marked ({NOT_FAITHFUL})"
    explanation = (
        "People marked the words that give the reason for a label. Words are ranked by each score, "
        "those that speak for the decision first. AUPRC is the average precision with which a "
        "ranking finds the marked words. Token-F1 and IOU-F1 take the first words of a ranking: as "
        "many as are marked, or the share that is usual in the other splits. IOU-F1 counts runs of "
        "words that overlap with a marked run by at least half of their union. Baselines rank rare "
        "words first, or early ones, or late ones, or draw. Plausible is not faithful: a person's "
        "reason need not be the model's, so that nothing here speaks for or against attention. "
        "Only where the marks are the known cause of the label, as in a planted corpus, are they "
        "ground truth: a model that decides rightly must have used these words."
    )
    costly = True
    options_class = RankingOptions
    summary_tables = TABLES
    tidy_tables = ("plausibility_instances", "plausibility")
    charts = "verax.exams.plausibility.charts"
    decisions_table = "plausibility_instances"
    needs_rationales = True
    kinds = KINDS
    default_for = (TRANSFORMER, PREDICT)
    summarise = staticmethod(summary.summarise)
    document_values = staticmethod(summary.document_values)

    @staticmethod
    def judge(model: ModelSummary, limits: Limits) -> list[Judged]:
        """A row on how far attention matches the marks, which is neither for it nor against it."""
        number = model.number(PLAUSIBILITY.id, "attention", "auprc")
        if number is None:
            return []
        return [
            Judged(
                NAME,
                PLAUSIBILITY.id_of("attention", "auprc"),
                NOT_APPLICABLE,
                number,
                "average precision with which attention finds the words that people marked",
                "",
                f"Attention finds the words that people marked with an average precision of "
                f"{with_interval(number)}. {NOT_FAITHFUL.capitalize()}.",
            )
        ]

    @classmethod
    def promise(cls, model: TextClassifier) -> str:
        """Exact, but for random rankings, which are drawn."""
        return "exact; chance is sampled"

    def setup(self) -> None:
        """Refuse names of one's own that the baselines have."""
        for name in self.importances:
            if name in BASELINES:
                raise VeraxError(
                    f"importance {name!r} is a baseline: give yours another name",
                    code="importance.name-taken",
                )

    def prepare(self, corpus: Corpus, documents: Documents, split: str) -> None:
        """Take in the documents, and those of the other splits that have marks."""
        assert documents.marks is not None  # `needs_rationales`
        self._documents, self._is_cause = documents, corpus.marks_are_cause
        self._known = corpus.train if len(corpus.train) else documents
        parts = [corpus.splits[name] for name in SPLITS[:2] if split in SPLITS and name != split]
        self._others = [part for part in parts if len(part) and part.marks is not None]

    def begin(self, model: Any, documents: Any) -> None:
        """Align the marks with the words that the model reads."""
        self._names = chosen_rankings(self.options.rankings, model)
        marks = self._documents.marks
        assert marks is not None
        places = Ragged.of(list(documents.spans), width=2)
        words = [word for text in documents.words for word in text]
        self._counts = baselines.word_counts(model, self._known)
        shares = [share for part in self._others for share in _marked_shares(model, part)]
        self._usual = float(np.mean(shares)) if shares else None
        self._marked = marks.majority(places)
        self._rarity = Ragged(baselines.rarity(words, self._counts), places.offsets)
        self._agreement = pairwise_f1(marks.marked(places), places, marks.annotators)
        self._annotators = marks.annotators

    @torch.no_grad()
    def see(self, model: Any, trace: Any) -> None:
        """Examine one batch."""
        check_finite(trace.logits)
        mask, rows = trace.batch.words, trace.batch.row_index.cpu().numpy()
        marked = _laid_out(self._marked, rows, mask).bool()
        reason = self._reasons(marked, mask, rows)
        scores = scores_of(self._names, self.importances, model, trace, self.seed, self.max_tokens)
        scores[FREQUENCY] = _laid_out(self._rarity, rows, mask)
        scores |= baselines.places(mask)
        draws = self.options.random_orders
        drawn = baselines.random_scores(trace.batch.row_index, mask.shape[1], self.seed, draws)
        every = torch.cat([torch.stack([one.double() for one in scores.values()]), drawn])
        labels: list[dict[str, str | int]] = [{"ranking": name, "draw": 0} for name in scores]
        labels += [{"ranking": RANDOM, "draw": draw} for draw in range(draws)]
        measures = self._measures(every, marked, mask)
        self.builder.add("plausibility", trace.ids, measures, reason == 0, labels)
        self._add_instances(trace, marked, mask, rows, reason)

    def _measures(self, scores: Tensor, marked: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """(rankings, batch) each."""
        as_many = top_words(scores, marked.sum(-1).expand(scores.shape[:-1]), mask)
        measures = {
            "auprc": average_precision(scores, marked, mask),
            "token_f1": token_f1(as_many, marked),
            "iou_f1": iou_f1(as_many, marked),
        }
        if self._usual is not None:
            count = usual_count(self._usual, mask.sum(-1)).expand(scores.shape[:-1])
            usual = top_words(scores, count, mask)
            measures |= {
                "share_token_f1": token_f1(usual, marked),
                "share_iou_f1": iou_f1(usual, marked),
            }
        return measures

    def _reasons(self, marked: Tensor, mask: Tensor, rows: NDArray[np.int64]) -> Tensor:
        """(batch,) long: why a document is left out, as a place in `REASONS`."""
        looked_at = torch.from_numpy(self._annotators[rows] > 0).to(mask.device)
        reason = torch.zeros(len(mask), dtype=torch.long, device=mask.device)
        reason[(marked | ~mask).all(-1)] = 3
        reason[~marked.any(-1)] = 2
        reason[~looked_at] = 1
        return reason

    def _add_instances(
        self, trace: Any, marked: Tensor, mask: Tensor, rows: NDArray[np.int64], reason: Tensor
    ) -> None:
        decided, words = decisions(trace.logits), mask.sum(-1)

        def of_rows(values: NDArray[Any]) -> Tensor:
            return torch.from_numpy(values[rows]).to(mask.device)

        def same(value: float) -> Tensor:
            return torch.full((len(mask),), value, dtype=torch.float64, device=mask.device)

        measures = {
            "words": words,
            "marked": marked.sum(-1),
            "marked_share": marked.sum(-1).double() / words.clamp(min=1),
            "usual_share": same(torch.nan if self._usual is None else self._usual),
            "reason": reason,
            "annotators": of_rows(self._annotators),
            "annotator_f1": of_rows(self._agreement),
            "cause": same(float(self._is_cause)),
            "correct": correct(labels_of(trace), decided),
            "decision": decided,
        }
        self.builder.add("plausibility_instances", trace.ids, measures)

    @staticmethod
    def remark(model: ModelSummary) -> str:
        """Whether the marks are ground truth, or people's reasons."""
        cause = model.number(DOCUMENT_COUNTS.id, "cause", VALUE)
        return PEOPLE if cause is None or cause.value == 0 else GROUND_TRUTH

    @staticmethod
    def better(place: MeasurePlace, pair: Pair) -> tuple[str, str]:
        """Neither way: closer to people's marks is no better explanation of the model."""
        return no_direction(NOT_FAITHFUL if place.table is PLAUSIBILITY else "")

    @staticmethod
    def is_compared(place: MeasurePlace, note: str) -> bool:
        """Whether a comparison shows a number: of scores derived from attention."""
        return place.table is not PLAUSIBILITY or is_derived(place.row)


def usual_count(share: float, words: Tensor) -> Tensor:
    """(batch,) long: the share of the words, rounded half up, at least one."""
    return (share * words.double() + 0.5).floor().long().clamp(min=1)


def _marked_shares(model: Any, documents: Documents) -> list[float]:
    """The share of marked words of each document that has some, but not all, marked."""
    assert documents.marks is not None
    marked = documents.marks.majority(words_in(model, documents).spans)
    shares = [float(m.astype(np.float64).mean()) for m in marked if len(m)]
    return [share for share in shares if 0 < share < 1]


def _laid_out(values: Ragged, rows: NDArray[np.int64], mask: Tensor) -> Tensor:
    """(batch, words) float64: the values of documents at `rows`, zero where there is no word."""
    table = np.zeros(mask.shape)
    table[mask.cpu().numpy()] = values.take(rows).values
    return torch.from_numpy(table).to(mask.device)
