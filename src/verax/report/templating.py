"""HTML from templates: every text is escaped there; only what a template made is markup."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from verax.exams.judgement.number import Number
from verax.exams.judgement.phrasing import interval, numeral
from verax.exams.titles import exam_title

_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def fill(template: str, macro: str, /, **values: Any) -> Markup:
    """The markup that a macro of `templates/<template>.html` makes of values.

    Strings among the values are escaped; `Markup` that another macro made stays as it is. Control
    characters and halves of surrogate pairs, which no page may hold, become U+FFFD.
    """
    made: str = getattr(_environment().get_template(f"{template}.html").module, macro)(**values)
    return Markup(_UNSEEN.sub("\ufffd", made))


def text(value: Any) -> Markup:
    """A value as text for an element or a quoted attribute.

    >>> str(text('<b title="x">'))
    '&lt;b title=&#34;x&#34;&gt;'
    """
    return escape(_UNSEEN.sub("\ufffd", str(value)))


def fold(title: str, inner: Markup) -> Markup:
    """Markup that is hidden until its title is clicked."""
    return fill("elements", "fold", title=title, inner=inner)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("verax.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"numeral": numeral, "interval": interval, "exam_title": exam_title}
    environment.tests["quantity"] = lambda value: isinstance(value, Number)
    return environment
