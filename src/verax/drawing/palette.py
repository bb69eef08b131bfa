"""What colours mean: blue supports a class, the decision or a chosen one; orange is against it.

The terminal, notebooks and pages take both from here, with the words of their legends.
"""

from __future__ import annotations

import math
from collections.abc import Collection

SUPPORTS, OPPOSES = (31, 131, 198), (224, 106, 16)
"""Red, green and blue of the strongest score. The colour-blind tell the two apart, and black text
can be read on both."""
LEGEND = {SUPPORTS: "for the decision", OPPOSES: "against it"}
MAGNITUDE = "more (no sign)"
"""The legend of blue where no score is negative: such an importance takes no side."""
MARKS = {
    "light": {"--for": "#0063a0", "--against": "#a84a00"},
    "dark": {"--for": "#7cc4f5", "--against": "#f5a733"},
}
"""Theme → CSS variable → the same hues for text on that theme's paper."""


def legend(signed: bool, targets: Collection[str] = ()) -> dict[tuple[int, int, int], str]:
    """Colour → what it means.

    Args:
        signed: whether scores tell support from opposition.
        targets: the classes explained, where they were chosen.

    >>> legend(True, ["positive"])[OPPOSES], legend(False)[SUPPORTS]
    ('against positive', 'more (no sign)')
    """
    if not signed:
        return {SUPPORTS: MAGNITUDE}
    if not targets:
        return LEGEND
    name = next(iter(targets)) if len(targets) == 1 else "the class explained"
    return {SUPPORTS: f"for {name}", OPPOSES: f"against {name}"}


def shade(share: float) -> tuple[int, int, int]:
    """The red, green and blue of a score, mixed into white by its size.

    Args:
        share: the score as a share of the strongest, from −1 (against the decision) to 1 (for it).

    >>> shade(1), shade(-1), shade(0)
    ((31, 131, 198), (224, 106, 16), (255, 255, 255))
    """
    part = 0.0 if math.isnan(share) else min(1.0, abs(share))
    red, green, blue = SUPPORTS if share > 0 else OPPOSES
    return tuple(round(255 + part * (end - 255)) for end in (red, green, blue))  # type: ignore[return-value]


def css(colour: tuple[int, int, int]) -> str:
    """A colour as CSS and Rich write it.

    >>> css(SUPPORTS)
    'rgb(31,131,198)'
    """
    return "rgb({},{},{})".format(*colour)
