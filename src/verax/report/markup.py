"""Text into HTML, so that nothing in it is ever taken for markup."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def text(value: Any) -> str:
    """Text of anyone's for an element or a quoted attribute.

    Control characters and halves of surrogate pairs, which no page may hold, become U+FFFD.

    >>> text('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(_UNSEEN.sub("\ufffd", str(value)), quote=True)


def named(value: Any) -> str:
    """A name of the user's, kept from turning round the text beside it where it runs leftwards."""
    return f"<bdi>{text(value)}</bdi>"


def element(name: str, inner: str = "", attributes: Mapping[str, Any] | None = None) -> str:
    """An element around markup that is safe already; attributes are escaped here.

    >>> element("a", "x", {"href": "#b", "hidden": True, "title": None})
    '<a href="#b" hidden>x</a>'
    """
    given = ""
    for key, value in (attributes or {}).items():
        if value is True:
            given += f" {key}"
        elif value is not None and value is not False:
            given += f' {key}="{text(value)}"'
    return f"<{name}{given}>{inner}</{name}>"
