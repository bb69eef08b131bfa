"""One direction of a recurrent layer while words are deleted."""

from __future__ import annotations

from torch import Tensor, nn

from verax.importance.deletion.readout import Readout
from verax.importance.recurrence import EVERY, steps_of
from verax.importance.similar_length import LengthGroup, turned
from verax.time_limit import check_time

Block = tuple[int, int]


class Direction:
    """One direction of the layer, its words numbered in the order it reads them."""

    def __init__(
        self,
        module: nn.Module,
        group: LengthGroup,
        readout: Readout,
        blocks: list[Block],
        back: bool,
    ) -> None:
        size = int(module.hidden_size)  # type: ignore[arg-type]
        half = slice(size, 2 * size) if back else slice(0, size)
        rest = group.states.clone()
        rest[..., half] -= group.encoded[..., half]
        self.readout, self.first, self.n = readout, group.first, group.words
        self.weight = readout.weight[half].contiguous()
        # what a state is read for, but for the part that this direction makes of it
        features, inputs = readout.features(rest[:, group.columns]), group.embedded
        if back:
            features = turned(features, group.counts, 1)
            inputs = turned(inputs, group.counts + 2 * group.first, 1)
        self.rest, inputs = features.transpose(0, 1), inputs.transpose(0, 1)
        longest = max(last - first for first, last in blocks)
        self.steps = steps_of(module, longest + 1, len(group.rows))
        self.reads = self.steps.read(inputs[: self.first + self.n])
        self.starts = self._starts({first for first, _ in blocks})

    def _starts(self, firsts: set[int]) -> dict[int, tuple[Tensor, ...]]:
        """The original reading as it stands before each block."""
        states = {}
        for t, read in enumerate(self.reads[: self.first + max(firsts)]):
            if t - self.first in firsts:
                states[t - self.first] = self.steps.snapshot()
            self.steps.advance(1, read)
        return {**states, max(firsts): self.steps.snapshot()}

    def advance(self, t: int, block: Block) -> int:
        """Move on over word t, and branch off it where the block deletes it; how many rows go."""
        first, last = block
        k = 1 + min(t, last) - first
        if t < last:
            self.steps.branch(k)
        self.steps.advance(k, self.reads[self.first + t])
        if t % EVERY == 0:
            check_time()
        return k

    def run(self, block: Block) -> tuple[Tensor, Tensor]:
        """Scores (documents, 1 + deletions, words) and what is said (…, classes), the first without
        a deletion.

        What is said of words that this direction reads before the deleted one means nothing.
        """
        first, last = block
        steps, rest = self.steps, self.rest
        steps.restore(self.starts[first])
        scores = rest.new_zeros(self.n, 1 + last - first, rest.shape[1])
        says = rest.new_zeros(*scores.shape, self.readout.classes)
        for t in range(first, self.n):
            k = self.advance(t, block)
            features = (steps.hidden[:k] @ self.weight).add_(rest[t])
            scores[t, :k], says[t, :k] = self.readout.finish(features)
        return scores.permute(2, 1, 0), says.permute(2, 1, 0, 3)
