"""Wiegreffe & Pinter (2019)."""

from verax.papers.paper import Paper
from verax.papers.wiegreffe_pinter_2019.claims import CLAIMS
from verax.papers.wiegreffe_pinter_2019.exhibits import EXHIBITS
from verax.papers.wiegreffe_pinter_2019.models import CORPORA, PACKAGE

PAPER = Paper(
    name="wiegreffe-pinter-2019",
    title="Attention is not not Explanation",
    authors="Sarah Wiegreffe and Yuval Pinter",
    url="https://aclanthology.org/D19-1002",
    package=PACKAGE,
    exhibits=EXHIBITS,
    claims=CLAIMS,
    corpora=CORPORA | {"mimic_anemia": "Anemia", "mimic_diabetes": "Diabetes"},
)
