"""The frozen cases, and their results as long rows.

Tests and `tests/golden/freeze.py` only compare rows. `support.documents` alone knows the shape of a
verdict: when it changes, adapt `verdict_rows` and leave the frozen numbers alone.

A number is a row with the columns of `support.documents.COLUMNS`: model, id of the measure,
document (−1 for a number over all documents), value, both ends of its interval, and n. Frozen rows
also have a `kind`, which says how to compare them. Other values (tokens, spans, cell keys) are JSON
values with an id.
"""

from __future__ import annotations

import csv
import fnmatch
import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors.torch import load_file, save_file

import verax
from golden.small_models import SmallModule, word_sums
from support.documents import ALL, rows_of, table_rows, verdict_rows
from support.internals import divide, prepare, shown, variant
from verax.corpora import Tokenizer, Vocabulary, tokenize
from verax.exams import plan
from verax.models import ModelOptions, make_classifier
from verax.training import TrainingOptions

FOLDER = Path(__file__).parents[1] / "golden"
MODELS, NUMBERS, CHANGES = FOLDER / "models", FOLDER / "numbers", FOLDER / "changes.csv"
RESULTS = FOLDER.parents[1] / "results"
IDS, PARTS = ["model", "measure", "document"], ["value", "low", "high", "n"]
DECISION, DOUBLE, SINGLE, ORDER = "decision", "float64", "float32", "order"
TOLERANCE = {DECISION: 0.0, DOUBLE: 1e-9, SINGLE: 1e-4, ORDER: np.inf}
"""Kind → tolerance on another machine, absolute below 1 and relative above.

A number of kind `order` depends on the rank order of scores that differ by rounding only. It is
compared only where all bits must be equal.
"""

LOOSER = {
    "*influence@frobenius*": SINGLE,
    "*table:dispersion_influence/*": SINGLE,
    "*table:information_words/*": SINGLE,
    "*.passes": ORDER,
    "*/passes*": ORDER,
    "*.asked": ORDER,
    "*/asked*": ORDER,
    "*sufficiency.*_p": ORDER,
    "pooled-*agreement*leave-one-out*": ORDER,
    "module-*agreement*leave-one-out*": ORDER,
}
"""Pattern of ids → loosest kind: numbers that the older CPUs of `freeze.py` kept by luck.

Another CPU of the same capability changed them: influence and distances are computed in single
precision; how many sets a search tries, a p-value of flipped signs and the place of two equal
scores depend on the last bit.
"""

KINDS = ("pooled", "hierarchical", "encoder", "decoder", "module", "function")
LABELS = {2: "feeling", 3: "topic"}
"""Number of classes → label column of the frozen corpus."""
CASES = [f"{kind}-{classes}" for kind in KINDS for classes in LABELS]
LONGEST = 32
"""Tokens read of a document; a few test documents are longer."""

POOLED: dict[str, dict[str, Any]] = {
    "pooled-2": {"encoder": "bilstm", "attention": "additive"},
    "pooled-3": {"encoder": "conv", "attention": "dot", "projection": "sparsemax"},
    "hierarchical-2": {"encoder": "bigru", "hierarchical": True, "projection": "entmax"},
    "hierarchical-3": {"encoder": "bilstm", "hierarchical": True, "grounding": "residual"},
}
"""Options of the models trained by `verax.train`."""
SIZES: dict[str, Any] = {"hidden_size": 12, "embedding_size": 12}

FOR_ITEMS: dict[str, dict[str, Any]] = {
    "erasure": {"draws": 3},
    "agreement": {"spearman": True, "top_k": 3},
    "dispersion": {"entropy_of": "gradient,leave-one-out"},
    "replacement": {"permutations": 4},
    "information": {"max_words": 40, "clusters": 12, "words_by": "both", "shuffles": 3},
    "single_token": {"curves": 3},
    "adversary": {"search": True, "restarts": 2, "search_steps": 20, "permutation_test": 9},
    "deletion": {"random_orders": 2},
    "sufficiency": {"random_orders": 2, "greedy_sets": 60, "percentages": "5,20,50,80"},
    "plausibility": {"random_orders": 2},
}
FOR_TRANSFORMERS: dict[str, dict[str, Any]] = {
    **FOR_ITEMS,
    "agreement": {"spearman": True},
    "dispersion": {},
    "erasure": {"draws": 2},
    "replacement": {"permutations": 2, "by_head": "both"},
    "adversary": {"restarts": 1, "search_steps": 8, "permutation_test": 5},
    "deletion": {"random_orders": 1, "budget": 40, "steps": 8},
    "sufficiency": {"random_orders": 1, "greedy_sets": 20, "percentages": "5,20,50"},
}
FOR_FUNCTIONS = {
    "deletion": {"random_orders": 2},
    "sufficiency": {"random_orders": 2, "percentages": "1,5,10,20,50,80"},
}
MORE: dict[str, dict[str, dict[str, Any]]] = {
    "pooled-3": {"dispersion": {"influence": "frobenius", "positions": 4}},
    "module-3": {"deletion": {"operator": "mask", "random_orders": 1, "budget": 60}},
    "encoder-3": {"deletion": {"operator": "mask", "random_orders": 1, "budget": 40, "steps": 8}},
}
"""Options of single cases, which cover other branches of an exam."""

SETS: dict[str, dict[str, Any]] = {
    "bilstm": {},
    "bilstm-dot-sparsemax": {"attention": "dot", "projection": "sparsemax"},
    "bilstm-unscaled": {"attention": "dot-unscaled", "query_init": "default", "batch_size": 7},
    "bilstm-uniform": {"projection": "uniform", "boundaries": False, "decay_attention": True},
    "bilstm-tying": {"grounding": "tying", "strength": 0.5},
    "bilstm-mlm": {"grounding": "mlm", "mask_probability": 0.3},
    "bilstm-deep": {"layers": 2, "clip": None, "tokenizer": "whitespace"},
    "bilstm-dropout": {"dropout_embedding": 0.2, "dropout_head": 0.3},
    "bilstm-three": {"classes": 3, "class_weight": "balanced", "tokenizer": "keras"},
    "bigru-concat": {"encoder": "bigru", "grounding": "concat", "initialisation": "xavier"},
    "bigru-sparsegen": {"encoder": "bigru", "projection": "sparsegen", "lam": 0.5, "classes": 3},
    "conv": {"encoder": "conv", "amsgrad": False, "tokenizer": "digits-masked"},
    "conv-residual": {"encoder": "conv", "grounding": "residual", "attention": "dot"},
    "mlp-entmax": {"encoder": "mlp", "projection": "entmax", "alpha": 1.2, "min_df": 2},
    "none": {"encoder": "none", "head": "softmax", "tokenizer": "as-written", "lowercase": False},
    "none-frozen": {"encoder": "none", "freeze_embeddings": True, "unit_norm": True},
    "transformer": {"encoder": "transformer", "heads": 2, "attention": "dot"},
    "transformer-prenorm": {
        "encoder": "transformer-prenorm",
        "heads": 2,
        "layers": 1,
        "projection": "sparsegen",
        "lam": -2.0,
        "tokenizer": "characters",
    },
    "hierarchical": {"hierarchical": True, "encoder": "bigru", "max_vocabulary": 30},
    "hierarchical-mixed": {
        "hierarchical": True,
        "encoder": "conv",
        "sentence_encoder": "none",
        "classes": 3,
        "projection": "sparsemax",
        "dropout_sentence": 0.1,
    },
}
"""Option sets whose weights are frozen before training and after one epoch."""

TEXTS = [
    "It doesn't cost $3.50!",
    "A well-made film<br />of 1,000 words’ length… isn’t it???",
    "很好 movie ภาพยนตร์ดี!",
    "Cafe\u0301 naïve -- 'quoted' 3-2 (2nd)!!! ! !",
    "  two  blanks\tand\nlines \r\n ",
    "İstanbul STRASSE ß ﬁlm",
]
"""Texts that the tokenizers split differently."""

STUDY: dict[str, Any] = {
    "name": "golden",
    "corpora": {"planted": {"documents": 72, "length": 10}},
    "models": {
        "encoder": "conv",
        "hidden_size": 6,
        "embedding_size": 6,
        "projection": ["softmax", {"sparsegen": {"lam": [0.5]}}],
    },
    "training": {"epochs": 1},
    "seeds": [0, 1],
    "exams": ["erasure", {"replacement": {"permutations": 3}}],
    "adversaries": {"lams": [0.1], "seeds": [4], "epochs": 1},
}
PAPERS = (
    *("jain-wallace-2019", "meister-2021", "serrano-smith-2019", "tutek-snajder-2020"),
    "wiegreffe-pinter-2019",
)
NOT_FROZEN = (
    *("meister-2021/figure1", "meister-2021/figure4"),
    *("serrano-smith-2019/figure3", "serrano-smith-2019/figure7"),
)
"""Tables with the points of scatter plots."""


# corpora and models


def frame() -> pd.DataFrame:
    """Return the frozen documents: split, text, two labels and a rationale for each label."""
    return pd.read_json(FOLDER / "corpus.jsonl", lines=True)


@cache
def corpus(classes: int, marked: bool = True) -> verax.Corpus:
    """Return the frozen documents with one of their two labels."""
    label, splits = LABELS[classes], frame().groupby("split")
    column = f"{label}_marks" if marked else "none"
    columns = ["text", label, *([column] if marked else [])]
    tables = {name: rows[columns].reset_index(drop=True) for name, rows in splits}
    more: dict[str, Any] = {"rationale_column": column} if marked else {}
    return verax.load_corpus(tables, label_column=label, **more)


def corpus_of(case: str) -> verax.Corpus:
    """Return the corpus on which a case is examined."""
    return corpus(int(case.rsplit("-", 1)[1]))


@cache
def model_of(case: str) -> Any:
    """Return the model of a case, built from its committed weights."""
    kind, classes = case.rsplit("-", 1)
    names, folder = corpus_of(case).classes, MODELS / case
    if kind in ("encoder", "decoder"):
        return verax.from_transformers(folder, max_length=LONGEST, device="cpu")
    if kind == "function":
        described = json.loads((MODELS / f"{case}.json").read_text(encoding="utf-8"))
        function = word_sums(described["weights"], described["bias"])
        name = "word_sums"
        if int(classes) == 2:
            return verax.from_predict(_softmax(function), names, name=name, mask="[MASK]")
        return verax.from_predict(function, names, gives="logits", name=name)
    described = json.loads((MODELS / f"{case}.json").read_text(encoding="utf-8"))
    weights = load_file(MODELS / f"{case}.safetensors")
    if kind == "module":
        module = SmallModule(len(described["words"]), int(classes))
        module.load_state_dict(weights)
        return as_pooled(module.eval(), described["words"], names, int(classes))
    options = ModelOptions(**SIZES, **POOLED[case], max_length=LONGEST).resolved(int(classes))
    model = make_classifier(options, Vocabulary(described["words"]), names)
    model.load_state_dict(weights)
    return model.eval()


def as_pooled(module: SmallModule, words: list[str], classes: list[str], many: int) -> Any:
    """Wrap a module by its parts; with three classes without `embed`."""
    embed = {"embed": module.vectors, "encode": module.encode}
    if many == 3:
        embed = {"encode": lambda rows, mask: module.encode(module.vectors(rows), mask)}
    return verax.from_module(
        module, vocabulary=words, classes=classes, attend=module.attend, head=module.head,
        padding="<pad>", unknown="<unk>", max_length=LONGEST, **embed,
    )  # fmt: skip


def _softmax(function: Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
    def probabilities(texts: list[str]) -> Any:
        powers = np.exp(function(texts))
        return powers / powers.sum(1, keepdims=True)

    return probabilities


def save_weights(case: str, state: Mapping[str, torch.Tensor], words: list[str]) -> None:
    """Write weights and vocabulary for `model_of`."""
    MODELS.mkdir(parents=True, exist_ok=True)
    save_file(
        {n: v.detach().contiguous().clone() for n, v in state.items()},
        MODELS / f"{case}.safetensors",
    )
    text = json.dumps({"words": words}, ensure_ascii=False, indent=0)
    (MODELS / f"{case}.json").write_text(text + "\n", encoding="utf-8")


def vocabulary_words(model: Any) -> list[str]:
    """Return the vocabulary of a trained model, in order."""
    return list(model.vocabulary.words)


# rows


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread, so that sums do not depend on the number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def exam_rows(case: str) -> pd.DataFrame:
    """Examine the model of a case; return all numbers, and which exams apply."""
    kind = case.rsplit("-", 1)[0]
    options = FOR_ITEMS
    if kind in ("encoder", "decoder"):
        options = FOR_TRANSFORMERS
    elif kind == "function":
        options = FOR_FUNCTIONS
    options = {**options, **MORE.get(case, {})}
    model, read, own = model_of(case), corpus_of(case), {}
    if case == "function-3":
        own = {"length": [[float(len(word)) for word in words] for words in _words_of(model, read)]}
    applied = _applied(model, list(verax.EXAMS), bool(own))
    names = [name for name, reason in applied.items() if not reason]
    given = {name: values for name, values in options.items() if name in names}
    with one_thread():
        verdict = verax.examine(
            model, read, exams=names, seed=3, progress=False, device="cpu",
            importances=own, exam_options=given,
        )  # fmt: skip
    plans = [f"applies.{name}.{reason or 'yes'}" for name, reason in applied.items()]
    return pd.concat([rows_of(case, plans, ALL, 1.0), *verdict_rows(case, verdict)])


def _words_of(model: Any, read: verax.Corpus) -> list[list[str]]:
    return [list(words) for words in model.encode(read.test).words]


def _applied(model: Any, names: list[str], own: bool) -> dict[str, str]:
    """Return for each exam why it does not apply: kind, model, own (importances), or empty."""
    reasons = {}
    for planned in plan(model, names, ["own"] if own else []):
        cls = variant(planned.name, model.kind)
        if planned.exam is not None:
            reasons[planned.name] = ""
        elif cls is None:
            reasons[planned.name] = "kind"
        else:
            reasons[planned.name] = "model" if cls.why_not(model) else "own"
    return reasons


def set_of(name: str) -> tuple[verax.Corpus, dict[str, Any]]:
    """Return the corpus of an option set, and the options of its model and training."""
    options = dict(SETS[name])
    read = corpus(options.pop("classes", 2), marked=False)
    if options.get("tokenizer") != "as-written":
        options["max_length"] = LONGEST
    return read, {"hidden_size": 6, "embedding_size": 6, "epochs": 1, **options}


def untrained_model(read: verax.Corpus, options: Mapping[str, Any]) -> Any:
    """Return the model that training begins with."""
    of_model, of_training = divide(options, ModelOptions, TrainingOptions)
    with shown(False) as display:
        return prepare(
            read, ModelOptions(**of_model), TrainingOptions(**of_training),
            seed=5, device=torch.device("cpu"), display=display,
        ).model  # fmt: skip


def weight_rows(name: str) -> pd.DataFrame:
    """Return all weights of an option set before and after one epoch, and the history."""
    read, options = set_of(name)
    parts = []
    with one_thread():
        untrained = untrained_model(read, options)
        trained = verax.train(read, seed=5, device="cpu", progress=False, **options)
    for when, model in (("initial", untrained), ("trained", trained)):
        for parameter, value in model.state_dict().items():
            flat = value.double().flatten().numpy()
            parts.append(rows_of(name, f"{when}/{parameter}", np.arange(len(flat)), flat))
    history = trained.history.select_dtypes("number")
    for column in history:
        numbers = history[column].to_numpy(dtype=np.float64)
        parts.append(rows_of(name, f"history/{column}", np.arange(len(numbers)), numbers))
    return pd.concat(parts)


def architecture_rows(name: str) -> pd.DataFrame:
    """Return the logits of a tiny model as computed by Verax."""
    from external.architectures import make_model
    from support.tiny_bert import TEXTS as TINY
    from support.tiny_bert import make_tokenizer

    with one_thread():
        classifier = verax.from_transformers(make_model(name), make_tokenizer())
        logits = classifier.trace(TINY).logits.double().numpy()
    many, classes = logits.shape
    documents = np.repeat(np.arange(many), classes)
    measures = [f"logits/{column}" for column in range(classes)] * many
    return rows_of(name, measures, documents, logits.ravel())


def architectures() -> list[str]:
    """Return the names of the architectures."""
    from external.architectures import CONFIGURATIONS

    return list(CONFIGURATIONS)


def study_rows(folder: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Run a small study; return the rows of all its tables, and the keys of its cells."""
    with one_thread():
        results = verax.run_study(STUDY, folder, workers=1, progress=False)
    parts, keys = [], {}
    for key in results.done:
        cell = results.cell(key)
        name = f"{cell.model['projection']}-{cell.seed}"
        keys[f"study/{name}/key"] = key
        verdict = results.verdict(key)
        parts += list(verdict_rows(name, verdict))
        adversaries = results.table("adversaries", columns=[])
        own = adversaries[adversaries["cell"] == key].drop(columns="cell")
        parts.append(table_rows(name, "adversaries", own))
        history = results.history(columns=[])
        history = history[history["cell"] == key].drop(columns=["cell", "seconds"], errors="ignore")
        for column in history.select_dtypes("number"):
            numbers = history[column].to_numpy(dtype=np.float64)
            parts.append(rows_of(name, f"history/{column}", np.arange(len(numbers)), numbers))
    return pd.concat(parts), keys


def exact() -> dict[str, Any]:
    """Return tokens, spans, rationales and encoded documents by id."""
    found: dict[str, Any] = {}
    for kind in ("words", "digits-masked", "characters", "keras", "whitespace", "as-written"):
        for lowercase in (True, False):
            read, name = Tokenizer(kind, lowercase=lowercase), f"{kind}{'' if lowercase else '-as'}"
            for number, text in enumerate(TEXTS):
                found[f"tokens/{name}/{number}"] = read(text)
                found[f"spans/{name}/{number}"] = read.spans(text).tolist()
    for kind in ("words", "keras"):
        read_corpus = corpus(2)
        for split in ("train", "validation", "test"):
            documents = read_corpus.documents(split)
            texts = tokenize(documents, Tokenizer(kind)).first(LONGEST)
            found[f"tokens/corpus/{kind}/{split}"] = [" ".join(words) for words in texts.words]
            assert documents.marks is not None
            found[f"marks/corpus/{kind}/{split}"] = [
                "".join(map(str, row.astype(int).tolist()))
                for row in documents.marks.majority(texts.spans)
            ]
    for case in ("pooled-2", "hierarchical-3", "module-2"):
        model = model_of(case)
        encoded = model.encode(corpus_of(case).test)
        found[f"encoded/{case}"] = [row.tolist() for row in encoded.tokens]
        if encoded.sentences is not None:
            found[f"sentences/{case}"] = [row.tolist() for row in encoded.sentences]
    for case in ("encoder-2", "decoder-3"):
        pieces = model_of(case).encode(corpus_of(case).test).pieces
        found[f"encoded/{case}"] = [row.tolist() for row in pieces.input_ids]
        found[f"words/{case}"] = [row.tolist() for row in pieces.word]
    planted = verax.load_corpus("planted", documents=24, classes=3, sentences=2, distractors=1)
    for split in ("train", "validation", "test"):
        documents = planted.documents(split)
        found[f"planted/{split}"] = [" ".join(words) for words in tokenize(documents).words]
        found[f"planted/{split}/labels"] = documents.labels.tolist()
    return found


def encoded() -> dict[str, Any]:
    """Return tokens, spans and encoded ids of the test documents for each option set."""
    found: dict[str, Any] = {}
    for name in SETS:
        read, options = set_of(name)
        model = untrained_model(read, options)
        texts = model.encode(read.test)
        found[f"encoded/{name}"] = _lines(texts.tokens)
        if texts.sentences is not None:
            found[f"sentences/{name}"] = _lines(texts.sentences)
        found[f"tokens/{name}"] = [" ".join(words) for words in texts.words]
        written = [_as_frozen(text, model.word_tokenizer) for text in read.test.texts]
        spans = tokenize(written, model.word_tokenizer).spans
        found[f"spans/{name}"] = _lines(rows.ravel() for rows in spans)
    return found


def _as_frozen(text: str, tokenizer: Tokenizer) -> str:
    """Return a text as it was frozen: one that was cut had its first words joined by blanks."""
    words = Tokenizer(tokenizer.kind, lowercase=False)(text)
    cut = len(words) > LONGEST and tokenizer.kind != "as-written"
    return " ".join(words[:LONGEST]) if cut else text


def _lines(rows: Iterable[Any]) -> list[str]:
    return [" ".join(map(str, row.tolist())) for row in rows]


# papers


@cache
def cell_configurations() -> dict[str, str]:
    """Return for each cell key of the papers' studies its configuration as canonical JSON."""
    configurations = {}
    for path in sorted(RESULTS.rglob("cells.parquet")):
        table = pd.read_parquet(path, columns=["cell", "config"])
        for key, text in zip(table["cell"], table["config"], strict=True):
            config = json.loads(text)
            chosen = {name: config.get(name) for name in ("model", "training", "seed", "split")}
            chosen["corpus"] = config["corpus"]["corpus"]
            chosen["model"] = {n: v for n, v in chosen["model"].items() if n not in READING}
            chosen["exams"] = sorted(config["exams"])
            configurations[key] = json.dumps(chosen, sort_keys=True)
    return configurations


READING = ("tokenizer", "lowercase", "max_length")
"""Options of models that were options of corpora."""
CLAIM_IDS = ("id", "rank", "over")
"""Ids in a claim."""
CLAIM_NUMBERS = (
    *("favourable", "clearly", "contrary", "of", "tally", "fisher", "difference", "value"),
    *("low", "high", "sd", "seeds", "n"),
)
CLAIM_PARTS = ("claims", "parts", "reported", "comparisons", "a", "b")
TABLE_IDS = (
    *("corpus", "dataset", "encoder", "attention", "projection", "probe", "query_init"),
    *("document", "item", "seed", "layers", "over"),
)
TABLE_NUMBERS = (
    *("lam", "symlog", "delta_alpha", "strength", "published", "value", "sd", "low", "high"),
    *("seeds", "n"),
)


def canonical_claims(path: Path) -> str:
    """Return ids, numbers and cells of a paper's claims, without sentences and verdicts."""

    def kept(value: Any) -> Any:
        if isinstance(value, list):
            return [kept(one) for one in value]
        if not isinstance(value, dict):
            return value
        chosen = {n: value[n] for n in (*CLAIM_IDS, *CLAIM_NUMBERS) if n in value}
        chosen |= {n: kept(value[n]) for n in CLAIM_PARTS if n in value}
        if "cells" in value:
            chosen["cells"] = [cell_configurations()[key] for key in value["cells"]]
        return chosen

    claims = json.loads(path.read_text(encoding="utf-8"))
    ids = {n: claims[n] for n in ("paper", "corpora")} | {"set_aside": sorted(claims["set_aside"])}
    return json.dumps({**ids, **kept(claims)}, sort_keys=True)


def canonical_table(path: Path) -> str:
    """Return ids, numbers and cells of a paper's table."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in (*TABLE_IDS, *TABLE_NUMBERS) if name in rows[0]]
    lines = [
        [
            *(row[name] for name in names),
            *(cell_configurations()[key] for key in row["cells"].split()),
        ]
        for row in rows
    ]
    return json.dumps([names, *lines])


def paper_sums(paper: str) -> dict[str, str]:
    """Return the SHA-256 sum of the canonical content of each file of a paper's results."""
    folder = RESULTS / paper
    contents = {f"{paper}/claims.json": canonical_claims(folder / "claims.json")}
    for path in sorted((folder / "tables").glob("*.csv")):
        if f"{paper}/{path.stem}" not in NOT_FROZEN:
            contents[f"{paper}/tables/{path.name}"] = canonical_table(path)
    return {n: hashlib.sha256(text.encode()).hexdigest() for n, text in contents.items()}


# comparing


def environment() -> dict[str, str]:
    """Return what has to be equal for numbers to have equal bits."""
    return {
        "torch": torch.__version__,
        "capability": torch.backends.cpu.get_cpu_capability(),
        "machine": platform.machine(),
        "arithmetic": _arithmetic(),
        "dot_products": _dot_products(),
        **{name: version(name) for name in ("numpy", "scipy", "pandas", "transformers")},
    }


def _arithmetic() -> str:
    """Return a hash of a few results: math libraries choose their code by CPU model."""
    with one_thread(), torch.no_grad():
        x = torch.arange(1, 1 + 48 * 40, dtype=torch.float32).reshape(48, 40).mul(0.37).sin()
        y = x.T.contiguous().double()
        found = [x @ x.T, (x @ x.T).softmax(-1), y @ x.double(), x.exp().sum(), x.tanh().mean(0)]
        torch_bits = b"".join(one.double().numpy().tobytes() for one in found)
    a = x.double().numpy()
    numpy_bits = [a @ a.T, np.exp(a).sum(0), np.log(a * a).mean(), np.sqrt(a * a).sum()]
    bits = torch_bits + b"".join(np.asarray(one).tobytes() for one in numpy_bits)
    return hashlib.sha256(bits).hexdigest()[:16]


def _dot_products() -> str:
    """Return a hash of sums of products, whose order OpenBLAS chooses by CPU or by its settings."""
    x, y = (np.sin(np.arange(1, 2001) * step) for step in (0.37, 0.11))
    found = np.array([x[:many] @ y[:many] for many in range(1, 2000, 13)])
    return hashlib.sha256(found.tobytes()).hexdigest()[:16]


def same_machine() -> bool:
    """Return whether this environment is the one in which the numbers were frozen."""
    return environment() == json.loads((FOLDER / "environment.json").read_text(encoding="utf-8"))


def frozen_numbers(name: str) -> pd.DataFrame:
    """Return the frozen rows of one file in `numbers/`, with the kinds that `LOOSER` loosens."""
    rows = pd.read_parquet(NUMBERS / f"{name}.parquet")
    ids, kinds = number_ids(rows).to_numpy(), rows["kind"].astype(str).to_numpy(dtype=object)
    for pattern, kind in LOOSER.items():
        tighter = [other for other, allowed in TOLERANCE.items() if allowed < TOLERANCE[kind]]
        kinds[matches(pattern, ids) & np.isin(kinds.astype(str), tighter)] = kind
    return rows.assign(kind=kinds)


def frozen_json(name: str) -> dict[str, Any]:
    """Return a frozen JSON mapping."""
    return dict(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def changes() -> pd.DataFrame:
    """Return the intended changes: id or pattern, number of values, largest change, reason."""
    return pd.read_csv(CHANGES, dtype={"id": str, "reason": str}, keep_default_na=False)


def matches(pattern: str, ids: Iterable[str]) -> np.ndarray:
    """Return which ids match a pattern, in which `*` stands for any text."""
    names = pd.Series(list(ids), dtype=str)
    literal = pattern.replace("[", "[[]")
    hit = {id for id in set(names) if fnmatch.fnmatchcase(id, literal)}
    return names.isin(hit).to_numpy()


def is_changed(ids: Iterable[str]) -> np.ndarray:
    """Return which ids are listed in `changes.csv`."""
    names = list(ids)
    hits = np.zeros(len(names), dtype=bool)
    for pattern in changes()["id"]:
        hits |= matches(pattern, names)
    return hits


def number_ids(rows: pd.DataFrame) -> pd.Series:
    """Return the id of each row in `changes.csv`: `model/measure`."""
    return rows["model"].astype(str) + "/" + rows["measure"].astype(str)


def differences(frozen: pd.DataFrame, fresh: pd.DataFrame, *, bits: bool) -> list[str]:
    """Return a line for each frozen row that has changed or is missing; new rows are ignored.

    Args:
        frozen: rows with their kind.
        fresh: rows computed now.
        bits: require equal bits instead of the tolerance of each kind.
    """
    assert not fresh.duplicated(IDS).any(), fresh[fresh.duplicated(IDS)].head()
    frozen = frozen[~is_changed(number_ids(frozen))]
    both = frozen.merge(fresh, on=IDS, how="left", suffixes=("", "_now"), indicator=True)
    lacking = (both["_merge"] == "left_only").to_numpy()
    wrong = lacking.copy()
    allowed = both["kind"].astype(str).map(TOLERANCE).to_numpy(dtype=np.float64)
    for part in PARTS:
        old = both[part].to_numpy(dtype=np.float64)
        new = both[f"{part}_now"].to_numpy(dtype=np.float64)
        same = (old == new) | (np.isnan(old) & np.isnan(new))
        if not bits and part != "n":
            same |= np.abs(new - old) <= allowed * np.maximum(1.0, np.abs(old))
        if not bits:  # a correlation of equal scores may not even be defined
            same |= np.isinf(allowed)
        wrong |= ~same
    lines = []
    for _, row in both[wrong].iterrows():
        where = f"{row['model']}/{row['measure']}[{row['document']}]"
        old, new = ([row[f"{p}{s}"] for p in PARTS] for s in ("", "_now"))
        lines.append(f"{where}: {old} → {'missing' if row['_merge'] == 'left_only' else new}")
    return lines


def json_differences(frozen: Mapping[str, Any], fresh: Mapping[str, Any]) -> list[str]:
    """Return a line for each frozen value that has changed or is missing."""
    ids = list(frozen)
    kept = [id for id, changed in zip(ids, is_changed(ids), strict=True) if not changed]
    now = json.loads(json.dumps(dict(fresh)))
    return [f"{id}: {frozen[id]} → {now.get(id)}" for id in kept if now.get(id) != frozen[id]]
