"""Jain & Wallace (2019)."""

from verax.papers.jain_wallace_2019.claims import CLAIMS
from verax.papers.jain_wallace_2019.exhibits import EXHIBITS, PROBED
from verax.papers.jain_wallace_2019.models import CORPORA, PACKAGE
from verax.papers.paper import Paper

PAPER = Paper(
    name="jain-wallace-2019",
    title="Attention is not Explanation",
    authors="Sarthak Jain and Byron C. Wallace",
    url="https://aclanthology.org/N19-1357",
    package=PACKAGE,
    exhibits=EXHIBITS,
    claims=CLAIMS,
    corpora=CORPORA | {"mimic_anemia": "anemia", "mimic_diabetes": "diab"},
    probed=PROBED,
)
