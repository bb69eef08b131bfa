"""Wiegreffe & Pinter (2019)."""

from verax.papers.paper import read_paper

PAPER = read_paper(__name__)
