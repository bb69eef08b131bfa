"""One HTML file that needs nothing else: its look, its scripts and its words inside it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from verax.drawing.rendering import VARIABLES
from verax.errors import VeraxError
from verax.files import write_text
from verax.report.markup import element, named, text
from verax.version import __version__

ASSETS = "assets"
STAND = ("erasing", "markup", "words", "reading", "stand")
"""The stand's scripts, each of which uses names of those before it."""


@dataclass(frozen=True)
class Part:
    """A part of a page that its table of contents names.

    id     its address in the page
    title  as text
    inner  its markup, without the heading
    exam   the exam it is of, if it is of one
    short  its name in the table of contents, where the title is too long for that
    """

    id: str
    title: str
    inner: str
    exam: str | None = None
    short: str = ""

    def markup(self) -> str:
        heading = element("h2", text(self.title), {"id": f"{self.id}-title"})
        given = {"id": self.id, "data-exam": self.exam, "aria-labelledby": f"{self.id}-title"}
        return element("section", heading + self.inner, given)


def page(title: str, about: str, parts: Sequence[Part], stand: bool = False) -> str:
    """The whole page.

    title  as text; names the page
    about  as markup: a line below the title
    stand  whether to bring the stand's look and script

    Nothing is fetched and nothing but the page's own scripts runs, whatever texts are shown: its
    content policy allows no address, and scripts by their hashes alone.
    """
    looks = ["page.css", "stand.css"] if stand else ["page.css"]
    style = "\n".join([_chart_colours(), *(asset(name) for name in looks)])
    scripts = [asset("page.js"), stand_script()] if stand else [asset("page.js")]
    policy = "; ".join(
        [
            "default-src 'none'",
            "style-src 'unsafe-inline'",
            f"script-src {' '.join(_hash(script) for script in scripts)}",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    contents = "".join(
        element("li", element("a", text(part.short or part.title), {"href": f"#{part.id}"}))
        for part in parts
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{text(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="verax {text(__version__)}">
<title>{text(title)}</title>
<link rel="icon" href="data:,">
<style>
{style}
</style>
</head>
<body>
<a class="skip" href="#main">Skip to the verdict</a>
<header class="top">
<div><p class="brand">Verax</p><h1>{named(title)}</h1><p class="about">{about}</p></div>
<button type="button" id="theme" hidden>Dark</button>
</header>
<div class="columns">
<nav aria-label="Contents"><details open><summary>Contents</summary><ol>{contents}</ol></details>
</nav>
<main id="main" tabindex="-1">
{"".join(part.markup() for part in parts)}
</main>
</div>
<footer><p>Made by Verax {text(__version__)}. This file is complete: it loads nothing.</p></footer>
{"".join(f"<script>{script}</script>" for script in scripts)}
</body>
</html>
"""


def write(path: str | Path, made: str) -> None:
    """Write a page; folders on the way are made."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_text(target, made)
    except OSError as error:
        raise VeraxError(
            f"cannot write {path}: {error.strerror}; name a file in a folder you may write to"
        ) from error


def stand_script() -> str:
    """The stand's scripts as one, in a scope of its own: it leaves no name behind."""
    inner = "\n".join(asset(f"{name}.js") for name in STAND)
    return f'"use strict";\n(() => {{\n{inner}}})();\n'


def asset(name: str) -> str:
    """A file of the page's own look or behaviour."""
    found = (resources.files("verax.report") / ASSETS / name).read_text(encoding="utf-8")
    ending = "</style" if name.endswith(".css") else "</script"
    assert ending not in found.lower(), f"{name} would end its own element"
    return found


def _chart_colours() -> str:
    """Charts' colours by theme: what the system prefers, unless the reader has chosen."""
    light, dark = (
        "".join(f"{name}:{colour};" for name, colour in VARIABLES[theme].items())
        for theme in ("light", "dark")
    )
    return (
        f":root{{{light}}}\n:root[data-theme=dark]{{{dark}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}"
    )


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
