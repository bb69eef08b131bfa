"""Meister, Lazov, Augenstein & Cotterell (2021)."""

from verax.papers.claims import in_order
from verax.papers.meister_2021 import adversaries, agreement, entropy
from verax.papers.meister_2021.exhibits import EXHIBITS, PROBED
from verax.papers.meister_2021.models import CORPORA, PACKAGE
from verax.papers.paper import Paper

PAPER = Paper(
    name="meister-2021",
    title="Is Sparse Attention more Interpretable?",
    authors="Clara Meister, Stefan Lazov, Isabelle Augenstein, Ryan Cotterell",
    url="https://aclanthology.org/2021.acl-short.17",
    package=PACKAGE,
    exhibits=EXHIBITS,
    claims=in_order(adversaries.CLAIMS, agreement.CLAIMS, entropy.CLAIMS),
    corpora=CORPORA,
    probed=PROBED,
)
