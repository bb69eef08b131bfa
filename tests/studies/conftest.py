"""Lets tests in folders below import what stands beside this file."""
