"""`from_transformers`: a Hugging Face classifier as something to examine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import nn

from verax.corpora.tokenizer import AS_WRITTEN, Tokenizer
from verax.device import resolve_device
from verax.errors import VeraxError, foreign_code, nearest
from verax.external.attention.functions import FunctionRoute
from verax.external.attention.routes import choose_route
from verax.external.external_classifier import class_names
from verax.external.folders import load_module
from verax.external.pieces import PieceReader
from verax.external.readout import READOUTS, check_readout, find_readout
from verax.external.self_check import probe_pieces, self_check
from verax.external.transformer import TransformerClassifier

AUTO = "auto"
LONGEST = 512
"""Pieces of a text that are read, where neither the user nor the model says how many."""


def from_transformers(
    model: Any,
    tokenizer: Any = None,
    readout: str = AUTO,
    *,
    head: nn.Module | None = None,
    classes: Sequence[str] | None = None,
    max_length: int | None = None,
    device: str = "auto",
    words: str = AS_WRITTEN,
    separator: str | None = None,
    half: bool = False,
) -> TransformerClassifier:
    """A Hugging Face classifier that `examine`, `explain`, `compare` and reports take.

    Args:
        model: a model for sequence classification, or the folder of one (safetensors); or, with
            `head`, a bare encoder.
        tokenizer: its tokenizer, a fast one; that of the folder, unless given.
        readout: which positions of the last states the classifier reads: first ([CLS]), last or
            mean; auto finds it by asking which positions move the logits.
        head: for a bare encoder, a module from (batch, size) to (batch, classes).
        classes: names of the classes; those of the model's configuration, unless given.
        max_length: the most pieces of a text that are read; the rest is cut off, and counted.
        device: auto, cpu, cuda; a model that is given as an object stays where it is under auto.
        words: how texts are cut into words: as-written or whitespace.
        separator: splits a text into a sentence pair, such as "|" or "[SEP]". It does not count as
            a word and must not be made of blanks, which go when the word after them is left out.
            Pairs longer than `max_length` are refused, not truncated.
        half: compute in half precision, on a GPU; numbers then have three digits.

    Returns:
        The classifier, once it has passed its self-check: attention that is captured changes no
        logit, put back it changes none, padding and the future have no weight, gradients by
        attention are what differences give, and a text's logits hang on it alone.
    """
    if head is not None and not isinstance(head, nn.Module):
        raise VeraxError(
            f"head is a {type(head).__name__}: expected a torch.nn.Module", code="option.wrong-type"
        )
    module, tokenizer, name = load_module(model, tokenizer, head)
    if device != AUTO or isinstance(model, (str, Path)):
        module.to(resolve_device(device))
    if head is not None:
        head.to(next(module.parameters()).device)
    if half:
        if next(module.parameters()).device.type != "cuda":
            raise VeraxError(
                "half precision is for a GPU: leave half out, or give device='cuda'",
                code="option.conflict",
            )
        module.half()
        if head is not None:
            head.half()
    if readout not in (AUTO, *READOUTS):
        raise VeraxError(
            f"readout {readout!r}: {nearest(readout, (AUTO, *READOUTS))}",
            code="option.unknown-value",
        )
    if head is not None and readout == AUTO:
        raise VeraxError(
            "a bare encoder with a head needs readout: first, last or mean", code="option.missing"
        )
    if words not in (AS_WRITTEN, "whitespace"):
        raise VeraxError(
            f"words {words!r}: use {AS_WRITTEN} or whitespace", code="option.unknown-value"
        )
    if separator is not None:
        _check_separator(separator)
    advice = "check that model and tokenizer belong together, or give a function to from_predict"
    with foreign_code(f"{name} cannot be examined", advice):
        _check_pieces(module, tokenizer)
        reader = PieceReader(tokenizer, _longest(module, tokenizer, max_length), separator)
        classifier = TransformerClassifier(
            module,
            reader,
            _classes(module, head, classes),
            route=FunctionRoute(module),
            readout=readout,
            head=head,
            word_tokenizer=Tokenizer(words, lowercase=False),
            record={"name": name},
        )
        pieces = probe_pieces(classifier)
        if readout == AUTO:
            classifier.readout = find_readout(classifier, pieces)
        elif head is None:
            check_readout(classifier, pieces, readout)
        choose_route(module, lambda route: self_check(classifier, route, pieces))
    return classifier


def _check_separator(separator: Any) -> None:
    """Refuse a separator that would go when a word beside it is left out."""
    if not isinstance(separator, str) or not separator or separator != separator.strip():
        raise VeraxError(
            f"separator is {separator!r}: expected signs such as | or [SEP], without blanks at the "
            "ends: deleting the word after a blank deletes the blank, and both texts become one",
            code="option.malformed",
        )


def _check_pieces(module: Any, tokenizer: Any) -> None:
    """Refuse a tokenizer with pieces that the model has no embeddings for."""
    rows = getattr(module.get_input_embeddings(), "num_embeddings", None)
    last = max(tokenizer.get_vocab().values(), default=0)
    if rows is not None and last >= rows:
        raise VeraxError(
            f"the tokenizer numbers its pieces up to {last}, and the model has {rows} embeddings: "
            "give the tokenizer that the model was trained with, or resize the embeddings "
            "(model.resize_token_embeddings(len(tokenizer))) and train them",
            code="model.bad-vocabulary",
        )


def _longest(module: Any, tokenizer: Any, max_length: int | None) -> int:
    limits = [getattr(tokenizer, "model_max_length", None)]
    limits.append(getattr(module.config, "max_position_embeddings", None))
    for name, part in module.named_modules():
        if name.endswith("position_embeddings") and getattr(part, "padding_idx", None) is not None:
            limits.append(part.num_embeddings - part.padding_idx - 1)  # counted from there
    known = min((int(n) for n in limits if n is not None and 0 < n < 10**6), default=LONGEST)
    if max_length is None:
        return min(known, LONGEST)
    if not isinstance(max_length, int) or max_length < 3:
        raise VeraxError(
            f"max_length is {max_length!r}: expected a whole number of at least 3",
            code="option.out-of-range",
        )
    if max_length > known:
        raise VeraxError(
            f"max_length is {max_length}: this model reads {known} pieces at most",
            code="option.out-of-range",
        )
    return max_length


def _classes(module: Any, head: nn.Module | None, classes: Sequence[str] | None) -> list[str]:
    config = module.config
    if head is not None:
        if classes is None:
            raise VeraxError(
                "a head does not name its classes: give classes=[…]", code="model.class-names"
            )
        return class_names(classes)
    kind = getattr(config, "problem_type", None)
    count = int(config.num_labels)
    if kind == "multi_label_classification":
        raise VeraxError(
            "this model gives several labels to a text: Verax examines one of many",
            code="model.not-single-label",
        )
    if kind == "regression" or count < 2:
        raise VeraxError(
            "this model gives one number and no classes: Verax examines classifiers",
            code="model.not-single-label",
        )
    if classes is None:
        numbers = sorted(config.id2label)
        if numbers != list(range(count)):
            raise VeraxError(
                f"id2label in the model's configuration numbers its classes {numbers}, expected 0 "
                f"to {count - 1}: give classes=[…] (--class-names)",
                code="model.class-names",
            )
        return class_names(config.id2label[number] for number in numbers)
    names = class_names(classes)
    if len(names) != count:
        raise VeraxError(
            f"classes has {len(names)} names, and the model gives {count} logits",
            code="model.class-names",
        )
    return names
