"""Out of memory, a cell is run once more with half the tokens at once: all of it, and only once."""

from __future__ import annotations

from typing import Any

import pytest
from made_up_cells import cell
from running import failed, finished

import verax
from support.internals import perform
from verax.corpora.batching import MAX_TOKENS
from verax.studies import OUT_OF_MEMORY, Job, Progressed
from verax.studies.engines import performing

Asked = list[tuple[str, int]]


def short_of_memory(monkeypatch: pytest.MonkeyPatch, where: str, most: int) -> Asked:
    """Training or examining fails above `most` tokens; returns what both are asked for."""
    asked: Asked = []

    def limit(name: str) -> None:
        real: Any = getattr(performing, name)

        def limited(*given: Any, **options: Any) -> Any:
            asked.append((name, options["max_tokens"]))
            if name == where and options["max_tokens"] > most:
                raise MemoryError
            return real(*given, **options)

        monkeypatch.setattr(performing, name, limited)

    limit("train")
    limit("examine")
    return asked


@pytest.mark.slow
@pytest.mark.parametrize("where", ["train", "examine"])
def test_all_of_the_cell_is_run_again_with_half(
    where: str, small: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = short_of_memory(monkeypatch, where, 400)
    told: list[Progressed] = []
    outcome = perform(Job(cell(small), max_tokens=801), small, device="cpu", report=told.append)
    facts = finished(outcome).facts
    assert (facts["halved"], facts["max_tokens"]) == (True, 400)
    first = [("train", 801), ("examine", 801)][: 1 + (where == "examine")]
    assert asked == [*first, ("train", 400), ("examine", 400)]
    assert "again, max_tokens 400" in [progressed.what for progressed in told]


@pytest.mark.slow
def test_it_is_halved_once(small: verax.Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = short_of_memory(monkeypatch, "train", 0)
    outcome = failed(perform(Job(cell(small)), small, device="cpu"))
    assert asked == [("train", MAX_TOKENS), ("train", MAX_TOKENS // 2)]
    assert outcome.reason == OUT_OF_MEMORY
    assert outcome.error == f"MemoryError (and so with max_tokens {MAX_TOKENS // 2})"


@pytest.mark.slow
def test_one_token_has_no_half(small: verax.Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = short_of_memory(monkeypatch, "train", 0)
    outcome = failed(perform(Job(cell(small), max_tokens=1), small, device="cpu"))
    assert asked == [("train", 1)]
    assert outcome.error == "MemoryError"
