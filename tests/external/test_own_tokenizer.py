"""A module read by its own tokenizer is the module that is deployed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import verax
from support.errors import raises

TEXTS = ["the film was good", "not bad, and the plot was far better", "good", "it was dull !"]
LABELS = ["pos", "pos", "pos", "neg"]
EXAMS = ["replacement", "single_token", "erasure", "agreement"]


class Small(nn.Module):
    """A recurrent encoder over packed sequences, one attention, a linear head."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(rows, 6)
        self.rnn = nn.LSTM(6, 4, batch_first=True, bidirectional=True)
        self.score, self.out = nn.Linear(8, 1), nn.Linear(8, 2)

    def encode(self, vectors: Tensor, mask: Tensor) -> Tensor:
        lengths = mask.sum(-1).clamp(min=1).cpu()
        packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        states, _ = self.rnn(packed)
        width = mask.shape[1]
        return pad_packed_sequence(states, batch_first=True, total_length=width)[0]

    def attend(self, states: Tensor, mask: Tensor) -> Tensor:
        return self.score(states).squeeze(-1).masked_fill(~mask, -torch.inf).softmax(-1)

    def decide(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """The deployed model: it takes lengths, and attends all that it reads."""
        mask = torch.arange(rows.shape[1]) < lengths.unsqueeze(-1)
        states = self.encode(self.vectors(rows), mask)
        return self.out((self.attend(states, mask).unsqueeze(-1) * states).sum(1))


def small(rows: int) -> Small:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        module = Small(rows)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.mul_(2)
    return module


def as_model(module: Small, **how: Any) -> Any:
    settings: dict[str, Any] = {
        "classes": ["neg", "pos"],
        "embed": module.vectors,
        "encode": module.encode,
        "attend": module.attend,
        "head": module.out,
        "logits": lambda rows, mask: module.decide(rows, mask.sum(-1)),
    }
    return verax.from_module(module, **{**settings, **how})


WORDS = ["<pad>", "<unk>", *sorted({word for text in TEXTS for word in text.split()})]


def by_blanks(text: str) -> tuple[list[int], list[tuple[int, int]]]:
    found = list(re.finditer(r"\S+", text))
    ids = [WORDS.index(one[0]) if one[0] in WORDS else 1 for one in found]
    return ids, [one.span() for one in found]


def test_a_function_gives_what_the_tokenizer_of_that_name_gives() -> None:
    module = small(len(WORDS))
    how = {"vocabulary": WORDS, "unknown": "<unk>"}
    named = as_model(module, tokenizer="whitespace", lowercase=False, **how)
    own = as_model(module, tokenizer=by_blanks, **how)
    texts = [*TEXTS, "a film never seen"]
    assert own.trace(texts).words == named.trace(texts).words
    assert torch.equal(own.trace(texts).tokens, named.trace(texts).tokens)
    assert own.unknown_words(texts) == named.unknown_words(texts) > 0
    verdicts = [
        verax.examine(model, (TEXTS, LABELS), EXAMS, permutations=2, progress=False)
        for model in (own, named)
    ]
    for name, table in verdicts[1].tables.items():
        pd.testing.assert_frame_equal(verdicts[0].tables[name], table, check_exact=True)
    for model in (own, named):
        assert model.explain(["good film"], "leave-one-out").word.tolist() == ["good", "film"]


def test_the_first_tokens_are_read_where_max_length_bounds_them() -> None:
    module = small(len(WORDS))
    own = as_model(module, tokenizer=by_blanks, vocabulary=WORDS, unknown="<unk>", max_length=2)
    assert torch.equal(own.logits(["the film was good"]), own.logits(["the film"]))
    assert own.trace(["the film was good"]).words == [["the", "film"]]


def deployed(module: Small, tokenizer: Any, text: str) -> Tensor:
    ids = torch.tensor([tokenizer(text)["input_ids"]])
    with torch.no_grad():
        return module.decide(ids, torch.tensor([ids.shape[1]]))


def test_a_hugging_face_tokenizer_is_read_as_it_is_deployed(tokenizer: Any) -> None:
    module = small(len(tokenizer))
    own = as_model(module, tokenizer=tokenizer)
    for text in TEXTS:
        assert torch.allclose(own.logits([text]), deployed(module, tokenizer, text), atol=1e-5)
    names = tokenizer.convert_ids_to_tokens(tokenizer(TEXTS[0])["input_ids"])
    special = set(tokenizer.all_special_tokens) - {tokenizer.unk_token}
    words = own.trace(TEXTS[:1]).words[0]
    assert len(words) == len(names)
    # special tokens are attended, so they are among the words, under their names
    assert [word for word in words if word in special] == [n for n in names if n in special]
    verdict = verax.examine(own, (TEXTS, LABELS), EXAMS, permutations=2, progress=False)
    assert verdict.manifest["documents"] == len(TEXTS)
    short = as_model(module, tokenizer=tokenizer, max_length=4)
    assert torch.allclose(
        short.logits(TEXTS[:1]),
        deployed(module, lambda text: tokenizer(text, truncation=True, max_length=4), TEXTS[0]),
        atol=1e-5,
    )


class Inner(Small):
    """Attends to what is between the first and the last token."""

    def decide(self, rows: Tensor, lengths: Tensor) -> Tensor:
        places, ends = torch.arange(rows.shape[1]), lengths.unsqueeze(-1)
        states = self.encode(self.vectors(rows), places < ends)
        inside = (places > 0) & (places < ends - 1)
        return self.out((self.attend(states, inside).unsqueeze(-1) * states).sum(1))


def test_special_tokens_at_the_ends_need_not_be_attended(tokenizer: Any) -> None:
    module = small(len(tokenizer))
    module.__class__ = Inner
    first, *_, last = tokenizer(TEXTS[0])["input_ids"]
    own = as_model(module, tokenizer=tokenizer, start=first, end=last)
    for text in TEXTS:
        assert torch.allclose(own.logits([text]), deployed(module, tokenizer, text), atol=1e-5)
    named = set(tokenizer.all_special_tokens) - {tokenizer.unk_token}
    assert not named & set(own.trace(TEXTS[:1]).words[0])
    with raises("model.wrong-output", first):
        as_model(module, tokenizer=by_blanks, vocabulary=WORDS, start=first, end=last)


def shifted(text: str) -> Any:
    ids, spans = by_blanks(text)
    return ids, [(start, stop + len(text)) for start, stop in spans]


class Slow:
    is_fast = False

    def get_vocab(self) -> dict[str, int]:
        return {"a": 0}

    def __call__(self, text: str) -> None: ...


@pytest.mark.parametrize(
    ("tokenizer", "code", "named"),
    [
        (str.split, "model.wrong-output", "spans"),
        (lambda text: by_blanks(text)[0], "model.wrong-output", "spans"),
        (lambda text: (by_blanks(text)[0], [(0, 1)]), "model.wrong-output", "spans"),
        (shifted, "model.wrong-output", "spans"),
        (lambda text: ([10**6], [(0, 1)]), "model.bad-vocabulary", "1000000"),
        (lambda text: 1 / 0, "model.wrong-output", "ZeroDivisionError"),
        (Slow(), "model.needs-tokenizer", "Slow"),
        ("pieces", "option.unknown-value", "pieces"),
        (3, "option.unknown-value", "3"),
    ],
)
def test_other_tokenizers_are_refused_in_one_line(
    tokenizer: Callable[[str], Any], code: str, named: str
) -> None:
    with raises(code, named) as error:
        as_model(small(len(WORDS)), tokenizer=tokenizer, vocabulary=WORDS, unknown="<unk>")
    assert "\n" not in str(error.value)


def test_spans_may_begin_with_the_blank_before_a_word() -> None:
    def with_blanks(text: str) -> Any:
        ids, spans = by_blanks(text)
        return np.array(ids), np.array([(max(start - 1, 0), stop) for start, stop in spans])

    own = as_model(small(len(WORDS)), tokenizer=with_blanks, vocabulary=WORDS, unknown="<unk>")
    assert own.trace(["the film was good"]).words == [["the", "film", "was", "good"]]
