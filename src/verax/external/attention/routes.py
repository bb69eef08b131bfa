"""Which way to a model's attention to take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from torch import Tensor

from verax.errors import VeraxError
from verax.external.attention.functions import FunctionRoute
from verax.external.attention.interface import InterfaceRoute, dispatches
from verax.external.attention.names import NameRoute
from verax.external.attention.site import Handler, Route, Site


class NoAttentionError(VeraxError):
    """A pass showed no attention."""

    code = "model.no-attention"


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


@contextmanager
def counted(route: Route, handler: Handler, layers: int, skipped: int = 0) -> Iterator[None]:
    """Within this, a pass shows its attention to a handler, and every layer must show its.

    Args:
        route: the way to it.
        handler: sees each layer, numbered as in a full pass.
        layers: how many a full pass has; 0 where that is not known yet.
        skipped: how many of the first do not run.
    """
    calls = skipped

    def handle(site: Site) -> Tensor | None:
        nonlocal calls
        number, calls = calls, calls + 1
        return handler(replace(site, number=number) if skipped else site)

    with route.opened(handle):
        yield
    if layers and calls != layers:
        raise VeraxError(
            f"{calls} of {layers} layers showed their attention: this model attends in another way "
            "to such texts; give a smaller max_length",
            code="model.attention-mismatch",
        )
