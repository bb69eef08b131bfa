"""Calibration: the shipped thresholds, and a page about the models they were measured on."""
