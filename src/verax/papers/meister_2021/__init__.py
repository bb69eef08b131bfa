"""Meister, Lazov, Augenstein & Cotterell (2021)."""

from verax.papers.meister_2021 import figures, tables
from verax.papers.meister_2021.claims import CLAIMS
from verax.papers.meister_2021.models import CORPORA, PACKAGE
from verax.papers.paper import Paper

PAPER = Paper(
    name="meister-2021",
    title="Is Sparse Attention more Interpretable?",
    authors="Clara Meister, Stefan Lazov, Isabelle Augenstein, Ryan Cotterell",
    url="https://aclanthology.org/2021.acl-short.17",
    package=PACKAGE,
    exhibits=(*tables.EXHIBITS[:2], *figures.EXHIBITS, *tables.EXHIBITS[2:]),
    claims=CLAIMS,
    corpora=CORPORA,
    probed=tables.PROBED,
)
