"""The single_token exam: how sure of the decision is each attended item by itself?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd
import torch

from verax.exams.item_evidence import ItemEvidence, ItemExam
from verax.exams.reading import check_finite, correct
from verax.exams.registry import register
from verax.exams.single_token import judging, summary
from verax.exams.single_token.measures import TABLES
from verax.exams.single_token.tokens import Tokens, alone
from verax.models.kinds import TRANSFORMER
from verax.models.layers import decisions, probabilities
from verax.options import option


@dataclass(frozen=True)
class SingleTokenOptions:
    curves: int = option(0, "keep what every token of the first so many documents says", minimum=0)


@register
class SingleTokenExam(ItemExam):
    """Per-token prediction probability (Tutek & Šnajder 2020, table 3).

    p_t is the probability of the class decided for, had attention been on item t alone: the head
    applied to h_t. A model whose neutral words are near the decision has spread its evidence over
    their states; one whose neutral words are near chance has not. Gives one table, or two:

    single_token         items, correct, confidence (the model's own in its decision), alone (mean
                         of p_t over the items), agreeing (share of items that alone decide the
                         same), least, most
    single_token_tokens  where `curves` asks for it; not by measure: id, item, p, weight (`Tokens`)
    """

    name = "single_token"
    title = "Single token"
    question = "What would the model decide from each token alone?"
    comparison = "the decision by one token alone; of correct decisions"
    explanation = (
        "All attention is put on one token, each in its turn, and the probability of the "
        "decision is read off. Where neutral words alone are near the decision, the encoder "
        "has spread the evidence over their states (Tutek & Šnajder 2020, who speak of "
        "leakage). Of a Transformer that reads the mean of its states, the state of one word is "
        "read in its place."
    )
    options_class = SingleTokenOptions
    summary_tables = TABLES
    tidy_tables = ("single_token", "single_token_tokens")
    charts = "verax.exams.single_token.charts"
    limit_ranges = judging.LIMIT_RANGES
    candidates = judging.CANDIDATES
    of_items = True
    decisions_table = "single_token"
    variants: ClassVar[Mapping[str, str]] = {
        TRANSFORMER: "verax.exams.single_token.transformer:TransformerSingleToken"
    }
    summarise = staticmethod(summary.summarise)
    document_values = staticmethod(summary.document_values)
    label = staticmethod(judging.label)
    judge = staticmethod(judging.judge)
    _tokens: Tokens | None = None

    def look(self, evidence: ItemEvidence) -> None:
        """Examine some documents."""
        check_finite(evidence.logits)
        decided = decisions(evidence.logits)
        p = alone(evidence.item_logits, decided)
        same = (decisions(evidence.item_logits) == decided.unsqueeze(-1)) & evidence.mask
        items = evidence.mask.sum(-1).double()
        confidence = probabilities(evidence.logits.double()).gather(-1, decided.unsqueeze(-1))
        measures = {
            "items": items,
            "correct": correct(evidence.labels, decided),
            "confidence": confidence.squeeze(-1),
            "alone": (p * evidence.mask).sum(-1) / items,
            "agreeing": same.sum(-1) / items,
            "least": torch.where(evidence.mask, p, 2.0).amin(-1),
            "most": (p * evidence.mask).amax(-1),
        }
        self.builder.add("single_token", evidence.ids, measures)
        if self.options.curves:
            self._tokens = self._tokens or Tokens(self.options.curves)
            self._tokens.add(evidence, p)

    def tables(self) -> dict[str, pd.DataFrame]:
        tables = super().tables()
        if self._tokens is not None:
            tables["single_token_tokens"] = self._tokens.table()
        return tables
