"""`verax train`: from a corpus to a saved classifier."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verax.cli.loading import load_shown, say_notes
from verax.cli.parsing import add_options, bounded, given_options, read_config
from verax.cli.saving import add_overwrite, check_out, keep
from verax.cli.terminal import console, say, table
from verax.corpora import Corpus, CorpusOptions, reading_notes
from verax.corpora.planted import Planted
from verax.errors import VeraxError, nearest
from verax.models import AttentionClassifier, ModelOptions
from verax.models.layers import decisions
from verax.models.saving import is_only_a_model
from verax.options import SEED, check, names
from verax.training import TrainingOptions, train
from verax.training.loop import score_title
from verax.training.options import warnings_about

_OF_COMMAND = {"corpus": str, "out": str, "seed": int, "device": str}
_SCORES = {"f1": "F1", "macro_f1": "macro F1"}


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "train",
        usage="verax train CORPUS --out DIR [options]",
        help="train a classifier and save it",
        description="Train an attention classifier on a corpus and save it. Every option can "
        "also stand in a config file, under its Python name; a flag overrides the file.",
    )
    parser.add_argument("corpus", nargs="?", metavar="CORPUS", help="name or path of a corpus")
    parser.add_argument("--out", default=argparse.SUPPRESS, metavar="DIR", help="where to save it")
    add_overwrite(parser)
    parser.add_argument("--config", metavar="FILE", help="YAML or JSON file of options")
    parser.add_argument(
        "--seed",
        type=bounded("seed", int, **SEED),
        default=argparse.SUPPRESS,
        metavar="N",
        help="fixes everything [0]",
    )
    parser.add_argument(
        "--device", default=argparse.SUPPRESS, help="auto, cpu, cuda or cuda:1 [auto]"
    )
    add_options(parser, "reading the corpus", CorpusOptions)
    add_options(parser, "the model", ModelOptions)
    add_options(parser, "training", TrainingOptions)
    add_options(parser, "the planted corpus", Planted, leave_out=("seed",))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    values = _settings(args)
    command = {name: values.pop(name) for name in _OF_COMMAND if name in values}
    for name in ("corpus", "out"):
        if name not in command:
            raise VeraxError(
                f"no {name} given: verax train CORPUS --out DIR, or in --config",
                code="option.missing",
            )
    args.out = command["out"]
    check_out(args, is_only_a_model)
    corpus_names = names(CorpusOptions, Planted)
    for_corpus = {n: values.pop(n) for n in list(values) if n in corpus_names}
    corpus = load_shown(command["corpus"], **for_corpus)
    for warning in warnings_about(values, len(corpus.classes)):
        say(f"warning: {warning}", "bold")
    model = train(
        corpus,
        seed=command.get("seed", 0),
        device=command.get("device", "auto"),
        progress=True,
        keep=f"{Path(command['out'])}.candidates",
        done=_candidate,
        **values,
    )
    keep(args, lambda out: model.save(out, overwrite=args.overwrite))
    say_notes(corpus)
    _report(model, corpus, args.out, f"{Path(command['out'])}.candidates")


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """The config file's values, overridden by the flags given; all names checked."""
    values = read_config(args.config) if args.config else {}
    valid = [*_OF_COMMAND, *names(CorpusOptions, ModelOptions, TrainingOptions, Planted)]
    for name in values:
        if name not in valid:
            raise VeraxError(
                f"unknown option {name!r} in {args.config}: {nearest(name, valid)}",
                code="option.unknown",
            )
    values |= given_options(args, CorpusOptions, ModelOptions, TrainingOptions, Planted)
    values |= {n: vars(args)[n] for n in _OF_COMMAND if vars(args).get(n) is not None}
    for name in set(_OF_COMMAND) & set(values):
        bounds = SEED if name == "seed" else {}
        values[name] = check(name, values[name], _OF_COMMAND[name], bounds)
    return values


def _candidate(row: Mapping[str, Any]) -> None:
    """A line for each model that strength auto tries."""
    name = "ungrounded" if row["strength"] is None else f"strength {row['strength']:g}"
    others = ("uniform", "permuted")
    falls = ", ".join(f"{kind} {100 * (row[kind] - row['f1']):+.1f}" for kind in others)
    scores = f"accuracy {row['accuracy']:.1%}, {_SCORES[row['score']]} {100 * row['f1']:.1f}"
    say(f"{name}: validation {scores}, with attention {falls}", "dim")


def _missed_classes(model: AttentionClassifier, corpus: Corpus) -> str | None:
    """A warning where the model is right about no validation document of some class."""
    kept = model.history.loc[model.history["selected"], "macro_f1"]
    # a class that is never found has an F1 of 0; most models are above, and need no second reading
    if (kept > 1 - 1 / len(model.classes)).all():
        return None
    labels = corpus.validation.labels
    logits = model.logits(corpus.validation, model.record["training"]["max_tokens"])
    decided = decisions(logits).numpy()
    missed = sorted(set(labels.tolist()) - set(labels[decided == labels].tolist()))
    if not missed:
        return None
    of_missed = ", ".join(repr(model.classes[i]) for i in missed)
    what = f"right about no validation document of {of_missed}"
    if (decided == decided[0]).all():
        what = f"decides for {model.classes[decided[0]]!r} only"
    advice = "train longer (--epochs)"
    if model.record.get("strength"):
        advice += ", or try lower --strengths"
    elif model.options.grounding in ("tying", "mlm"):
        advice += ", or give a lower --strength, or --strength auto"
    return f"{what}: {advice}"


def _report(model: AttentionClassifier, corpus: Corpus, out: str, candidates: str) -> None:
    screen = console()
    for note in reading_notes(corpus, model.vocabulary, model.word_tokenizer):
        say(str(note), "bold" if note.is_warning else "dim")
    history = model.history[model.history["epoch"] > 0]
    # F1 of the positive class is not defined for more than two
    scores = ["loss", "accuracy", "f1", "macro_f1", "roc_auc"]
    scores = [name for name in scores if history[name].notna().any()]
    rows = []
    for row in history.to_dict(orient="records"):
        epoch = f"{row['epoch']}{' *' if row['selected'] else ''}"
        rows.append([epoch, *(f"{row[name]:.4f}" for name in ("train_loss", *scores))])
    columns = ["epoch", "train loss", *(score_title(name, model.classes) for name in scores)]
    screen.print(table(columns, rows, title="validation (* kept)"))
    if missed := _missed_classes(model, corpus):
        say(f"\nwarning: {missed}", "bold")
    if chosen := model.record.get("strength"):
        score = _SCORES[chosen["score"]]
        why = "the most fragile" if chosen["within"] else f"the best {score}, for none is"
        for doubt in chosen["doubts"]:
            say(f"\nwarning: {doubt}", "bold")
        say(
            f"\nstrength {chosen['chosen']:g}: {why} within {100 * chosen['tolerance']:g} point of "
            f"the ungrounded {score}; all are in {candidates}"
        )
    test = {n: v for n, v in model.record["test"].items() if v is not None}
    scores = [f"{score_title(n, model.classes)} {v:.4f}" for n, v in test.items()]
    say(f"\ntest: {'  '.join(scores)}")
    if vectors := model.record.get("vectors"):
        share = vectors["found"] / vectors["words"]
        say(
            f"word vectors: {vectors['found']:,} of {vectors['words']:,} words ({share:.1%}), "
            f"{vectors['occurrences']:.1%} of the training text"
        )
    say(f"saved in {out}")
