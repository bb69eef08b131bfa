"""Tutek & Šnajder (2020)."""

from verax.papers.claims import in_order
from verax.papers.paper import Paper
from verax.papers.tutek_snajder_2020 import (
    claims_fragility,
    claims_states,
    figures,
    selection,
    tables,
)
from verax.papers.tutek_snajder_2020.models import CORPORA, DIABETES, PACKAGE

PAPER = Paper(
    name="tutek-snajder-2020",
    title="Staying True to Your Word: (How) Can Attention Become Explanation?",
    authors="Martin Tutek, Jan Šnajder",
    url="https://arxiv.org/abs/2005.09379",
    package=PACKAGE,
    exhibits=(*tables.EXHIBITS, *figures.EXHIBITS, *selection.EXHIBITS),
    claims=in_order(claims_fragility.CLAIMS, claims_states.CLAIMS),
    corpora={**CORPORA, DIABETES: "Diabetes"},
    probed=tables.PROBED,
)
