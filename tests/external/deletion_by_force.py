"""Smallest sets of words by asking about every set, through what a model says of texts."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import torch

import verax


def subsets(n: int) -> list[tuple[int, ...]]:
    """Every set of the first n numbers, the smallest first."""
    return [one for k in range(n + 1) for one in combinations(range(n), k)]


def decided_by(logits: torch.Tensor) -> torch.Tensor:
    """(sets, classes) logits → classes: by the sign of a single logit, else the largest one's."""
    if logits.shape[1] == 1:
        return (logits[:, 0] > 0).long()
    return logits.argmax(1)


def decided_without(model: Any, words: list[str], operator: str) -> dict[tuple[int, ...], int]:
    """Set of words that are gone → the class decided for, by texts that are written out."""
    sets = subsets(len(words))
    if operator == "attention" and model.kind == "pooled":
        trace = model.trace([words])
        first = int(model.boundaries)
        gone = np.zeros((len(sets), trace.weights.shape[1]), dtype=bool)
        for place, one in enumerate(sets):
            gone[place, [k + first for k in one]] = True
        kept = trace.weights[0].double().masked_fill(torch.from_numpy(gone), 0.0)
        contexts = (kept / kept.sum(-1, keepdim=True)).nan_to_num() @ trace.items[0].double()
        logits = contexts @ model.head.linear.weight.double().T + model.head.linear.bias.double()
        return dict(zip(sets, decided_by(logits).tolist(), strict=True))
    if model.kind != "pooled":
        logits = [logits_of_bert(model, words, one, operator) for one in sets]
        return dict(zip(sets, decided_by(torch.cat(logits)).tolist(), strict=True))
    if operator == "mask":
        texts = [["unheard-of" if k in one else w for k, w in enumerate(words)] for one in sets]
    else:
        texts = [[w for k, w in enumerate(words) if k not in one] for one in sets]
    labels = model.predict([text for text in texts if text])["label"].tolist()
    classes = [model.classes.index(label) for label in labels]
    if not texts[-1]:
        classes.append(int(decided_by(model.head.bias.detach()[None])))
    return dict(zip(sets, classes, strict=True))


@torch.no_grad()
def logits_of_bert(
    model: Any, words: list[str], gone: tuple[int, ...], operator: str
) -> torch.Tensor:
    """(1, classes): what a Transformer says without some words, by its library's tokenizer."""
    tokenizer = model.reader.tokenizer
    kept = [w for k, w in enumerate(words) if operator != "delete" or k not in gone]
    pieces = tokenizer(kept, is_split_into_words=True, return_tensors="pt")
    if operator != "delete":
        changed = torch.tensor([[word in gone for word in pieces.word_ids()]])
        if operator == "mask":
            pieces["input_ids"][changed] = tokenizer.mask_token_id
        else:
            pieces["attention_mask"][changed] = 0
    return model.module(**pieces).logits


def smallest_by_force(decided: dict[tuple[int, ...], int], n: int) -> tuple[int, int]:
    """Words of the smallest set that changes the decision, n + 1 without one; and that keeps it."""
    whole = decided[()]
    changing = [len(one) for one, now in decided.items() if now != whole]
    keeping = [n - len(one) for one, now in decided.items() if now == whole]
    return min(changing, default=n + 1), min(keeping)


def shaken(model: Any, seed: int) -> Any:
    """A model of ours whose decisions hang on single words, and not on its bias alone."""
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model.embedding.weight[1:].normal_()
        model.head.linear.weight.normal_(std=3)
        model.head.linear.bias.normal_(std=0.3)
    return model


def drawn_texts(number: int, longest: int, words: list[str]) -> list[str]:
    """Different texts of two to seven words, and one that is longer."""
    random = np.random.default_rng(0)
    lengths = [*random.integers(2, 8, number - 1), longest]
    return [" ".join(words[k] for k in random.integers(0, len(words), n)) for n in lengths]


def corpus_of(model: Any, texts: list[str]) -> verax.Corpus:
    """Texts as a corpus that the model reads; single words, set aside, fill its splits."""
    texts = [*texts, *(f"w{k}" for k in range(30))]
    labels = [model.classes[k % len(model.classes)] for k in range(len(texts))]
    how = model.word_tokenizer
    read: Any = [text.split() for text in texts] if how.kind == "tokens" else texts
    return verax.load_corpus((read, labels), tokenizer=how.kind, lowercase=how.lowercase)
