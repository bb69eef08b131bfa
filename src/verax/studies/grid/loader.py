"""Functions of one's own that load a corpus of a study.

corpora:
  reviews: {loader: "my_corpora.py:shortest@1", most: 200, min_words: 5}
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from verax.corpora.corpus import Corpus
from verax.corpora.options import CorpusOptions
from verax.errors import VeraxError, foreign_code
from verax.options import names
from verax.plugin_files import function_identity, resolve

LOADER = "loader"
"""The option of a corpus that names the function, and the name under which its config has it."""


@dataclass(frozen=True)
class Loader:
    """A function that loads a corpus in place of `verax.load_corpus`.

    Attributes:
        function: it takes the name of the corpus and the options given for it.
        identity: its name and version, `module:function@version`, as they enter keys of cells.
    """

    function: Callable[..., Any]
    identity: str

    @classmethod
    def named(cls, name: str) -> Loader:
        """Import the function of a name, `module:function` or `module:function@version`.

        The version is the function's attribute `version`, 1 by default (see `resolve`).
        """
        path, at, wanted = name.partition("@")
        function, version = resolve(path)
        if at and wanted != str(version):
            raise VeraxError(
                f"{path} has version {version}, not {wanted}: give that version, or the code of "
                f"version {wanted}",
                code="option.conflict",
            )
        return cls(function, f"{function_identity(path)['function']}@{version}")

    @property
    def options(self) -> list[str]:
        """The options that may be given for a corpus that it loads."""
        first, *others = inspect.signature(self.function).parameters.values()
        own = [p.name for p in others if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        if any(p.kind is p.VAR_KEYWORD for p in (first, *others)):
            own += names(CorpusOptions)
        return [name for name in own if name not in ("corpus", LOADER)]

    def load(self, name: str, options: Mapping[str, Any]) -> Corpus:
        """Load a corpus; its config has the options given, and the loader in place of others."""
        with foreign_code(f"{self.identity} failed on {name}", code="plugin.invalid"):
            corpus = self.function(name, **options)
        if not isinstance(corpus, Corpus):
            raise VeraxError(
                f"{self.identity} returned {type(corpus).__name__}: expected a corpus, as "
                "verax.load_corpus returns it",
                code="plugin.invalid",
            )
        config = {"corpus": name, **options, LOADER: self.identity}
        return replace(corpus, name=name, config=config)
