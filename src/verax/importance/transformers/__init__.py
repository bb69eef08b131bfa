"""Importances for Transformers: derived from attention in layers and heads, and controls."""
