"""Serrano & Smith (2019): erased attention weights, and decisions that flip or do not."""
