"""The single_token exam of Transformers that read the mean of their states."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from verax.exams.item_evidence import ItemEvidence
from verax.exams.reading import labels_of
from verax.exams.single_token.exam import SingleTokenExam
from verax.exams.word_states import pieces_of_words, word_states
from verax.external.pieces import PieceBatch
from verax.models.base import TextClassifier
from verax.models.transformers.classifier import MEAN, TransformerClassifier


class TransformerSingleToken(SingleTokenExam):
    """The same for a Transformer whose classifier reads the mean of the last layer's states.

    p_t is what the rest of the model makes of the state of word t in place of that mean; a word's
    state is the mean of its pieces' states. Gives the same tables; `weight` is the share of the
    mean that a word's pieces have.
    """

    @classmethod
    def why_not(cls, model: TextClassifier) -> str:
        """Why no word can be read alone: the classifier reads one state."""
        assert isinstance(model, TransformerClassifier)
        if model.readout == MEAN:
            return ""
        return (
            f"the classifier reads one state, the {model.readout} position's, which has seen all "
            "words: no word is read by itself"
        )

    @torch.no_grad()
    def see(self, model: Any, trace: Any) -> None:
        """Examine one batch."""
        pieces, words = trace.pieces, trace.mask.shape[1]
        counts = pieces_of_words(pieces, words)
        mask = trace.mask & (counts > 0)
        some = mask.any(-1)  # a text may have words that the tokenizer drops, and no others
        states = word_states(pieces, model.run(pieces).last, words)
        said = logits_alone(model, states[mask], self.max_tokens)
        item_logits = said.new_zeros(*mask.shape, said.shape[-1])
        item_logits[mask] = said
        evidence = ItemEvidence(
            trace.ids[some.cpu().numpy()],
            trace.batch.row_index[some],
            labels_of(trace)[some],
            (counts.double() / pieces.mask.sum(-1, keepdim=True))[some],
            mask[some],
            item_logits[some],
            trace.logits[some],
        )
        self.look(evidence)


def logits_alone(model: TransformerClassifier, states: Tensor, max_tokens: int) -> Tensor:
    """(words, classes): what the model makes of one state, all it has of a text.

    Args:
        model: a Transformer that reads the mean of its states.
        states: (words, size), of the last layer.
        max_tokens: states held at once.

    Texts of a single piece are read, which costs little, and their one last state is replaced: the
    mean is that state, and all that comes after it is the model's own head, whatever it is.
    """
    logits = []
    for some in states.split(max(1, max_tokens)):
        ids = torch.full((len(some), 1), _any_piece(model), device=states.device)
        alone = PieceBatch(ids, torch.ones_like(ids, dtype=torch.bool), torch.zeros_like(ids), {})
        with _last_state_replaced(model.module.base_model, some.unsqueeze(1)):
            logits.append(model.run(alone).logits)
    return torch.cat(logits) if logits else states.new_zeros(0, len(model.classes))


@contextmanager
def _last_state_replaced(base: nn.Module, states: Tensor) -> Iterator[None]:
    """Within it a model's last states, (batch, pieces, size), are others."""

    def replace(module: nn.Module, inputs: Any, output: Any) -> Any:
        if isinstance(output, tuple):
            return (states, *output[1:])
        output.last_hidden_state = states
        return output

    handle = base.register_forward_hook(replace)
    try:
        yield
    finally:
        handle.remove()


def _any_piece(model: TransformerClassifier) -> int:
    """A piece that is no padding."""
    return 1 if model.pad == 0 else 0
