"""The docstring of `verax.functional` names all its functions, and each has its own."""

from __future__ import annotations

from verax import functional


def test_its_docstring_has_a_line_for_each() -> None:
    text = functional.__doc__ or ""
    for name in functional.__all__:
        assert name in text.partition(">>>")[0], name
        assert getattr(functional, name).__doc__
