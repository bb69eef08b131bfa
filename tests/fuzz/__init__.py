"""Fuzzers: seeded inputs of every class that a user, or someone else's file, can give.

    samples.py    one of everything that Verax saves, to be spoilt
    spoiling.py   ways to spoil JSON, tables and bytes, each with what may differ afterwards
    classes/      a maker of cases for each class of inputs
    harness.py    runs cases in processes of limited time and memory, and sorts what comes back

`make fuzz` runs 10,000 inputs, `test_fuzz.py` a few hundred of the same.
"""
