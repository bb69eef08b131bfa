"""Models from outside by name: `from_transformers`, folders of Hugging Face, functions in files."""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from verax.corpora.tokenizer import AS_WRITTEN, Tokenizer
from verax.device import resolve_device
from verax.errors import VeraxError, foreign_code, nearest
from verax.external.pieces import PieceReader
from verax.models.base import class_names
from verax.models.kinds import KINDS
from verax.models.saving import load
from verax.models.transformers.checks import (
    check_readout,
    choose_hook,
    find_readout,
    probe_pieces,
)
from verax.models.transformers.classifier import READOUTS, TransformerClassifier
from verax.models.transformers.hooks import FunctionHook

AUTO = "auto"
HF = "hf:"
"""What comes before the folder of a Hugging Face model."""
LONGEST = 512
"""Pieces of a text that are read, where neither the user nor the model says how many."""
_COMPILED = "_orig_mod"
"""Where a compiled module keeps the one that it was made of."""
_SAVE_AGAIN = "save model and tokenizer there again with save_pretrained, or download them again"


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

    Returns:
        The classifier, once it has passed its self-check: attention that is captured changes no
        logit, put back it changes none, padding and the future have no weight, gradients by
        attention are what differences give, and a text's logits hang on it alone.
    """
    if head is not None and not isinstance(head, nn.Module):
        raise VeraxError(
            f"head is a {type(head).__name__}: expected a torch.nn.Module", code="option.wrong-type"
        )
    module, tokenizer, name = _load_module(model, tokenizer, head)
    if device != AUTO or isinstance(model, (str, Path)):
        module.to(resolve_device(device))
    if head is not None:
        head.to(next(module.parameters()).device)
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
    if separator is not None and not (
        isinstance(separator, str) and separator and separator == separator.strip()
    ):
        # a blank at its end would go with the word after it
        raise VeraxError(
            f"separator is {separator!r}: expected signs such as | or [SEP], without blanks at the "
            "ends: deleting the word after a blank deletes the blank, and both texts become one",
            code="option.malformed",
        )
    advice = "check that model and tokenizer belong together, or give a function to from_predict"
    with foreign_code(f"{name} cannot be examined", advice):
        _check_vocabulary(module, tokenizer)
        classifier = TransformerClassifier(
            module,
            PieceReader(tokenizer, _longest(module, tokenizer, max_length), separator),
            _classes(module, head, classes),
            hook=FunctionHook(module),
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
        choose_hook(classifier, pieces)
    return classifier


def _load_module(model: Any, tokenizer: Any, head: nn.Module | None) -> tuple[Any, Any, str]:
    """A model, its tokenizer and a name for it.

    Args:
        model: a Hugging Face model, or the folder of one.
        tokenizer: its tokenizer; that of the folder, unless given.
        head: given with a bare encoder.
    """
    try:
        import transformers  # noqa: F401
    except ImportError as error:
        raise VeraxError(
            "transformers is not installed: pip install 'verax[transformers]'",
            code="package.missing",
        ) from error
    if isinstance(model, (str, Path)):
        module, tokenizer = _from_folder(Path(model), tokenizer, head)
        name = Path(model).name
    else:
        module = getattr(model, _COMPILED, model)
        name = type(module).__name__
        if hasattr(module, "merge_and_unload"):
            raise VeraxError(
                "this model is wrapped in an adapter: merge it first (model = "
                "model.merge_and_unload())",
                code="model.adapter",
            )
        if not isinstance(module, nn.Module) or not hasattr(module, "base_model"):
            raise VeraxError(
                f"model is a {name}: expected a Hugging Face model, or the folder of one; your own "
                "module goes to verax.from_module, a function to verax.from_predict",
                code="model.wrong-type",
            )
        if tokenizer is None:
            raise VeraxError(
                "a model given as an object needs its tokenizer: give tokenizer=…",
                code="model.needs-tokenizer",
            )
    check_fast(tokenizer)
    return module, tokenizer, name


def check_fast(tokenizer: Any) -> None:
    """Refuse a tokenizer that does not report where its pieces stand in a text."""
    if not getattr(tokenizer, "is_fast", False):
        raise VeraxError(
            f"tokenizer {type(tokenizer).__name__} does not tell where its pieces stand in a text: "
            "load a fast one (AutoTokenizer.from_pretrained(folder))",
            code="model.needs-tokenizer",
        )


def _from_folder(folder: Path, tokenizer: Any, head: nn.Module | None) -> tuple[Any, Any]:
    import transformers

    kind = (
        transformers.AutoModelForSequenceClassification if head is None else transformers.AutoModel
    )
    how = {"local_files_only": True, "trust_remote_code": False}
    previous = logging.root.manager.disable
    bars: Any = transformers.utils.logging
    had_bars = bars.is_progress_bar_enabled()
    logging.disable(logging.WARNING)
    bars.disable_progress_bar()
    try:
        with (
            foreign_code(
                f"{folder} cannot be loaded by transformers", _SAVE_AGAIN, code="model.unreadable"
            ),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # of torch, about layers of size 0
            _check_files(folder)
            module, loaded = kind.from_pretrained(
                folder, use_safetensors=True, output_loading_info=True, **how
            )
            if tokenizer is None:
                tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **how)
                # where files of a tokenizer are missing, transformers makes an empty one
                if set(tokenizer.get_vocab()) <= set(tokenizer.all_special_tokens):
                    raise VeraxError(
                        f"{folder} has no tokenizer, or one without words: save the one that the "
                        "model was trained with by tokenizer.save_pretrained(folder), or give "
                        "tokenizer=…",
                        code="model.needs-tokenizer",
                    )
    finally:
        logging.disable(previous)
        if had_bars:
            bars.enable_progress_bar()
    missing = sorted(loaded["missing_keys"])
    if missing and head is None:
        raise VeraxError(
            f"{folder} has no weights for {missing[0]}"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            + ", which would be random: give a model that was trained to classify, or head=…",
            code="model.untrained-weights",
        )
    return module, tokenizer


def _check_files(folder: Path) -> None:
    """Refuse what transformers would load otherwise than as whole weights of a known architecture.

    What else may be wrong with a folder, transformers says.
    """
    if (folder / "adapter_config.json").is_file():
        raise VeraxError(
            f"{folder} holds an adapter (LoRA) and no model: merge it into its model and save that "
            "(model.merge_and_unload().save_pretrained(folder))",
            code="model.adapter",
        )
    if not (folder / "config.json").is_file():
        raise VeraxError(
            f"{folder} holds no Hugging Face model: expected a folder with config.json",
            code="model.missing",
        )
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if any(name.startswith("AutoModel") for name in config.get("auto_map") or ()):
        raise VeraxError(
            f"{folder} needs code of its own (auto_map in config.json), which Verax does not run: "
            "load the model yourself and give it with its tokenizer",
            code="model.unsafe",
        )
    if config.get("quantization_config") is not None:
        raise VeraxError(
            f"the weights in {folder} are quantised: load the model yourself and give it with its "
            "tokenizer, or save it in full or half precision",
            code="model.quantized",
        )
    # transformers opens any file that an index names, and unpickles one with another suffix
    named: set[tuple[Path, Any, tuple[str, ...]]] = {
        (index, name, (".safetensors",))
        for index in folder.glob("*.safetensors.index.json")
        for name in json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
    }
    if (own := config.get("transformers_weights")) is not None:
        named.add((folder / "config.json", own, (".safetensors", ".safetensors.index.json")))
    here = folder.resolve()
    beside = (here, here.parent.parent / "blobs")  # where the cache of the Hub keeps files
    for file, name, suffixes in named:
        is_plain = isinstance(name, str) and name.endswith(suffixes) and Path(name).name == name
        if not is_plain or (here / name).resolve().parent not in beside:
            raise VeraxError(
                f"{file} names the weights {name!r}: expected *.safetensors files in the same "
                "folder, no links to other places; save the model again with "
                "model.save_pretrained(folder)",
                code="model.unsafe",
            )
    if not any(folder.glob("*.safetensors")):
        raise VeraxError(
            f"{folder} has no weights in safetensors: save the model again with "
            "model.save_pretrained(folder), which writes them",
            code="model.unsafe",
        )


def _check_vocabulary(module: Any, tokenizer: Any) -> None:
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
    if not isinstance(max_length, int) or not 3 <= max_length <= known:
        raise VeraxError(
            f"max_length is {max_length!r}: expected a whole number from 3 to {known}, the most "
            "pieces that this model reads",
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
    kind, count = getattr(config, "problem_type", None), int(config.num_labels)
    several = kind == "multi_label_classification"
    if several or kind == "regression" or count < 2:
        gives = "several labels to a text" if several else "one number and no classes"
        raise VeraxError(
            f"this model gives {gives}: Verax examines classifiers that choose one of several "
            "classes",
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
        names = class_names(config.id2label[number] for number in numbers)
        ids = getattr(config, "label2id", None) or {}
        for number, name in enumerate(names):
            if int(ids.get(name, number)) != number:
                raise VeraxError(
                    f"class {name!r} has the number {number} in id2label of the model's "
                    f"configuration and {ids[name]} in label2id: give classes=[…] (--class-names)",
                    code="model.class-names",
                )
        return names
    names = class_names(classes)
    if len(names) != count:
        raise VeraxError(
            f"classes has {len(names)} names, and the model gives {count} logits",
            code="model.class-names",
        )
    return names


def open_classifier(source: str | Path, device: str = "auto", **options: Any) -> Any:
    """The classifier that a name stands for.

    Args:
        source: the folder of a model that Verax saved; `hf:FOLDER`; or `FILE.py:NAME`, a function
            without arguments that gives a classifier. The file is run.
        device: auto, cpu, cuda; a function puts its model where it likes.
        options: keywords of `from_transformers`, for a Hugging Face model.
    """
    if isinstance(source, str) and source.startswith(HF):
        return from_transformers(source.removeprefix(HF), device=device, **options)
    if options:
        raise VeraxError(
            f"{', '.join(options)} cannot be set for {source}: that is for Hugging Face models, "
            "which are named hf:FOLDER",
            code="option.not-applicable",
        )
    found = function_in(source)
    return load(source, device=device) if found is None else _made(*found)


def is_outside(source: Any) -> bool:
    """Whether a name stands for a model that Verax did not save."""
    return isinstance(source, str) and (source.startswith(HF) or function_in(source) is not None)


def function_in(source: str | Path) -> tuple[Path, str] | None:
    """The file and the function that `FILE.py:NAME` names; None for anything else."""
    if not isinstance(source, str):
        return None
    if source.endswith(".py") and Path(source).is_file():
        raise VeraxError(
            f"{source} is a file: name the function in it, as in {source}:make",
            code="option.malformed",
        )
    file, _, name = source.rpartition(":")
    return (Path(file), name) if file.endswith(".py") else None


def _made(file: Path, name: str) -> Any:
    """What the function of that name gives, once it is a classifier."""
    if not file.is_file():
        raise VeraxError(
            f"no file {file}: name a Python file and a function, as in {file}:make",
            code="file.missing",
        )
    function = _contents(file).get(name)
    if not callable(function):
        raise VeraxError(
            f"{file} has no function {name!r}: define it, without arguments", code="model.missing"
        )
    with foreign_code(f"{file}:{name} failed"):
        model = function()
    if getattr(model, "kind", None) not in KINDS:
        raise VeraxError(
            f"{file}:{name} gave a {type(model).__name__}: expected a classifier of verax.train, "
            "from_module, from_transformers or from_predict",
            code="model.wrong-type",
        )
    return model


def _contents(file: Path) -> Mapping[str, Any]:
    """What a file defines, once it is run; it may import its neighbours."""
    spec = importlib.util.spec_from_file_location(file.stem, file.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.resolve().parent))
    try:
        with foreign_code(f"cannot run {file}"):
            spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.resolve().parent))
    return vars(module)
