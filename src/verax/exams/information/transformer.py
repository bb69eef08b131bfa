"""The information exam of Transformers: what is left of a word in its state, layer by layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import torch

from verax.exams.information.exam import InformationExam, categories
from verax.exams.information.occurrences import WORDS_BY
from verax.exams.information.words_of_pieces import LayerStates, pieces_of, word_types
from verax.exams.word_states import word_states
from verax.external.pieces import ReadPieces
from verax.models.base import TextClassifier
from verax.models.transformers.classifier import TransformerClassifier

HELD = 2**31
"""Bytes of states that are kept, of all layers together."""


class TransformerInformation(InformationExam):
    """The same for the embeddings and every layer of a Transformer.

    A word is a sequence of pieces, its state the mean of their states; e is the mean of their
    vectors. Layer 0 is what the first layer reads, positions and all. Gives the same tables for the
    last layer, and one more:

    information_layers  by `words` and `layer`: the measures of `information`, and low and high,
                        the ends of its interval over documents, clusters being what they are

    States of all layers are kept of as many occurrences as fit into two gigabytes.
    """

    @classmethod
    def why_not(cls, model: TextClassifier) -> str:
        """Why words have no state at each depth: an encoder and a decoder both have some."""
        assert isinstance(model, TransformerClassifier)
        if getattr(model.module.config, "is_encoder_decoder", False):
            return "a word has states in the encoder and others in the decoder, of no one depth"
        return ""

    def begin(self, model: Any, documents: Any) -> None:
        o = self.options
        kinds = WORDS_BY if o.words_by == "both" else (o.words_by,)
        split = word_types(documents)
        embed = model.module.get_input_embeddings()
        size = int(getattr(model.module.config, "hidden_size", None) or embed.embedding_dim)
        limit = min(o.occurrences, max(1, HELD // (4 * size * (model.layers + 1) * len(kinds))))
        self.by_layer: dict[str, LayerStates] = {}
        self.vectors: dict[str, torch.Tensor] = {}
        self.texts: dict[str, _Written] = {}
        self.of_layers: list[pd.DataFrame] = []
        for kind in kinds:
            states = LayerStates(split, o.max_words, kind, limit, self.seed)
            self.by_layer[kind] = states
            self.texts[kind] = _Written(documents, states.chosen)
            pieces = pieces_of(documents, states.chosen, model.device)
            with torch.no_grad():
                self.vectors[kind] = word_states(pieces, embed(pieces.input_ids).float(), 1)[:, 0]

    @torch.no_grad()
    def see(self, model: Any, trace: Any) -> None:
        """Take one batch's states."""
        states = model.run(trace.pieces, states=True).states
        assert states is not None
        for gathered in self.by_layer.values():
            gathered.see(trace, states)

    @torch.no_grad()
    def conclude(self, watch: Callable[[str], Callable[[Iterable[Any]], Iterable[Any]]]) -> None:
        for kind, gathered in self.by_layer.items():
            self.embedding, self.vocabulary = self.vectors[kind], self.texts[kind]
            for layer in range(len(gathered.states)):
                step = watch(f"clustering layer {layer}, {kind} words")
                measures, of_words = self._measure(gathered.layer(layer), step)
                table = pd.DataFrame({"measure": list(measures), "value": list(measures.values())})
                table.insert(0, "words", kind)
                self.of_layers.append(table.assign(layer=layer)[[*_COLUMNS]])
                gathered.states[layer] = torch.empty(0, 0)
            of_words.insert(0, "words", kind)
            self.measured.append(table)  # of the last layer
            self.of_words.append(of_words)
        self.by_layer = {}

    def tables(self) -> dict[str, pd.DataFrame]:
        tables = super().tables()
        return {
            **tables,
            "information_layers": categories(pd.concat(self.of_layers, ignore_index=True)),
        }


_COLUMNS = ("words", "layer", "measure", "value")


class _Written:
    """How chosen words are written where they stand first."""

    def __init__(self, documents: ReadPieces, chosen: np.ndarray) -> None:
        self.words = []
        for document, place in chosen:
            start, stop = documents.spans[document][place]
            self.words.append(documents.texts[document][start:stop])

    def text(self, row: int) -> str:
        """The word of a row."""
        return self.words[row]
