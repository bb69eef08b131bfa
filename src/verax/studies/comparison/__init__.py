"""Models side by side: what differs, how surely, and which way is better."""

from verax.studies.comparison.compare import compare
from verax.studies.comparison.comparison import Comparison

__all__ = ["Comparison", "compare"]
