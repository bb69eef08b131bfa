"""Reproductions of papers, audits of real models and the calibration report.

Research is a consumer of Verax: it imports public names only, and is run from a clone of the
repository with `python -m research`.
"""
