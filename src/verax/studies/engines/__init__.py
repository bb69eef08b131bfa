"""What runs cells side by side: processes of this machine, or a Ray cluster.

`engine.py` says what an engine is, `performing.py` runs one cell, wherever that is.
"""
