"""How spread attention and influence are: normalised entropies (Meister et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import INTERVALS, boxes, histograms, means
from verax.drawing.series import Models, of_column
from verax.exams.dispersion.measures import ATTENTION, ENTROPY, HEADS, NAME, influence
from verax.exams.place_maps import place_map
from verax.statistics.intervals import box_numbers

_AXIS = "normalised entropy"
_WORDS = {
    ATTENTION: "attention",
    influence("norm"): "gradient on an item's magnitude",
    influence("frobenius"): "gradient on an item",
}
"""Row → words that leave room for its picture."""


def charts(models: Models) -> Iterator[Chart]:
    """How entropy is spread over documents, or its means; of a Transformer maps of its heads."""
    yield from _entropies(models)
    yield from _maps(models)


def _entropies(models: Models) -> Iterator[Chart]:
    """How entropy is spread over documents; its means where there are no documents."""
    outputs, items = models.table("dispersion"), models.table("dispersion_influence")
    parts = []
    if len(outputs):
        parts.append(outputs.assign(row=outputs["of"].astype(str)))
    if len(items):
        parts.append(items.assign(row=[influence(str(kind)) for kind in items["kind"]]))
    if not parts:
        yield from _means(models)
        return
    values = pd.concat(parts, ignore_index=True)
    values = values[(values["measure"] == "entropy") & values["value"].notna()]
    if values.empty:
        return
    drawn = values.assign(panel=values["row"].map(row_words))
    yield made(
        "dispersion-histogram",
        NAME,
        "How spread attention is, and how spread the influence of words",
        "How normalised entropy is spread over documents: 0 where one position has everything, 1 "
        "where all have the same. Attention on few items (its mass at the left) says little of few "
        "words if the influence of words on an item, or on the output, is spread over all (its "
        "mass at the right).",
        histograms(drawn, models, _AXIS, (0, 1), height=80),
    )
    yield _boxes(models, values)


def _boxes(models: Models, values: pd.DataFrame) -> Chart:
    rows = [
        {"model": model, "row": row} | box_numbers(part["value"])
        for (model, row), part in values.groupby(["model", "row"], sort=False)
    ]
    drawn = pd.DataFrame(rows)
    numbers = of_column(models.numbers(NAME, ENTROPY.id), "mean")
    averages = numbers.set_index(["model", "row"])["value"].to_dict()
    places = zip(drawn["model"], drawn["row"], strict=True)
    drawn["mean"] = [averages.get(place) for place in places]
    drawn = drawn.assign(row=drawn["row"].map(row_words), panel="")
    return made(
        "dispersion-entropy",
        NAME,
        "Normalised entropy of attention and of influence",
        "A box holds the middle half of the documents, its line is the median, the point the mean; "
        "whiskers reach 1.5 times the box's length. Of an item, a document's value is the mean "
        "over its items.",
        boxes(drawn, models, _AXIS, list(dict.fromkeys(drawn["row"])), (0, 1)),
    )


def _means(models: Models) -> Iterator[Chart]:
    """Means, for a study that was packed without its tables by document."""
    numbers = of_column(models.numbers(NAME, ENTROPY.id), "mean")
    if numbers.empty:
        return
    yield made(
        "dispersion-means",
        NAME,
        "Normalised entropy of attention and of influence",
        "0 where one position has everything, 1 where all have the same. Attention on few items "
        "says little of few words if the influence of words on an item, or on the output, is "
        f"spread over all. {INTERVALS}",
        means(numbers.assign(row=numbers["row"].map(row_words), panel=""), models, _AXIS, (0, 1)),
    )


def _maps(models: Models) -> Iterator[Chart]:
    numbers = models.numbers(NAME, HEADS.id)
    entropy, special = (of_column(numbers, column) for column in ("entropy", "special"))
    if len(entropy):
        yield made(
            "dispersion-heads",
            NAME,
            "How spread over words the attention of each layer and head is",
            "Normalised entropy of what the classifier's own positions attend to, over words: 0 "
            "where one word has everything, 1 where all have the same. The first cell of a row is "
            "the layer, the mean of its heads' attention.",
            place_map(entropy, models, "entropy", (0, 1), 2),
        )
    if len(special):
        yield made(
            "dispersion-special",
            NAME,
            "Attention that goes to no word, by layer and head",
            "The percentage of that attention which is on special tokens, such as [CLS] and [SEP], "
            "or taken by a sink. Where it is near 100, the entropy over words is of next to "
            "nothing.",
            place_map(special, models, "percent", (0, 100), 0),
        )


def row_words(row: str) -> str:
    """A row of `dispersion.entropy` in few words.

    >>> row_words("influence@norm"), row_words("leave-one-out")
    ("gradient on an item's magnitude", 'leave-one-out on the output')
    """
    return _WORDS.get(row, f"{row} on the output")
