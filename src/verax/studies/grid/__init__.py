"""A study file and its cells: what is to be run, checked before anything is."""
