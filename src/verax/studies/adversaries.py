"""Trained adversaries: the curve over λ, the chosen λ, the yardstick, the controls, the summary.

Wiegreffe & Pinter, "Attention is not not Explanation", EMNLP 2019. `adversary_models` trains them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from verax.corpora.saved import CONFIG as CORPUS
from verax.exams.adversary.summary import BINS
from verax.exams.cells import Cell, number_cell, percent_cell
from verax.exams.described import model_options
from verax.exams.measures import (
    AT_LEAST_ZERO,
    JSD,
    PERCENT,
    UNIT_INTERVAL,
    Classes,
    Measure,
    Table,
    titles,
)
from verax.exams.registry import Stage, register_stage
from verax.exams.verdict import summary_frame
from verax.models.options import ModelOptions
from verax.options import saved_options
from verax.portable import portable
from verax.results import Result
from verax.schema import (
    Columns,
    Kind,
    SchemaError,
    declared,
    either,
    flag,
    listed,
    mapping,
    maybe,
    number,
    plain,
    record,
    text,
    whole,
)
from verax.statistics import holm, mean, paired, proportion
from verax.studies.adversary_scores import (
    ADVERSARY,
    BASE,
    BESIDE,
    BY_ADVERSARY,
    BY_BASE,
    CONTROL,
    CONTROLS,
    MEASURES,
    OF_BASE,
    SEED,
    Chosen,
    Model,
    Scores,
    by_model,
    choose,
    jsd_of_several,
    scored,
)
from verax.training.options import TrainingOptions
from verax.training.strength import TOLERANCE
from verax.version import __version__

NAME = "adversaries"
MEAN, CHOSEN_ROW = "mean", "chosen"
_LAMBDA, _SEED, _VALIDATION = "lambda=", "seed=", "validation_"


def lambda_row(lam: float) -> str:
    """Return the name of the row of a λ.

    >>> lambda_row(0.1)
    'lambda=0.1'
    """
    return f"{_LAMBDA}{lam:g}"


def lambda_of(row: str) -> float:
    """Return the λ of a row."""
    return float(row.removeprefix(_LAMBDA))


def seed_row(seed: int) -> str:
    """Return the name of the row of a model that differs from the base only by seed.

    >>> seed_row(3), seed_of("seed=3"), seed_of("mean")
    ('seed=3', 3, None)
    """
    return f"{_SEED}{seed}"


def seed_of(row: str) -> int | None:
    """Return the seed of a row; None for other rows."""
    return int(row.removeprefix(_SEED)) if row.startswith(_SEED) else None


def _seed(row: str, classes: Classes) -> str:
    seed = seed_of(row)
    return row if seed is None else f"seed {seed}"


_SCORES = (
    Measure("jsd", "JSD", bounds=JSD),
    Measure("tvd", "TVD", bounds=UNIT_INTERVAL),
    Measure("same", "same", PERCENT),
    Measure("accuracy", "accuracy", PERCENT),
    Measure("f1", "F1", PERCENT),
    Measure("macro_f1", "macro F1", PERCENT),
)
CURVE = Table(
    NAME,
    "adversaries, one a λ: how far from the base, and how well they decide",
    (
        *_SCORES,
        *(
            replace(one, id=f"{_VALIDATION}{one.id}", title=f"validation {one.title}")
            for one in _SCORES
        ),
    ),
    lambda row, classes: f"λ = {row.removeprefix(_LAMBDA)}",
)
CHOSEN_TABLE = Table(
    f"{NAME}.chosen",
    "the λ chosen on validation; within: 1 if it decides as well as the base",
    (
        Measure("lambda", "λ", bounds=AT_LEAST_ZERO),
        Measure("within", "within", bounds=UNIT_INTERVAL),
    ),
)
SEEDS_TABLE = Table(
    f"{NAME}.seeds",
    "the yardstick: models that differ from the base only by seed",
    _SCORES,
    _seed,
)
CONTROLS_TABLE = Table(
    f"{NAME}.controls",
    "controls: uniform attention, models that see each word by itself",
    _SCORES,
    titles(CONTROLS),
)
QUESTION = "Can a model be trained that says the same and attends elsewhere?"
register_stage(
    Stage(NAME, "Adversaries", QUESTION, (CURVE, CHOSEN_TABLE, SEEDS_TABLE, CONTROLS_TABLE))
)

FORMAT = 2
_CHOSEN = "chosen"


_SEEDS = listed(whole(0, 2**32 - 1))
MANIFEST = record(
    {"split": text, "classes": listed(text, 1, once=True)},
    {
        "verax": text,
        "lams": listed(number(0)),
        "seeds": _SEEDS,
        "others": listed(mapping(plain)),
        "retrain": _SEEDS,
        "controls": flag,
        "left_out": mapping(text),
        "tolerance": number(0, 1),
        "options": saved_options(ModelOptions, TrainingOptions),
        "corpus": CORPUS,
        "base": record(
            {}, {"name": text, "options": model_options, "training": declared("training")}
        ),
        _CHOSEN: mapping(maybe(either("a number, true or false", number(), flag))),
    },
)
"""The schema of the manifest of adversaries."""
_WITH_ENDS = " ".join(f"{name} {name}_low {name}_high" for name in MEASURES)
_ON_VALIDATION = " ".join(f"validation_{name}" for name in MEASURES)
COLUMNS = {
    "instances": Columns.of(
        text="kind name split measure",
        number="lam value",
        maybe_whole="seed",
        whole="id",
        key=("kind", "name", "lam", "seed", "split", "id", "measure"),
        least=1,
    ),
    "points": Columns.of(
        sure="lam",
        text="over",
        flag="chosen",
        whole="seeds n jsd_n",
        number=f"{_WITH_ENDS} {_ON_VALIDATION}",
    ),
    "yardstick": Columns.of(text="measure over", number="mean low high", whole="models n"),
    "against_yardstick": Columns.of(
        sure="lam",
        number="difference low high p holm beyond beyond_low beyond_high",
        whole="n excluded",
        text="test",
    ),
    "by_weight": Columns.of(
        text="kind decision", number="lam jsd low high", sure="from below", whole="n"
    ),
    "controls": Columns.of(text="name over note", whole="seeds n jsd_n", number=_WITH_ENDS),
}
"""The schemas of its tables."""


@dataclass(frozen=True, eq=False)
class Adversaries(Result):
    """Adversaries of one base, models that differ from it only by seed, and controls.

    Documents of one item have only one attention. They are excluded from JSD in every table, but
    from no other measure (see `one_item`).

    Attributes:
        instances: one row per model, document and measure: kind (adversary, seed, control), name,
            lam, seed, split, id, measure, value. Measures are jsd, tvd and same (compared with the
            base), decision and correct. The base is the control named `base`; its measures are
            decision, correct, label, max_weight and items.
        manifest: how the models were trained.
    """

    kind, format, remedy = "adversaries", FORMAT, "run the study again"
    always = ("instances", "points", "yardstick", "against_yardstick", "by_weight", "controls")

    instances: pd.DataFrame
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        chosen = self.chosen()
        return f"Adversaries(λ {', '.join(f'{lam:g}' for lam in self.lams)}: {chosen.lam:g} chosen)"

    @property
    def lams(self) -> list[float]:
        return sorted({m.lam for m, _ in self._models if m.lam is not None})

    @property
    def split(self) -> str:
        return str(self.manifest["split"])

    @property
    def one_item(self) -> int:
        """The number of documents of one item, which are excluded from JSD."""
        return int((self._only(CONTROL, self.split, BASE)[0]["items"] < 2).sum())

    @property
    def has_yardstick(self) -> bool:
        """Whether there are models that differ from the base only by seed."""
        return bool(self._only(SEED, self.split))

    def points(self) -> pd.DataFrame:
        """Return the curve, one row per λ.

        lam, chosen      λ, and whether it is the λ of `chosen`
        over, seeds      what the intervals are over (seeds if there are several, otherwise
                         documents), and the number of seeds
        n, jsd_n         documents per seed, and those of several items, to which JSD applies
        jsd, tvd, same   distance from the base: of attention, of outputs, share of equal decisions
        accuracy, f1     macro F1 with more than two classes
        …_low, …_high    the 95% interval of each
        validation_jsd, …_tvd, …_same, …_accuracy, …_f1   numbers on validation, which choose λ
        """
        chosen = self.chosen().lam
        rows = []
        for lam in self.lams:
            beside = self._scored(ADVERSARY, "validation", lam=lam).intervals
            rows.append(
                {
                    "lam": lam,
                    "chosen": lam == chosen,
                    **self._scored(ADVERSARY, self.split, lam=lam).row(),
                    **{f"validation_{name}": beside[name][0] for name in MEASURES},
                }
            )
        return pd.DataFrame(rows)

    def chosen(self) -> Chosen:
        """Return the λ chosen on validation (see `choose`)."""
        base = self._scored(CONTROL, "validation", BASE).intervals
        curve = []
        for lam in self.lams:
            intervals = self._scored(ADVERSARY, "validation", lam=lam).intervals
            curve.append({"lam": lam, **{name: intervals[name][0] for name in MEASURES}})
        return choose(curve, base["f1"][0], base["accuracy"][0])

    def yardstick(self) -> pd.DataFrame:
        """Return the numbers of the models that differ from the base only by seed, per measure.

        measure          jsd, tvd and same (compared with the base), accuracy, f1
        mean, low, high  over models if there are several, otherwise over documents (see `over`);
                         NaN without a model
        models, n        the number of models, and of documents per model (of several items for JSD)
        """
        scores = self._scored(SEED, self.split)
        rows = [
            {
                "measure": name,
                **dict(zip(("mean", "low", "high"), scores.intervals[name], strict=True)),
                "over": {"seeds": "models"}.get(scores.over, scores.over),
                "models": scores.seeds,
                "n": scores.jsd_n if name == "jsd" else scores.n,
            }
            for name in MEASURES
        ]
        return pd.DataFrame(rows)

    def other_seeds(self) -> pd.DataFrame:
        """Return the numbers of each model of the yardstick, with intervals over documents."""
        labels = self._only(CONTROL, self.split, BASE)[0]["label"]
        classes = len(self.manifest["classes"])
        rows = [
            {"seed": model.seed, **scored([documents], labels, classes).row()}
            for (model, split), documents in self._models.items()
            if (model.kind, split) == (SEED, self.split)
        ]
        return pd.DataFrame(rows)

    def against_yardstick(self, test: str = "wilcoxon") -> pd.DataFrame:
        """Return the adversaries' JSD minus the yardstick's, paired by document, per λ.

        difference, low, high       mean over documents with its interval; a document's value is its
                                    mean over seeds
        p, holm                     of the paired test (see `verax.statistics.paired`), and adjusted
                                    for the number of λ
        n, excluded                 documents with and without a value at both
        beyond, beyond_low, …_high  share of documents where the adversaries' JSD is larger
        """
        other = self._mean_jsd(SEED)
        rows = []
        for lam in self.lams:
            jsd = self._mean_jsd(ADVERSARY, lam)
            other_jsd = other.reindex(jsd.index)
            both = other_jsd.notna() & jsd.notna()
            beyond = proportion(int((jsd > other_jsd)[both].sum()), int(both.sum()))
            shares = dict(zip(("beyond", "beyond_low", "beyond_high"), beyond, strict=True))
            rows.append({"lam": lam, **asdict(paired(jsd, other_jsd, test)), **shares})
        table = pd.DataFrame(rows)
        table.insert(5, "holm", holm(table["p"]))
        return table

    def by_weight(self) -> pd.DataFrame:
        """Return JSD by the base's decision and largest weight, as in the papers' figures.

        kind, lam       adversary with its λ, or seed for the yardstick
        decision        the class the base decides for
        from, below     the bin of the base's largest weight, a quarter wide; 1 is in the last
        jsd, low, high  mean over documents with its interval; a document's value is its mean over
                        seeds
        n               documents of several items
        """
        base = self._only(CONTROL, self.split, BASE)[0]
        bins = np.clip(np.digitize(base["max_weight"], BINS) - 1, 0, len(BINS) - 2)
        sides: list[tuple[str, float, pd.Series]] = [
            (ADVERSARY, lam, self._mean_jsd(ADVERSARY, lam)) for lam in self.lams
        ]
        if self.has_yardstick:
            sides.append((SEED, math.nan, self._mean_jsd(SEED)))
        rows = []
        for kind, lam, values in sides:
            jsd = values.reindex(base.index).to_numpy(dtype=np.float64)
            known = ~np.isnan(jsd)
            for place, name in enumerate(self.manifest["classes"]):
                for bin_number, edges in enumerate(pairwise(BINS)):
                    decided = (base["decision"] == place).to_numpy()
                    inside = jsd[known & decided & (bins == bin_number)]
                    ends = dict(zip(("jsd", "low", "high"), mean(inside), strict=True))
                    at = dict(zip(("from", "below"), edges, strict=True))
                    row = {"kind": kind, "lam": lam, "decision": name, **at, **ends}
                    rows.append({**row, "n": len(inside)})
        return pd.DataFrame(rows)

    def controls(self) -> pd.DataFrame:
        """Return F1, accuracy and the distance from the base of each control, the base first.

        name                           see `control_options` in `verax.studies.adversary_models`
        over, seeds, n, jsd_n          as in `points`
        f1, accuracy, jsd, tvd, same   each with …_low and …_high
        note                           why a control is missing
        """
        names = dict.fromkeys(m.name for m, _ in self._models if m.kind == CONTROL)
        left_out = self.manifest.get("left_out", {})
        columns = ("f1", "accuracy", "jsd", "tvd", "same")
        order = [f"{name}{end}" for name in columns for end in ("", "_low", "_high")]
        rows = [
            {"name": name, **self._scored(CONTROL, self.split, name).row(), "note": note}
            for name, note in [*((n, "") for n in names), *left_out.items()]
        ]
        return pd.DataFrame(rows)[["name", "over", "seeds", "n", "jsd_n", *order, "note"]]

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {"instances": self.instances, **{n: getattr(self, n)() for n in self.always[1:]}}

    def _described(self) -> dict[str, Any]:
        return {**self.manifest, _CHOSEN: asdict(self.chosen())}

    @classmethod
    def _schema(cls) -> Kind:
        return MANIFEST

    @classmethod
    def _columns(cls, table: str) -> Columns:
        return COLUMNS[table]

    @classmethod
    def _restored(cls, tables: Mapping[str, pd.DataFrame], manifest: dict[str, Any]) -> Adversaries:
        manifest.pop(_CHOSEN, None)
        check_instances(tables["instances"], str(manifest["split"]))
        return cls(tables["instances"], manifest)

    @cached_property
    def _models(self) -> dict[tuple[Model, str], pd.DataFrame]:
        """Documents of each model and split; JSD is NaN for those of one item."""
        models = by_model(self.instances)
        base = {
            split: documents for (m, split), documents in models.items() if m[:2] == (CONTROL, BASE)
        }
        for (_, split), documents in models.items():
            if "jsd" in documents:
                documents["jsd"] = jsd_of_several(documents["jsd"], base[split]["items"])
        return models

    def _only(
        self, kind: str, split: str, name: str | None = None, lam: float | None = None
    ) -> list[pd.DataFrame]:
        return [
            documents
            for (model, of), documents in self._models.items()
            if (model.kind, of) == (kind, split)
            and name in (None, model.name)
            and lam in (None, model.lam)
        ]

    def _scored(
        self, kind: str, split: str, name: str | None = None, lam: float | None = None
    ) -> Scores:
        labels = self._only(CONTROL, split, BASE)[0]["label"]
        return scored(self._only(kind, split, name, lam), labels, len(self.manifest["classes"]))

    def _mean_jsd(self, kind: str, lam: float | None = None) -> pd.Series:
        """Return each document's mean over seeds; empty without a model."""
        models = self._only(kind, self.split, lam=lam)
        if not models:
            return pd.Series(dtype="float64")
        return pd.concat([documents["jsd"] for documents in models], axis=1).mean(axis=1)


def check_instances(instances: pd.DataFrame, split: str) -> None:
    """Raise `SchemaError` unless all models are measured on the documents of the base."""
    of_base, each = set(OF_BASE), {}
    for (model, of), documents in by_model(instances).items():
        each[model, of] = set(documents.index)
        is_base = model[:2] == (CONTROL, BASE)
        missing = (of_base if is_base else set(BESIDE)) - set(map(str, documents.columns))
        if missing:
            raise SchemaError(f"instances.parquet has no {min(missing)!r} of {model.name!r}")
        sure = documents[["decision", "items"] if is_base else ["decision"]]
        if bool(sure.isna().any(axis=None)) or (sure.to_numpy(dtype=np.float64) < 0).any():
            raise SchemaError(f"instances.parquet has a document of {model.name!r} undecided")
    bases = {of: ids for (model, of), ids in each.items() if model[:2] == (CONTROL, BASE)}
    if not {split, "validation"} <= set(bases):
        raise SchemaError(f"instances.parquet has no base on {split} and validation")
    for (model, of), ids in each.items():
        if ids != bases.get(of):
            raise SchemaError(f"instances.parquet has other documents of {model.name!r}")
    splits = [{of for one, of in each if one == model} for model, _ in each]
    if any(several != set(bases) for several in splits):
        raise SchemaError("instances.parquet lacks a split of a model")
    if not any(model.kind == ADVERSARY for model, _ in each):
        raise SchemaError("instances.parquet has no adversary")


def load_adversaries(folder: str | Path) -> Adversaries:
    """Load what `Adversaries.save` wrote to a folder."""
    return Adversaries.load(folder)


def summarise(adversaries: Adversaries) -> pd.DataFrame:
    """Return all numbers as rows of a summary, in the format of `verax.exams.Verdict.summary`.

    adversaries           for each λ: jsd, tvd, same, accuracy, f1, and these on validation
    adversaries.chosen    the λ chosen on validation, and whether it is within (1) or not (0)
    adversaries.seeds     the same measures for each model of the yardstick, and their mean
    adversaries.controls  accuracy and F1 of each control

    Shares are in percent; n counts documents, of several items for JSD. Intervals are over seeds if
    there are several.
    """
    classes = len(adversaries.manifest["classes"])
    cells: list[Cell] = []

    def add(table: Table, row: str, numbers: Mapping[Any, Any], before: str = "") -> None:
        for measure in ("accuracy", "f1") if table is CONTROLS_TABLE else MEASURES:
            # F1 of more than two classes is a macro F1
            column = "macro_f1" if measure == "f1" and classes != 2 else measure
            ends = (numbers.get(f"{before}{measure}_{end}", np.nan) for end in ("low", "high"))
            interval = (numbers[f"{before}{measure}"], *ends)
            cell = number_cell if measure in ("jsd", "tvd") else percent_cell
            n = numbers["jsd_n" if measure == "jsd" else "n"]
            cells.append(cell(table.id, row, f"{before}{column}", interval, n))

    rows = adversaries.instances
    items = rows.loc[(rows["split"] == "validation") & (rows["measure"] == "items"), "value"]
    of_validation = {"n": len(items), "jsd_n": int((items > 1).sum())}
    for point in adversaries.points().to_dict("records"):
        add(CURVE, lambda_row(point["lam"]), point)
        add(CURVE, lambda_row(point["lam"]), {**point, **of_validation}, _VALIDATION)
    chosen = adversaries.chosen()
    for column, value in (("lambda", chosen.lam), ("within", float(chosen.within))):
        interval = (value, np.nan, np.nan)
        cells.append(number_cell(CHOSEN_TABLE.id, CHOSEN_ROW, column, interval, len(items)))
    if adversaries.has_yardstick:
        for model in adversaries.other_seeds().to_dict("records"):
            add(SEEDS_TABLE, seed_row(model["seed"]), model)
        mean: dict[str, Any] = {}
        for row in adversaries.yardstick().to_dict("records"):
            name = row["measure"]
            mean |= {name: row["mean"], f"{name}_low": row["low"], f"{name}_high": row["high"]}
            mean["jsd_n" if name == "jsd" else "n"] = row["n"]
        add(SEEDS_TABLE, MEAN, mean)
    if adversaries.manifest.get("controls"):
        for control in adversaries.controls().to_dict("records"):
            add(CONTROLS_TABLE, control["name"], control)
    return summary_frame(NAME, cells)


ASKED = ("lams", "seeds", "retrain", "controls")
"""Settings of a study's adversaries that are not options of their training."""


def left_out_of(hierarchical: bool) -> dict[str, str]:
    """Controls that a base cannot have, with the reason."""
    why = "the base attends sentences, and a guide attends words"
    return dict.fromkeys((BY_BASE, BY_ADVERSARY), why) if hierarchical else {}


def stored_adversaries(
    instances: pd.DataFrame,
    cell: Mapping[str, Any],
    about: Mapping[str, Any],
    max_tokens: int,
) -> Adversaries:
    """Return the adversaries of a cell, with the manifest of `run_adversaries`.

    Args:
        instances: the cell's table of adversaries.
        cell: its configuration (`Cell.to_json`).
        about: the manifest of its verdict.
        max_tokens: padded tokens held at once when it was run.
    """
    settings = cell["adversaries"]
    options = {name: value for name, value in settings.items() if name not in ASKED}
    options["max_tokens"] = max_tokens
    if cell.get("vectors") is not None:
        options["vectors"] = cell["training"]["vectors"]
    manifest = manifest_of(
        settings,
        others=[],
        split=cell["split"],
        classes=about["classes"],
        options=options,
        corpus=dict(about["corpus"]),
        name="the base",
        model=about["model"],
    )
    return Adversaries(instances, {**manifest, "verax": about["verax"]})


def manifest_of(
    asked: Mapping[str, Any],
    *,
    others: Sequence[Mapping[str, Any]],
    split: str,
    classes: Sequence[str],
    options: Mapping[str, Any],
    corpus: Mapping[str, Any],
    name: str,
    model: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the manifest of adversaries.

    Args:
        asked: lams, seeds, retrain and controls.
        others: name and seed of each given model.
        split: the split they are measured on.
        classes: names of the classes.
        options: options of the adversaries.
        corpus: record of the corpus.
        name: name of the base.
        model: record of the base, with its options.
    """
    left_out = left_out_of(bool(model["options"]["hierarchical"]))
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "verax": __version__,
        "lams": list(asked["lams"]),
        "seeds": list(asked["seeds"]),
        "others": others,
        "retrain": list(asked["retrain"]),
        "controls": asked["controls"],
        "left_out": left_out if asked["controls"] else {},
        "split": split,
        "classes": list(classes),
        "tolerance": TOLERANCE,
        "options": dict(sorted(options.items())),
        "corpus": corpus,
        "base": {
            "name": name,
            "options": dict(model["options"]),
            "training": dict(model.get("training", {})),
        },
    }
    named: dict[str, Any] = portable(manifest)
    return named
