"""Where a deep model attends: a layer, `3`, or a head of one, `3.2`, both counted from 1."""

from __future__ import annotations

from collections.abc import Iterator

from verax.exams.measures import Classes


def place_id(layer: int, head: int | None = None) -> str:
    """The id of a layer, or of a head of it.

    >>> place_id(3), place_id(3, 2)
    ('3', '3.2')
    """
    return str(layer) if head is None else f"{layer}.{head}"


def layer_and_head(place: str) -> tuple[int, int | None]:
    """The layer and the head that an id names; no head where it names a whole layer.

    >>> layer_and_head("3.2"), layer_and_head("3")
    ((3, 2), (3, None))
    """
    layer, _, head = place.partition(".")
    return int(layer), int(head) if head else None


def place_title(place: str, classes: Classes = ()) -> str:
    """A place in words, as the title of a row.

    >>> place_title("3.2")
    'layer 3, head 2'
    """
    layer, head = layer_and_head(place)
    return f"layer {layer}" if head is None else f"layer {layer}, head {head}"


def layer_places(layers: int) -> Iterator[str]:
    """The id of every layer."""
    return (place_id(layer) for layer in range(1, layers + 1))


def head_places(layers: int, heads: int) -> Iterator[str]:
    """The id of every head, layer by layer."""
    counts = range(1, layers + 1), range(1, heads + 1)
    return (place_id(layer, head) for layer in counts[0] for head in counts[1])
