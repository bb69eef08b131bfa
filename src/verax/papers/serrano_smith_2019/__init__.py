"""Serrano & Smith (2019): erased attention weights, and decisions that flip or do not."""

from verax.papers.paper import Paper
from verax.papers.serrano_smith_2019 import figures, tables
from verax.papers.serrano_smith_2019.architectures import CORPORA, PACKAGE
from verax.papers.serrano_smith_2019.claims import CLAIMS

PAPER = Paper(
    name="serrano-smith-2019",
    title="Is Attention Interpretable?",
    authors="Sofia Serrano and Noah A. Smith",
    url="https://aclanthology.org/P19-1282/",
    package=PACKAGE,
    exhibits=(*tables.EXHIBITS, *figures.EXHIBITS),
    claims=CLAIMS,
    corpora=CORPORA,
    probed=tables.PROBED,
)
