"""Verax tells whether a text classifier's attention explains its decisions.

>>> import verax
>>> corpus = verax.load_corpus("planted", documents=120)
>>> model = verax.train(corpus, encoder="conv", projection="sparsemax", epochs=1)
>>> trace = model.trace(["w1 good0_3 w2 ."])
>>> bool(trace.weights.sum().sub(1).abs() < 1e-6)
True
"""

from __future__ import annotations

import os
from importlib import import_module

from verax.version import __version__ as __version__

TYPE_CHECKING = False  # type checkers take it for True; to import typing takes as long as all else

if not os.environ.keys() & {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"}:
    # Threads of OpenMP spin while they wait: beside busy processes, training took five to ten times
    # as long as with threads that sleep. Read when torch loads; processes inherit it.
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"

if TYPE_CHECKING:
    from typing import Any

    from verax.api import *  # noqa: F403
    from verax.api import __all__ as __all__
else:  # or else any name would pass for one of verax's

    def __getattr__(name: str) -> Any:
        """Import on first use, so that a command has begun before torch is there."""
        if name == "__all__" or not name.startswith("_"):
            api = import_module("verax.api")
            # a room, such as verax.statistics, is there once it is imported
            found = vars(api) if name in (*api.__all__, "__all__") else globals()
            if name in found:
                return globals().setdefault(name, found[name])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *import_module("verax.api").__all__})
