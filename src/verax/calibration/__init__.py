"""Exams held against models whose attention is known to be honest, and known to deceive."""
