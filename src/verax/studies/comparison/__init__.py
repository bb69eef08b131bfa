"""Models side by side: what differs, how surely, and which way is better."""

from verax.studies.comparison.compare import compare
from verax.studies.comparison.comparison import Comparison, load_comparison

__all__ = ["Comparison", "compare", "load_comparison"]
