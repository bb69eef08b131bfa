"""Freeze today's numbers, with which `test_golden.py` compares every later version.

    python tests/golden/freeze.py --first

The first freeze stays: a number that changes on purpose gets a row in `changes.csv`. The script
therefore replaces existing numbers only with `--first`; without it, it adds `encoded.json` where
that is missing. Models are trained if they are missing; to train them again, remove `models/`.

Every number is also computed by processes restricted to older CPU instructions, which decides how
it is compared on other machines: as a decision (whole numbers that stay the same), as float64 (ten
digits stay the same), as float32 (five do), or not at all ("order": it depends on the rank order of
scores that differ by rounding only).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from pyarrow import parquet

import verax
from golden import frozen as golden
from golden.small_models import SmallModule
from support.documents import COLUMNS
from verax.corpora import tokenize

OLDER = {
    "plain": {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "DNNL_MAX_CPU_ISA": "SSE41",
        "OPENBLAS_CORETYPE": "Prescott",
    },
    "mixed": {"ATEN_CPU_CAPABILITY": "default"},
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_CBWR": "AVX2",
        "DNNL_MAX_CPU_ISA": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
    },
}
"""Environments in which a process computes as on an older CPU."""
_MARGIN = 0.1
"""The fraction of a tolerance that may be used up on older CPUs."""
_STEPS = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--first", action="store_true", help="replace a freeze that is there")
    parser.add_argument("--again", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.again:
        write_numbers(Path(options.again))
        return
    if golden.NUMBERS.exists() and not options.first:
        if not (golden.FOLDER / "encoded.json").exists():
            write_json("encoded", golden.encoded())
            return
        sys.exit(
            f"{golden.NUMBERS} is there: give changed numbers a row in changes.csv, or --first"
        )
    make_models()
    with tempfile.TemporaryDirectory() as folder:
        for name, environment in OLDER.items():
            command = [sys.executable, __file__, "--again", str(Path(folder) / name)]
            subprocess.run(command, env={**os.environ, **environment}, check=True)
        fresh = Path(folder) / "fresh"
        others = write_numbers(fresh)
        golden.NUMBERS.mkdir(exist_ok=True)
        parts = []
        for path in sorted(fresh.glob("*.parquet")):
            again = [pd.read_parquet(Path(folder) / name / path.name) for name in OLDER]
            parts.append(apart(pd.read_parquet(path), again).assign(file=path.stem))
        every = pd.concat(parts, ignore_index=True)
        every["kind"] = kinds(every)
        for name, rows in every.groupby("file"):
            write(golden.NUMBERS / f"{name}.parquet", rows[[*COLUMNS, "kind"]])
            counts = ", ".join(f"{n:,} {kind}" for kind, n in Counter(rows["kind"]).items())
            sys.stdout.write(f"{name}: {len(rows):,} rows ({counts})\n")
    others["environment"] = golden.environment()
    others["papers"] = {n: s for p in golden.PAPERS for n, s in golden.paper_sums(p).items()}
    others["encoded"] = golden.encoded()
    for name, value in others.items():
        write_json(name, value)


def write_numbers(folder: Path) -> dict[str, Any]:
    """Write all numbers as Parquet files and return the values that are not numbers."""
    folder.mkdir(parents=True)
    for case in golden.CASES:
        write(folder / f"{case}.parquet", golden.exam_rows(case))
    sets = pd.concat([golden.weight_rows(name) for name in golden.SETS])
    write(folder / "weights.parquet", sets)
    logits = pd.concat([golden.architecture_rows(name) for name in golden.architectures()])
    write(folder / "architectures.parquet", logits)
    with tempfile.TemporaryDirectory() as study:
        rows, keys = golden.study_rows(Path(study) / "study")
    write(folder / "study.parquet", rows)
    return {"exact": {**golden.exact(), **keys}}


def write_json(name: str, value: dict[str, Any]) -> None:
    """Write values that are compared exactly."""
    text = json.dumps(value, ensure_ascii=False, indent=0)
    (golden.FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def write(path: Path, rows: pd.DataFrame) -> None:
    """Write rows as Parquet, with names as categories."""
    names = {name: "category" for name in ("model", "measure", "kind") if name in rows}
    if rows.duplicated(golden.IDS).any():
        sys.exit(f"rows of one id: {rows[rows.duplicated(golden.IDS)].head()}")
    table = pa.Table.from_pandas(rows.astype(names), preserve_index=False)
    parquet.write_table(table, path, compression="zstd", compression_level=19)


def apart(rows: pd.DataFrame, again: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Add two columns: `off`, the largest relative error on older CPUs, and `whole`."""
    off, whole = np.zeros(len(rows)), np.ones(len(rows), dtype=bool)
    for other in again:
        both = rows.merge(other, on=golden.IDS, how="left", suffixes=("", "_again"))
        for part in golden.PARTS:
            old, new = (both[f"{part}{end}"].to_numpy(dtype=float) for end in ("", "_again"))
            error = np.abs(new - old) / np.maximum(1, np.abs(old))
            error[(old == new) | (np.isnan(old) & np.isnan(new))] = 0
            off = np.fmax(off, np.where(np.isnan(error), np.inf, error))
            whole &= np.isnan(old) | (old == np.round(old))
    names = {"model": str, "measure": str}
    return rows.astype(names).assign(off=off, whole=whole)


def kinds(rows: pd.DataFrame) -> np.ndarray:
    """Return how the numbers of each measure are compared.

    A number in single precision can have the same bits by luck, but hardly in all models: float64
    is what keeps its digits in every one of them. The functions compute in double precision.
    """
    rows = rows.assign(double=rows["model"].str.startswith("function"))
    groups = rows.groupby(["model", "measure"], sort=False)
    most = groups["off"].transform("max")
    everywhere = rows.groupby(["double", "measure"], sort=False)["off"].transform("max")
    # a constant 0 or 1 may be a number that happens to be at its bound
    several = (groups["value"].transform("nunique") > 1) | (groups["value"].transform("max") > 1)
    counted = groups["whole"].transform("all") & several & (most == 0)
    limits = [
        counted,
        everywhere <= _MARGIN * golden.TOLERANCE[golden.DOUBLE],
        most <= _MARGIN * golden.TOLERANCE[golden.SINGLE],
    ]
    return np.select(limits, [golden.DECISION, golden.DOUBLE, golden.SINGLE], golden.ORDER)


def make_models() -> None:
    """Train the models that are missing."""
    for case in golden.CASES:
        kind, classes = case.rsplit("-", 1)
        made = golden.MODELS / case
        if made.exists() or made.with_suffix(".json").exists():
            continue
        golden.MODELS.mkdir(exist_ok=True)
        corpus = golden.corpus_of(case)
        if kind in ("encoder", "decoder"):
            make_transformer(case, kind, int(classes), corpus)
        elif kind == "module":
            make_module(case, int(classes), corpus)
        elif kind == "function":
            make_function(case, corpus)
        else:
            options = {**golden.SIZES, **golden.POOLED[case], "epochs": 40, "lr": 0.01}
            model = verax.train(corpus, seed=1, device="cpu", progress=False, **options)
            golden.save_weights(case, model.state_dict(), golden.vocabulary_words(model))


def make_module(case: str, classes: int, corpus: verax.Corpus) -> None:
    words = ["<pad>", "<unk>", *sorted({w for words in _words(corpus) for w in words})]
    places = {word: row for row, word in enumerate(words)}
    torch.manual_seed(2)
    module = SmallModule(len(words), classes)
    texts = [torch.tensor([places[word] for word in text]) for text in _words(corpus)]
    rows = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)
    fit(module, corpus, 0.03, lambda: module(rows, rows > 0))
    golden.save_weights(case, module.state_dict(), words)


def make_function(case: str, corpus: verax.Corpus) -> None:
    """Write log-odds of words, rounded to three decimals."""
    many = len(corpus.classes)
    counts: dict[str, list[float]] = {}
    for words, label in zip(_words(corpus), corpus.train.labels.tolist(), strict=True):
        for word in dict.fromkeys(word.lower() for word in words if word.isalpha()):
            counts.setdefault(word, [0.5] * many)[label] += 1
    weights = {
        word: [round(math.log(n) - sum(map(math.log, row)) / many, 3) for n in row]
        for word, row in sorted(counts.items())
    }
    value = {"weights": weights, "bias": [0.1, *[0.0] * (many - 1)]}
    text = json.dumps(value).replace("],", "],\n")
    (golden.MODELS / f"{case}.json").write_text(text + "\n", encoding="utf-8")


def make_transformer(case: str, kind: str, classes: int, corpus: verax.Corpus) -> None:
    import transformers

    tokenizer = make_tokenizer(corpus, kind)
    sizes: dict[str, Any] = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": 48,
        "pad_token_id": 0,
        "vocab_size": len(tokenizer),
        "num_labels": classes,
        "id2label": dict(enumerate(corpus.classes)),
        "label2id": {name: number for number, name in enumerate(corpus.classes)},
    }
    name = {"encoder-2": "Bert", "encoder-3": "ModernBert", "decoder-2": "Llama"}.get(case, "GPT2")
    if name == "ModernBert":
        sizes |= {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
        sizes |= {"global_attn_every_n_layers": 2, "local_attention": 6}
        sizes |= {"classifier_pooling": "mean"}
    if name == "Llama":
        sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "bos_token_id": 2}
        sizes |= {"eos_token_id": 3}
    if name == "GPT2":
        renamed = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 48, "n_inner": 24}
        same = ("vocab_size", "num_labels", "id2label", "label2id", "pad_token_id")
        sizes = {k: sizes[k] for k in same} | renamed | {"bos_token_id": 2, "eos_token_id": 3}
    torch.manual_seed(3)
    config = getattr(transformers, f"{name}Config")(**sizes)
    model = getattr(transformers, f"{name}ForSequenceClassification")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.2)
    texts = [str(text) for text in golden.frame().query("split == 'train'")["text"]]
    read = tokenizer(
        texts, padding=True, truncation=True, max_length=golden.LONGEST, return_tensors="pt"
    )
    inputs = {name: read[name] for name in ("input_ids", "attention_mask")}
    fit(model.eval(), corpus, 0.004, lambda: model(**inputs).logits)
    model.save_pretrained(golden.MODELS / case)
    tokenizer.save_pretrained(golden.MODELS / case)


def _words(corpus: verax.Corpus) -> list[list[str]]:
    return tokenize(corpus.train).first(golden.LONGEST).words


def make_tokenizer(corpus: verax.Corpus, kind: str) -> Any:
    """Return a tokenizer with a piece per frequent word and letter; encoders get a [CLS]."""
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    counts = Counter(word.lower() for words in _words(corpus) for word in words)
    whole = sorted(word for word, many in counts.items() if many > 3)
    letters = sorted({letter for word in counts for letter in word})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *dict.fromkeys([*whole, *letters, *(f"##{one}" for one in letters)])]
    tokenizer = Tokenizer(models.WordPiece({p: n for n, p in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    before = "[CLS] " if kind == "encoder" else ""
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{before}$A [SEP]", pair=None, special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    named = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    if kind == "decoder":
        del named["mask_token"]
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)


def fit(module: Any, corpus: verax.Corpus, lr: float, logits: Callable[[], Any]) -> None:
    """Take a few steps of Adam on the whole training split."""
    labels = torch.from_numpy(corpus.train.labels.astype(np.int64))
    optimiser = torch.optim.Adam(module.parameters(), lr=lr)
    for _ in range(_STEPS):
        given = logits()
        if given.shape[-1] == 1:
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                given.squeeze(-1), labels.float()
            )
        else:
            loss = torch.nn.functional.cross_entropy(given, labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    found = (given > 0).long().squeeze(-1) if given.shape[-1] == 1 else given.argmax(-1)
    right = float((found == labels).float().mean())
    sys.stdout.write(f"{type(module).__name__}: {right:.2f} of the training texts\n")


if __name__ == "__main__":
    main()
