"""Which way to a model's attention to take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verax.errors import VeraxError
from verax.external.attention.functions import FunctionRoute
from verax.external.attention.interface import InterfaceRoute, dispatches
from verax.external.attention.names import NameRoute
from verax.external.attention.site import Route


class NoAttentionError(VeraxError):
    """A pass showed no attention."""


def routes_of(module: Any) -> list[Route]:
    """The routes that a module may be open to, the best first."""
    routes: list[Route] = [FunctionRoute(module), NameRoute(module)]
    return [InterfaceRoute(module), *routes] if dispatches(module) else routes


def choose_route(module: Any, check: Callable[[Route], None]) -> Route:
    """The first route that gets at the attention of a module, and passes a check.

    Args:
        module: the model.
        check: raises `NoAttentionError` where a route shows nothing, another `VeraxError` where
            what it shows is wrong.

    Raises:
        VeraxError: of the first route that showed something, where none passes.
    """
    failures: list[VeraxError] = []
    for route in routes_of(module):
        try:
            check(route)
        except VeraxError as error:
            failures.append(error)
        else:
            return route
    wrong = [error for error in failures if not isinstance(error, NoAttentionError)]
    raise [*wrong, *failures][0]
