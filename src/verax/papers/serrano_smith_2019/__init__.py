"""Serrano & Smith (2019): erased attention weights, and decisions that flip or do not."""

from verax.papers.paper import read_paper

PAPER = read_paper(__name__)
