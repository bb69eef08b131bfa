"""The little Markdown that papers' notes are written in, as HTML."""

from __future__ import annotations

import re

from verax.report.markup import element, text

_SPANS = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*(.+?)\*\*"), r"<b>\1</b>"),
    (re.compile(r"(?<!\*)\*([^*]+)\*(?!\*)"), r"<em>\1</em>"),
    # an address is told, and no link: the page leads nowhere but to itself
    (re.compile(r"\[([^\]]+)\]\(([^)]+)\)"), r"\1 (\2)"),
)


def markdown(given: str) -> str:
    """Paragraphs, headings and lists; code, bold and emphasis. Everything else is text.

    >>> markdown("- **a** <b>\\n- c")
    '<ul><li><b>a</b> &lt;b&gt;</li><li>c</li></ul>'
    """
    made = []
    for block in re.split(r"\n\s*\n", given.strip()):
        lines = block.splitlines()
        if lines and lines[0].startswith(("- ", "* ")):
            items: list[str] = []
            for line in lines:
                if line.startswith(("- ", "* ")):
                    items.append(line[2:])
                else:
                    items[-1] += f" {line.strip()}"
            made.append(element("ul", "".join(element("li", _spans(item)) for item in items)))
        elif block.startswith("#"):
            made.append(element("h3", _spans(block.lstrip("# "))))
        elif block:
            made.append(element("p", _spans(" ".join(line.strip() for line in lines))))
    return "".join(made)


def _spans(line: str) -> str:
    found = text(line)
    for pattern, shown in _SPANS:
        found = pattern.sub(shown, found)
    return found
