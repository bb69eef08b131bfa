"""A browser for the session, and pages that fail a test which makes them fetch or complain."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import NoBrowserError, find_chromium, install_chromium, missing


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Chromium, started once."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        missing("playwright is not installed: pip install 'verax[dev]'")
    try:
        path = find_chromium() or install_chromium()
    except NoBrowserError as error:
        missing(f"no Chromium, and none could be installed: {error}")
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(
                executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
            )
        except Error as error:  # as where Playwright's own misses libraries of the system
            missing(f"Chromium does not start: {error}")
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens HTML, or a file of it, from disk; afterwards nothing may have been fetched or said."""
    with contextlib.ExitStack() as opened:
        complaints: list[str] = []

        def show(html: str | Path, **context: Any) -> Any:
            if isinstance(html, Path):
                path = html
            else:
                path = tmp_path / "page.html"
                path.write_text(html, encoding="utf-8", errors="surrogatepass")
            view = chromium.new_context(**context)
            opened.callback(view.close)
            page = view.new_page()
            page.set_default_timeout(30_000)
            own = path.as_uri()

            def asked(request: Any) -> None:
                if request.url.split("#")[0] != own and not request.url.startswith(
                    ("data:", "blob:")
                ):
                    complaints.append(f"fetched {request.url[:200]}")

            def said(message: Any) -> None:
                if message.type in ("error", "warning"):
                    complaints.append(f"console {message.type}: {message.text[:500]}")

            page.on("request", asked)
            page.on("console", said)
            page.on("pageerror", lambda error: complaints.append(f"uncaught: {error}"))
            page.on("dialog", lambda dialog: (complaints.append("dialog"), dialog.dismiss()))
            page.goto(own)
            # the document explorer unpacks its numbers first
            page.wait_for_selector("#explorer-root[aria-busy]", state="detached")
            return page

        yield show
        assert complaints == []
