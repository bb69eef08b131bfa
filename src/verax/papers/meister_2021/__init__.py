"""Meister, Lazov, Augenstein & Cotterell (2021)."""

from verax.papers.paper import read_paper

PAPER = read_paper(__name__)
