"""How a classifier is trained, and which options of a model and its training have an effect.

Two models that differ only in an option without effect are one model: one cell of a study, one
group of a comparison. Each option declares when it has an effect (`active_when`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from verax.corpora.batching import MAX_TOKENS
from verax.corpora.vectors import TRAINED
from verax.errors import VeraxError
from verax.models.encoders import ENCODERS
from verax.models.options import AUTO, ModelOptions
from verax.options import ROUNDS, build, divide, option, saved_options
from verax.schema import RECORDS, both, record, whole
from verax.training.strength import candidates

METRICS = ("accuracy", "f1", "macro_f1", "roc_auc", "loss")


@dataclass(frozen=True)
class TrainingOptions:
    """How a classifier is trained: the training options of `train`."""

    epochs: int = option(
        8, "passes over the training documents, at most", minimum=1, maximum=ROUNDS
    )
    batch_size: int = option(32, "documents a step", minimum=1)
    lr: float = option(1e-3, "learning rate of Adam", above=0)
    amsgrad: bool = option(True, "Adam's AMSGrad variant")
    weight_decay: float = option(1e-5, "L2 penalty", minimum=0)
    decay_attention: bool = option(False, "apply it to attention parameters too")
    clip: float | None = option(5.0, "largest gradient norm, or none", above=0)
    class_weight: str = option(
        "none",
        "balanced: weigh classes by the inverse of their share",
        choices=("none", "balanced"),
    )
    metric: str = option("accuracy", "validation score that picks the epoch", choices=METRICS)
    patience: int | None = option(
        None, "stop after this many epochs without a better score (never)", minimum=1
    )
    select_from: int = option(1, "first epoch that may be picked", minimum=1)
    plateau_factor: float | None = option(
        None, "multiply the learning rate by this when the score stalls (off)", above=0, below=1
    )
    plateau_patience: int = option(
        0,
        "epochs it may stall before that",
        minimum=0,
        active_when=("plateau_factor", lambda m, t: t.plateau_factor is not None),
    )
    strengths: str | None = option(
        None,
        "what strength auto chooses from (0.01,0.03,0.1,0.3,1,10,30; mlm 0.1,0.3,1,3,5)",
        active_when=("strength", lambda m, t: m.strength == AUTO),
    )
    min_df: int = option(1, "keep words of at least this many training documents", minimum=1)
    max_vocabulary: int | None = option(None, "keep the most frequent words only", minimum=1)
    vectors: str | None = option(
        None, "file of word vectors (GloVe, word2vec, fastText), or word2vec to train them here"
    )
    vectors_epochs: int = option(
        5,
        "epochs of word2vec",
        minimum=1,
        maximum=ROUNDS,
        active_when=("vectors", lambda m, t: t.vectors == TRAINED),
    )
    unit_norm: bool = option(False, "scale word vectors to length one")
    freeze_embeddings: bool = option(False, "keep word vectors as they are")
    max_tokens: int = option(
        MAX_TOKENS, "padded tokens held at once: memory, never the result", minimum=1
    )

    def __post_init__(self) -> None:
        if self.select_from > self.epochs:
            raise VeraxError(
                f"select_from ({self.select_from}) is beyond the last epoch ({self.epochs}): "
                "lower it, or raise epochs",
                options=["select_from", "epochs"],
                code="option.conflict",
            )


RECORDS["training"] = both(
    saved_options(TrainingOptions), record({}, {"seed": whole(0, 2**32 - 1)})
)
"""What files keep of a training."""


def build_options(values: Mapping[str, Any]) -> tuple[ModelOptions, TrainingOptions]:
    """Checked options of a model and of its training; `strengths` may be a number or a list."""
    strengths = values.get("strengths")
    if strengths is not None and not isinstance(strengths, str):
        several = strengths if isinstance(strengths, Iterable) else [strengths]
        values = {**values, "strengths": ",".join(map(str, several))}
    of_model, of_training = divide(values, ModelOptions, TrainingOptions)
    return build(ModelOptions, of_model), build(TrainingOptions, of_training)


_CONDITIONS = {
    field.name: field.metadata["active_when"]
    for field in (*fields(ModelOptions), *fields(TrainingOptions))
    if field.metadata["active_when"] is not None
}


def deciding_option(name: str) -> str | None:
    """The option that decides whether this one has an effect; None if it always has one."""
    return _CONDITIONS[name][0] if name in _CONDITIONS else None


def inactive_options(model: ModelOptions, training: TrainingOptions) -> list[str]:
    """The options without effect; those of the model are resolved."""
    return [name for name, (_, active) in _CONDITIONS.items() if not active(model, training)]


def warnings_about(values: Mapping[str, Any], classes: int) -> list[str]:
    """A sentence for each option set in `values` that has no effect under the others.

    >>> warnings_about({"encoder": "none", "hidden_size": 50}, classes=2)
    ['hidden_size has no effect with encoder=none']
    """
    model, training = build_options(values)
    model = model.resolved(classes)
    all_options = {**asdict(model), **asdict(training)}
    return [
        no_effect(name, all_options[_CONDITIONS[name][0]])
        for name in inactive_options(model, training)
        if name in values
    ]


def no_effect(name: str, value: Any) -> str:
    """That an option has no effect where the one that decides has this value."""
    return f"{name} has no effect with {deciding_option(name)}={format_value(value)}"


def format_value(value: Any) -> str:
    """An option's value as labels show it: 0.5, 16, null as none, a mapping by its pairs."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, Mapping):
        return ",".join(f"{name}={part}" for name, part in value.items())
    return str(value)


def canonical_options(
    values: Mapping[str, Any], classes: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Every option of the model and of its training, so that equal models have equal ones.

    Options without effect are at their defaults, and every automatic choice is made. Given to
    `verax.train`, they give the model that `values` give. `max_tokens` is left out: it changes no
    result.
    """
    of_model, of_training = divide(values, ModelOptions, TrainingOptions)
    model, training = ModelOptions(**of_model), TrainingOptions(**of_training)
    inactive = inactive_options(model.resolved(classes), training)
    model = replace(model, **_defaults(ModelOptions, inactive)).resolved(classes)
    training = replace(training, **_defaults(TrainingOptions, inactive))
    kinds = [ENCODERS[name] for name in model.encoders]
    layers = {model.layers_of(kind) for kind in kinds if "layers" in kind.uses}
    dropout = {model.dropout_of(kind) for kind in kinds if "dropout_encoder" in kind.uses}
    model = replace(
        model,  # where two encoders have different defaults, the option stays unset
        layers=layers.pop() if len(layers) == 1 else None,
        dropout_encoder=dropout.pop() if len(dropout) == 1 else None,
    )
    if model.strength == AUTO:
        tried = candidates(model.grounding, training.strengths)
        training = replace(training, strengths=",".join(map(format_value, tried)))
    of_training = asdict(training)
    del of_training["max_tokens"]
    return asdict(model), of_training


def _defaults(cls: type, inactive: Iterable[str]) -> dict[str, Any]:
    return {field.name: field.default for field in fields(cls) if field.name in inactive}
