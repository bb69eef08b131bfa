"""Tutek & Šnajder (2020)."""
