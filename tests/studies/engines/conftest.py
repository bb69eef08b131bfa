from __future__ import annotations

import pytest

import verax


@pytest.fixture(scope="session")
def small() -> verax.Corpus:
    return verax.load_corpus("planted", documents=120)
