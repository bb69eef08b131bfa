"""One HTML file that needs nothing else: its style, its scripts and its words are inside it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from markupsafe import Markup

from verax.drawing.palette import MARKS, OPPOSES, SUPPORTS, css
from verax.drawing.rendering import VARIABLES
from verax.errors import WriteError
from verax.files import write_text
from verax.report.templating import fill
from verax.version import __version__

EXPLORER = ("erasing", "markup", "words", "reading", "explorer")
"""The document explorer's scripts, each of which uses names of those before it."""
SCORED = ("markup", "scored")
"""The same of documents whose words are coloured by scores."""


@dataclass(frozen=True)
class Part:
    """A part of a page that its table of contents names.

    Attributes:
        id: its address in the page.
        title: its heading.
        inner: its markup, without the heading.
        exam: the exam it is of, if it is of one.
        short: its name in the table of contents, where the title is too long for that.
    """

    id: str
    title: str
    inner: Markup
    exam: str | None = None
    short: str = ""


def page(
    title: str, about: str, parts: Sequence[Part], explorer: bool = False, scored: bool = False
) -> str:
    """The HTML of a whole page.

    Nothing is fetched and nothing but the page's own scripts runs, whatever texts are shown: its
    content policy allows no address, and scripts by their hashes alone.

    Args:
        title: names the page.
        about: a line below the title.
        parts: in their order on the page.
        explorer: whether the page brings the document explorer's style and script.
        scored: whether it brings those of documents with scores of words.
    """
    styles, scripts = ["page.css"], [asset("page.js")]
    if explorer:
        styles += ["marks.css", "explorer.css"]
        scripts.append(explorer_script())
    if scored:
        styles += [*([] if explorer else ["marks.css"]), "scored.css"]
        scripts.append(_script(SCORED))
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src {' '.join(map(_hash, scripts))}; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )
    html = fill(
        "page",
        "page",
        title=title,
        about=about,
        parts=parts,
        style=Markup("\n".join([colours(), *map(asset, styles)])),
        scripts=[Markup(script) for script in scripts],
        policy=policy,
        version=__version__,
    )
    return str(html)


def write(path: str | Path, html: str) -> None:
    """Write a page, all at once; missing folders are made."""
    try:
        write_text(path, html)
    except WriteError as error:
        raise WriteError(f"{error}; name a file in a folder you may write to") from error


def explorer_script() -> str:
    """The document explorer's scripts as one."""
    return _script(EXPLORER)


def _script(names: Sequence[str]) -> str:
    """Scripts as one, in a scope of its own: it leaves no name behind."""
    inner = "\n".join(asset(f"{name}.js") for name in names)
    return f'"use strict";\n(() => {{\n{inner}}})();\n'


def asset(name: str) -> str:
    """The text of one of the page's own style sheets or scripts."""
    source = (resources.files("verax.report") / "assets" / name).read_text(encoding="utf-8")
    ending = "</style" if name.endswith(".css") else "</script"
    assert ending not in source.lower(), f"{name} would end its own element"
    return source


def colours() -> str:
    """CSS variables of the colours, by theme: the system's, unless the reader has chosen."""
    light, dark = (
        "".join(f"{name}:{colour};" for name, colour in (VARIABLES[theme] | MARKS[theme]).items())
        for theme in ("light", "dark")
    )
    heat = f"--supports:{css(SUPPORTS)};--opposes:{css(OPPOSES)};"
    return (
        f":root{{{heat}{light}}}\n:root[data-theme=dark]{{{dark}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}"
    )


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
