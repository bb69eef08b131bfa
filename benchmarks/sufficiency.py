"""Comprehensiveness and sufficiency beside ferret's: the same numbers, and passes a second.

    python benchmarks/sufficiency.py FOLDER --ferret PYTHON [--texts 64] [--repeats 3]

FOLDER holds a BERT with its tokenizer, or is the name of an installed package, as `any_model.py`
takes it; a head for two classes is drawn at random. PYTHON is that of an environment with
ferret-xai 0.4.2, which needs transformers below 5 and so cannot be in Verax's. Texts are made up of
plain words of one piece each, so that ferret's tokens are words; both rank them by the same random
numbers.

same    texts of 20 words at 5, 10, 20 and 50%, where both take out as many words: do numbers agree?
eraser  texts of 12 to 28 words at ERASER's 1, 5, 10, 20 and 50%: what do the rules differ by? Ours
        rounds up, as ERASER's authors do. ferret's rounds down, and leaves out of the mean what is
        no word, or the same as at the percentage before.
speed   passes a second of a core's time on the latter: of the whole exam, tables included, and of
        ferret's two evaluators called text by text, as its Benchmark does
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ERASER = [1.0, 5.0, 10.0, 20.0, 50.0]
HEAD = 30.0
"""What the weights of the drawn head are multiplied by, so that probabilities are not all ½."""
EVEN = [5.0, 10.0, 20.0, 50.0]
"""Percentages that are whole numbers of 20 words, no two the same."""


def as_peer(task: dict[str, Any]) -> dict[str, Any]:
    """ferret's two numbers of each text, passes, and the least seconds that a round took."""
    import torch
    import transformers
    from ferret.evaluators.faithfulness_measures import (
        AOPC_Comprehensiveness_Evaluation,
        AOPC_Sufficiency_Evaluation,
    )
    from ferret.explainers.explanation import Explanation

    torch.set_num_threads(task["threads"])
    model = transformers.AutoModelForSequenceClassification.from_pretrained(task["folder"]).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(task["folder"])
    kinds = (AOPC_Comprehensiveness_Evaluation, AOPC_Sufficiency_Evaluation)
    evaluators = [kind(model, tokenizer) for kind in kinds]
    passes = 0

    def count(module: Any, inputs: Any, output: Any) -> None:
        nonlocal passes
        passes += len(output.logits)

    hook = model.register_forward_hook(count)
    how = {
        "only_pos": True,  # all scores are; without, it compares an array with [], which fails
        "removal_args": {
            "remove_tokens": True,
            "based_on": "perc",
            "thresholds": [one / 100 for one in task["percentages"]],
        },
    }

    def evaluate() -> list[list[float]]:
        rows = []
        for text, scores, target in zip(
            task["texts"], task["scores"], task["targets"], strict=True
        ):
            whole = np.array([0.0, *scores, 0.0])  # with those of [CLS] and [SEP]
            tokens = tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])
            given = Explanation(text, tokens, whole, "given", target)
            rows.append(
                [float(one.compute_evaluation(given, target, **how).score) for one in evaluators]
            )
        return rows

    numbers = evaluate()
    each = passes
    hook.remove()
    seconds = []
    for _ in range(task["repeats"]):
        started = time.process_time()
        evaluate()
        seconds.append(time.process_time() - started)
    return {"numbers": numbers, "passes": each, "seconds": min(seconds, default=float("nan"))}


def ask_peer(python: str, task: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder) / "task.json", Path(folder) / "answer.json"
        given.write_text(json.dumps(task), encoding="utf-8")
        command = [python, __file__, "--as-peer", str(given), str(answer)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"ferret failed:\n{done.stderr[-2000:]}")
        return json.loads(answer.read_text(encoding="utf-8"))


def examined(
    model: Any, texts: list[str], scores: list[Any], percentages: list[float], repeats: int
) -> tuple[np.ndarray, float, float]:
    """(texts, 2): our two numbers of each text; sets asked about, and the least seconds."""
    import verax
    from verax.exams.sufficiency.summary import rankings_of
    from verax.exams.tables import wide

    seconds = []
    for _ in range(max(1, repeats)):
        started = time.process_time()
        verdict = verax.examine(
            model,
            texts,
            "sufficiency",
            importances={"given": scores},
            rankings="random",
            random_orders=1,
            greedy_sets=0,
            percentages=",".join(map(str, percentages)),
            progress=False,
        )
        seconds.append(time.process_time() - started)
    one = rankings_of(verdict.tables)["given"]
    numbers = np.stack([one.mean("comprehensiveness"), one.mean("sufficiency")], axis=1)
    instances = wide(verdict.tables["sufficiency_instances"])
    return numbers, float(instances["asked"].sum() + len(instances)), min(seconds)


def make_texts(tokenizer: Any, count: int, low: int, high: int) -> list[str]:
    """Texts of plain words that are one piece each, no two words of a text the same."""
    from any_model import WORDS

    plain = [word for word in WORDS if len(tokenizer.tokenize(word)) == 1]
    random = np.random.default_rng(0)
    lengths = [int(random.integers(low, high + 1)) for _ in range(count)]
    return [" ".join(random.choice(plain, n, replace=False)) for n in lengths]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--ferret", help="the Python of ferret's environment")
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--as-peer", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.as_peer:
        given, answer = (Path(one) for one in options.as_peer)
        found = as_peer(json.loads(given.read_text(encoding="utf-8")))
        answer.write_text(json.dumps(found), encoding="utf-8")
        return
    if not options.folder or not options.ferret:
        parser.error("give a folder, and --ferret PYTHON")
    compare(options)


def compare(options: argparse.Namespace) -> None:
    import torch
    from any_model import make

    torch.set_num_threads(options.threads)
    model = make(options.folder)
    tokenizer = model.reader.tokenizer
    with torch.no_grad():
        model.module.classifier.weight.mul_(HEAD)
    with tempfile.TemporaryDirectory() as folder:
        model.module.save_pretrained(folder)
        tokenizer.save_pretrained(folder)

        def both(percentages: list[float], low: int, high: int, repeats: int) -> Any:
            texts = make_texts(tokenizer, options.texts, low, high)
            random = np.random.default_rng(1)
            scores = [random.random(len(text.split())) for text in texts]
            ours = examined(model, texts, scores, percentages, repeats)
            task = {
                "folder": folder,
                "texts": texts,
                "scores": [one.tolist() for one in scores],
                "targets": model.logits(texts).argmax(-1).tolist(),
                "percentages": percentages,
                "threads": options.threads,
                "repeats": repeats,
            }
            return ours, ask_peer(options.ferret, task)

        (ours, _, _), theirs = both(EVEN, 20, 20, 0)
        apart = np.abs(ours - np.array(theirs["numbers"])).max()
        print(f"same sets: ours and ferret's numbers agree to {apart:.1e} (aim 1e-5)")
        (ours, asked, seconds), theirs = both(ERASER, 12, 28, options.repeats)
        other = np.array(theirs["numbers"])
        means, their_means, apart = ours.mean(0), other.mean(0), np.abs(ours - other).mean(0)
        for k, name in enumerate(("comprehensiveness", "sufficiency")):
            print(
                f"{name} at 1, 5, 10, 20, 50%: ours {means[k]:.4f}, ferret's {their_means[k]:.4f}; "
                f"texts differ by {apart[k]:.4f} on average"
            )
        rate, their_rate = asked / seconds, theirs["passes"] / theirs["seconds"]
        print(
            f"passes a second of a core, ours ÷ ferret's: {rate / their_rate:.2f} "
            f"({asked:.0f} passes in {seconds:.1f} s, {theirs['passes']} in "
            f"{theirs['seconds']:.1f} s)"
        )


if __name__ == "__main__":
    main()
