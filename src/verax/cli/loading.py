"""Corpora and models that a command loads, and the flags by which it does."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from verax.cli.parsing import add_options, bounded, given_options, parts_of
from verax.cli.terminal import say
from verax.corpora import Corpus, CorpusOptions, load_corpus
from verax.corpora.corpus import SPLITS
from verax.corpora.describing import overlap_notes
from verax.corpora.planted import Planted
from verax.errors import VeraxError
from verax.external.loading import AUTO
from verax.external.opening import HF, function_in, is_outside, open_classifier
from verax.external.readout import READOUTS
from verax.progress import Progress


def add_corpus_options(parser: argparse.ArgumentParser) -> None:
    """Flags of how --corpus is read."""
    add_options(parser, "reading --corpus", CorpusOptions)
    add_options(parser, "a planted --corpus", Planted, leave_out=("seed",))


def load_shown(name: str, **options: Any) -> Corpus:
    """`load_corpus`, with a spinner while it takes: some corpora are gigabytes."""
    with Progress() as display, display.busy(f"loading {name}"):
        return load_corpus(name, **options)


def named_corpus(args: argparse.Namespace, load: Callable[..., Corpus]) -> Corpus | None:
    """The corpus that --corpus names, by `load(name, **options)`; None where it names none."""
    options = given_options(args, CorpusOptions, Planted)
    options.pop("seed", None)  # the exams'; a planted corpus's is part of its name
    if args.corpus:
        with Progress() as display, display.busy(f"loading {args.corpus}"):
            return load(args.corpus, **options)
    if options:
        flags = ", ".join("--" + name.replace("_", "-") for name in options)
        raise VeraxError(
            f"{flags} without --corpus: the model's own is read as in training",
            code="option.missing",
        )
    return None


def say_overlap(corpus: Corpus, split: str) -> None:
    """How many documents of the split are in train, too, if there are some."""
    if split not in SPLITS[1:]:
        return
    for note in overlap_notes(corpus, [split]):
        say(str(note), "bold" if note.is_warning else "dim")


def say_notes(corpus: Corpus | None) -> None:
    """What a reader of a corpus might not expect, a line each."""
    for note in () if corpus is None else corpus.notes:
        say(note, "dim")


MODEL = (
    "folder of a saved model; hf:FOLDER of a Hugging Face one; or FILE.py:FUNCTION, which is run"
)


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Flags of how a Hugging Face model is taken."""
    group = parser.add_argument_group("a Hugging Face model (hf:FOLDER)")
    group.add_argument(
        "--class-names",
        metavar="NAME,…",
        help="names of its classes, in the order of its logits [those it has]",
    )
    group.add_argument(
        "--readout",
        choices=(AUTO, *READOUTS),
        help=f"the positions that its classifier reads [{AUTO}: found by asking]",
    )
    group.add_argument(
        "--pieces",
        type=bounded("pieces", int, minimum=1),
        metavar="N",
        help="pieces of a text that it reads",
    )
    group.add_argument(
        "--separator",
        metavar="TEXT",
        help="what stands between the two texts of a pair, such as [SEP]; not a blank or tab",
    )


def open_model(args: argparse.Namespace, source: str | None = None) -> Any:
    """The model that a command names, or the one that `source` names."""
    source = args.model if source is None else source
    assert source is not None
    if function := function_in(source):
        say(f"running {function[0]}, whose {function[1]}() makes the model", stderr=True)
    if source == getattr(args, "model", None):
        refuse_flags(args, [source])
    options = _options(args) if source.startswith(HF) else {}
    return open_classifier(source, device=args.device, **options)


def open_outside(args: argparse.Namespace, sources: Sequence[str]) -> list[Any]:
    """Names of saved models and verdicts as they are, and other models opened."""
    return [open_model(args, one) if is_outside(one) else one for one in sources]


def refuse_flags(args: argparse.Namespace, sources: Sequence[str]) -> None:
    """Refuse flags of Hugging Face models where there is none."""
    if any(HF in source for source in sources):
        return
    for flag in ("class_names", "readout", "pieces", "separator"):
        if vars(args)[flag] is not None:
            name = flag.replace("_", "-")
            raise VeraxError(
                f"--{name} is for Hugging Face models, named hf:FOLDER: leave it out",
                code="option.not-applicable",
            )


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """Keywords of `from_transformers` that were given."""
    names = None if args.class_names is None else parts_of(args.class_names)
    separator = args.separator
    if separator is not None:
        separator = separator.replace("\\t", "\t").replace("\\n", "\n")
    options = {"classes": names, "readout": args.readout}
    options |= {"max_length": args.pieces, "separator": separator}
    return {name: value for name, value in options.items() if value is not None}
