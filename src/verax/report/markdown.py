"""The little Markdown that papers' notes are written in, as HTML."""

from __future__ import annotations

import re

from markupsafe import Markup

from verax.report.templating import fill, text

_SPANS = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*(.+?)\*\*"), r"<b>\1</b>"),
    (re.compile(r"(?<!\*)\*([^*]+)\*(?!\*)"), r"<em>\1</em>"),
    # an address is text and no link: the page leads nowhere but to itself
    (re.compile(r"\[([^\]]+)\]\(([^)]+)\)"), r"\1 (\2)"),
)


def markdown(source: str) -> Markup:
    """Paragraphs, headings and lists; code, bold and emphasis. Everything else is text.

    >>> str(markdown("- **a** <b>\\n- c"))
    '<ul><li><b>a</b> &lt;b&gt;</li><li>c</li></ul>'
    """
    blocks: list[tuple[str, list[Markup]]] = []
    for block in re.split(r"\n\s*\n", source.strip()):
        lines = re.split(r"\n(?=[-*] )", block) if block.startswith(("- ", "* ")) else [block]
        flat = [" ".join(line.split()) for line in lines]
        if block.startswith(("- ", "* ")):
            blocks.append(("ul", [spans(line[2:]) for line in flat]))
        elif block.startswith("#"):
            blocks.append(("h3", [spans(flat[0].lstrip("# "))]))
        elif block:
            blocks.append(("p", [spans(flat[0])]))
    return fill("paper", "blocks", blocks=blocks)


def spans(line: str) -> Markup:
    """A line with its code, bold and emphasis: the text is escaped before they are looked for."""
    escaped = str(text(line))
    for pattern, shown in _SPANS:
        escaped = pattern.sub(shown, escaped)
    return Markup(escaped)
