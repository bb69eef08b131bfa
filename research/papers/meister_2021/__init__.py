"""Meister, Lazov, Augenstein & Cotterell (2021)."""
