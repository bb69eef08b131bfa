"""Jain & Wallace (2019)."""
