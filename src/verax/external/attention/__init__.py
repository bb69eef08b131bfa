"""Attention of deep models: captured, replaced, differentiated, by one of several routes."""
