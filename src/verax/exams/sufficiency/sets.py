"""Sets of words at percentages of a ranking, taken out or left alone, and a search for the best.

What becomes of a document is asked of a function `ask(rows, removed)`: (sets,) long, the document
of each set, and (sets, words) bool, the words that are taken out → (sets, 2) float64, the
probability of the document's decision without them and 1 where the decision is still the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from verax.exams.deletion.changes import once_each, places_of

Ask = Callable[[Tensor, Tensor], Tensor]
_ROUNDING = 1e-9


def words_at(words: Tensor, percentages: Sequence[float]) -> Tensor:
    """(percentages, batch) long: ⌈q·n / 100⌉, how many words the top q percent are.

    Args:
        words: (batch,) how many words each document has.
        percentages: above 0, at most 100.

    >>> words_at(torch.tensor([1, 7, 200]), [1, 20, 50]).T.tolist()
    [[1, 1, 1], [1, 2, 4], [2, 40, 100]]
    """
    shares = torch.tensor(percentages, dtype=torch.float64, device=words.device) / 100
    return (shares.unsqueeze(-1) * words - _ROUNDING).ceil().long()


class Questions:
    """Asks about sets of words, and keeps the lowest and the highest answer of each size.

    Args:
        ask: what becomes of documents without some of their words.
        whole: (batch, 2) float64: what is answered where nothing is taken out.
        mask: (batch, words) bool.

    least, most  (batch, words + 1, 2): of all sets asked about, by how many words are taken out
    count        (batch,) long: how many sets `ask` has had of each document
    """

    def __init__(self, ask: Ask, whole: Tensor, mask: Tensor) -> None:
        self._ask, self._whole, self.mask = ask, whole, mask
        sizes = (*whole.shape[:1], mask.shape[1] + 1, 2)
        self.least, self.most = whole.new_full(sizes, torch.inf), whole.new_full(sizes, -torch.inf)
        self.count = torch.zeros(len(whole), dtype=torch.long, device=whole.device)

    def __call__(self, rows: Tensor, removed: Tensor) -> Tensor:
        """(sets, 2): the answers; of equal sets one is asked about, and nothing of empty ones."""
        answers = self._whole[rows]
        some = removed.any(-1)
        if bool(some.any()):
            answers[some] = once_each(rows[some], removed[some], self._counted)
        size = self.least.shape[1]
        place = (rows * size + removed.sum(-1)).unsqueeze(-1).expand(-1, 2)
        self.least.view(-1, 2).scatter_reduce_(0, place, answers, "amin")
        self.most.view(-1, 2).scatter_reduce_(0, place, answers, "amax")
        return answers

    def _counted(self, rows: Tensor, removed: Tensor) -> Tensor:
        self.count += torch.bincount(rows, minlength=len(self.count))
        return self._ask(rows, removed)

    def best(self, sizes: Tensor) -> tuple[Tensor, Tensor]:
        """The lowest answers with so many words taken out, and the highest with so many left.

        Args:
            sizes: (percentages, batch) long.

        Returns:
            (percentages, batch, 2) each.
        """
        rows = torch.arange(sizes.shape[1], device=sizes.device)
        return self.least[rows, sizes], self.most[rows, self.mask.sum(-1) - sizes]


def prefix_answers(
    orders: Tensor, sizes: Tensor, asked: Tensor, questions: Questions
) -> tuple[Tensor, Tensor]:
    """Answers without the first words of each ranking, and with these alone.

    Args:
        orders: (rankings, batch, words) positions, most important first, what is masked last.
        sizes: (percentages, batch) long: how many words come first.
        asked: (batch,) bool: which documents are asked about; NaN for others.
        questions: where to ask.

    Returns:
        (percentages, rankings, batch, 2) each.
    """
    places, mask = places_of(orders), questions.mask
    shape = (len(sizes), *orders.shape[:2], 2)
    without, alone = (questions.least.new_full(shape, torch.nan) for _ in range(2))
    for number, size in enumerate(sizes):
        new = asked if number == 0 else asked & (size != sizes[number - 1])
        if number:
            without[number], alone[number] = without[number - 1], alone[number - 1]
        ranking, row = new.expand(len(orders), -1).nonzero(as_tuple=True)
        if not len(row):
            continue
        first = (places[ranking, row] < size[row].unsqueeze(-1)) & mask[row]
        without[number, ranking, row] = questions(row, first)
        alone[number, ranking, row] = questions(row, mask[row] & ~first)
    return without, alone


def greedy_order(most: Tensor, rounds: Tensor, questions: Questions, keeps: bool = False) -> Tensor:
    """(batch, words) positions in the order in which a greedy search takes words.

    Args:
        most: (batch,) long: how many words are taken.
        rounds: (batch,) long: looks at all words that are left; 0 for documents not searched.
        questions: where to ask.
        keeps: whether words are kept, so that the probability is the highest, and not taken out,
            so that it is the lowest.

    In each round every word left is tried beside those taken. Where there are as many rounds as
    words to take, a round takes the best one; where there are fewer, it takes several, the more
    the later it is. The first round tries all single words.
    """
    mask = questions.mask
    batch, words = mask.shape
    size = torch.zeros(batch, dtype=torch.long, device=mask.device)
    taken = torch.zeros_like(mask)
    places = torch.arange(words, 2 * words, device=mask.device).expand(batch, -1).clone()
    for number in range(1, 1 + int(rounds.amax())):
        active = (rounds >= number) & (size < most)
        rows, tried = (mask & ~taken & active.unsqueeze(-1)).nonzero(as_tuple=True)
        if not len(rows):
            break
        together = taken[rows]
        together[torch.arange(len(rows), device=rows.device), tried] = True
        answers = questions(rows, mask[rows] & ~together if keeps else together)[:, 0]
        scores = answers.new_full((batch, words), -torch.inf)
        scores[rows, tried] = answers if keeps else -answers
        ranks = places_of(scores.argsort(dim=-1, descending=True, stable=True))
        left = scores > -torch.inf
        places = torch.where(left, size.unsqueeze(-1) + ranks, places)
        goal = torch.where(active, _after(number, most, rounds), size)
        taken |= left & (ranks < (goal - size).unsqueeze(-1))
        size = goal
    return places.argsort(dim=-1, stable=True)


def _after(number: int, most: Tensor, rounds: Tensor) -> Tensor:
    """(batch,) long: how many words are taken after a round: geometric, one a round at least."""
    share = number / rounds.clamp(min=1).double()
    several = (most.double() ** share + _ROUNDING).floor().long().clamp(min=number)
    return torch.where(rounds <= number, most, torch.minimum(several, most))
