"""Which way to a model's attention to take."""

from __future__ import annotations

from typing import Any

from verax.external.attention.interface import InterfaceRoute
from verax.external.attention.site import Route


def choose_route(module: Any) -> Route:
    """The first route that gets at the attention of a model."""
    return InterfaceRoute(module)
