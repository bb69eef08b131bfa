"""Serrano & Smith (2019): erased attention weights, and decisions that flip or do not."""

from verax.papers.claims import in_order
from verax.papers.paper import Paper
from verax.papers.serrano_smith_2019 import claims_many, claims_single, figures, tables
from verax.papers.serrano_smith_2019.architectures import CORPORA, PACKAGE

PAPER = Paper(
    name="serrano-smith-2019",
    title="Is Attention Interpretable?",
    authors="Sofia Serrano and Noah A. Smith",
    url="https://aclanthology.org/P19-1282/",
    package=PACKAGE,
    exhibits=(*tables.EXHIBITS, *figures.EXHIBITS),
    claims=in_order(claims_single.CLAIMS, claims_many.CLAIMS),
    corpora=CORPORA,
    probed=tables.PROBED,
)
