"""Models, tokenizers and texts that are not as one would like: handled, or refused in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from architectures import make_model
from torch import Tensor, nn

import verax
from support.errors import raises
from support.internals import MODEL_KINDS as KINDS
from verax import TransformerClassifier
from verax.exams import Exam, register, unregister
from verax.exams.authoring import Measure, Table, number_cell, summary_frame


def refused(code: str, *args: Any, **options: Any) -> None:
    with raises(code) as raised:
        verax.from_transformers(*args, **options)
    assert "\n" not in str(raised.value)


class Averages(transformers.PreTrainedModel):  # type: ignore[misc]
    """A classifier without attention."""

    config_class = transformers.BertConfig
    base_model_prefix = "words"
    _supports_sdpa = True

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.words = Words(config.vocab_size, config.hidden_size)
        self.score = nn.Linear(config.hidden_size, 2)

    def get_input_embeddings(self) -> nn.Module:
        return self.words.vectors

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **more: Any) -> Any:
        (states,) = self.words(input_ids)
        shares = attention_mask / attention_mask.sum(-1, keepdim=True)
        output = transformers.modeling_outputs.SequenceClassifierOutput
        return output(logits=self.score((shares.unsqueeze(-1) * states).sum(1)))


class Words(nn.Module):
    def __init__(self, many: int, size: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(many, size)

    def forward(self, input_ids: Tensor) -> tuple[Tensor]:
        return (self.vectors(input_ids),)


def test_models_that_cannot_be_examined_are_refused(tokenizer: Any) -> None:
    config = make_model("Bert").config
    refused("model.no-attention", Averages(config), tokenizer)
    refused("model.wrong-output", transformers.BertModel(config), tokenizer)
    refused("model.bad-vocabulary", make_model("Bert", vocab_size=5), tokenizer)
    tagger = transformers.BertForTokenClassification(config)
    refused("model.wrong-output", tagger, tokenizer)
    refused("model.wrong-type", nn.Linear(2, 2), tokenizer)
    refused("model.wrong-type", 3, tokenizer)
    refused("model.needs-tokenizer", make_model("Bert"))
    adapted = make_model("Bert")
    adapted.merge_and_unload = lambda: None
    refused("model.adapter", adapted, tokenizer)


def test_other_heads_are_refused(tokenizer: Any) -> None:
    many = make_model("Bert", problem_type="multi_label_classification")
    refused("model.not-single-label", many, tokenizer)
    for options in ({"problem_type": "regression"}, {"num_labels": 1}):
        refused("model.not-single-label", make_model("Bert", **options), tokenizer)
    for classes in (["a", "b", "c"], "ab"):
        refused("model.class-names", make_model("Bert"), tokenizer, classes=classes)


def test_a_slow_tokenizer_is_refused(tokenizer: Any) -> None:
    class Slow:
        is_fast = False

    refused("model.needs-tokenizer", make_model("Bert"), Slow())


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, tokenizer: Any) -> Path:
    folder = tmp_path_factory.mktemp("bert")
    make_model("Bert").save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def copied(folder: Path, to: Path, **config: Any) -> Path:
    """The same folder with another configuration."""
    for file in folder.iterdir():
        (to / file.name).write_bytes(file.read_bytes())
    settings = json.loads((to / "config.json").read_text())
    (to / "config.json").write_text(json.dumps(settings | config))
    return to


def test_folders_are_read_or_refused(saved: Path, tmp_path: Path) -> None:
    texts = ["the film was good", "bad"]
    classifier = verax.from_transformers(saved)
    same = verax.from_transformers(make_model("Bert"), classifier.reader.tokenizer)
    assert torch.equal(classifier.logits(texts), same.logits(texts))

    refused("model.missing", tmp_path)
    folder = copied(saved, tmp_path)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    refused("model.unsafe", folder)
    (folder / "config.json").write_text("{")
    refused("model.unreadable", folder)
    copied(saved, folder, auto_map={"AutoModelForSequenceClassification": "own.Own"})
    refused("model.unsafe", folder)
    copied(saved, folder, quantization_config={"quant_method": "bitsandbytes"})
    refused("model.quantized", folder)
    copied(saved, folder, num_hidden_layers=3)
    refused("model.untrained-weights", folder)
    copied(saved, folder, model_type="of another world")
    refused("model.unreadable", folder)
    (folder / "adapter_config.json").write_text("{}")
    refused("model.adapter", folder)


def test_a_compiled_model_is_unwrapped(tokenizer: Any) -> None:
    model, compiled = make_model("Bert"), nn.Module()
    compiled._orig_mod = model  # where torch.compile keeps it
    assert verax.from_transformers(compiled, tokenizer).module is model


@pytest.mark.parametrize(
    "how", ["training", "checkpointing", "flash_attention_2", "flex_attention"]
)
def test_how_a_model_is_set_changes_nothing(how: str, tokenizer: Any, texts: list[str]) -> None:
    plain = verax.from_transformers(make_model("Bert"), tokenizer).logits(texts)
    model = make_model("Bert")
    if how == "training":
        model.train()
    elif how == "checkpointing":
        # its older name warns in newer releases of transformers
        enable = getattr(model, "activation_checkpointing_enable", None)
        (enable or model.gradient_checkpointing_enable)()
        model.train()
    else:
        model.config._attn_implementation_internal = how
    classifier = verax.from_transformers(model, tokenizer)
    assert torch.allclose(classifier.logits(texts), plain, atol=1e-6)
    pieces = classifier.trace(texts).pieces
    slope = torch.zeros((), requires_grad=True)
    moved = classifier.run(pieces, lambda site: site.weights * (1 + slope)).logits.sum()
    assert torch.autograd.grad(moved, slope)[0] != 0
    assert model.training == (how in ("training", "checkpointing"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_works(dtype: torch.dtype, tokenizer: Any, texts: list[str]) -> None:
    whole = verax.from_transformers(make_model("Bert"), tokenizer)
    half = verax.from_transformers(make_model("Bert").to(dtype), tokenizer)
    assert half.describe() == whole.describe()
    assert half.logits(texts).dtype == torch.float32
    assert torch.allclose(half.logits(texts), whole.logits(texts), atol=0.15)


def test_weights_that_are_no_numbers_are_refused(tokenizer: Any) -> None:
    """Gemma's masks in double precision overflow in its softmax, which is in single precision."""
    model = make_model("Gemma2").double()
    refused("model.attention-mismatch", model, tokenizer)


def other_tokenizer(tokenizer: Any, **named: Any) -> Any:
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer._tokenizer, **named)


@pytest.mark.parametrize("name", ["GPT2", "Llama"])
def test_padding_is_never_the_tokenizers(name: str, tokenizer: Any, texts: list[str]) -> None:
    """On the left or without a padding token: a text gives what it gives alone.

    Every text ends with the piece that stands in for padding.
    """
    model = make_model(name)
    model.config.pad_token_id = None
    ends = {"eos_token": "[SEP]", "unk_token": "[UNK]"}
    without = verax.from_transformers(model, other_tokenizer(tokenizer, **ends))
    left = other_tokenizer(tokenizer, padding_side="left", pad_token="[PAD]", **ends)
    expected = torch.cat([alone(model, tokenizer, text) for text in texts])
    for classifier in (without, verax.from_transformers(model, left)):
        assert torch.allclose(classifier.logits(texts), expected, atol=1e-5)
        assert torch.allclose(classifier.trace(texts).logits, expected, atol=1e-5)
    assert model.config.pad_token_id is None


@torch.no_grad()
def alone(model: Any, tokenizer: Any, text: str) -> Tensor:
    return model(torch.tensor([tokenizer(text)["input_ids"]])).logits


def test_short_and_empty_texts(bert: TransformerClassifier, tokenizer: Any) -> None:
    trace = bert.trace(["good", "not bad"])
    assert trace.mask.tolist() == [[True, False], [True, True]]
    empty = bert.logits_of_whatever(["", "good"])
    assert torch.allclose(empty[:1], alone(bert.module, tokenizer, ""), atol=1e-6)
    removed = torch.tensor([[True, False]])
    for operator in bert.operators:
        assert bert.logits_without(trace, torch.tensor([0]), removed, operator).isfinite().all()
    # no special pieces: the empty text has none at all, a word one
    bare = other_tokenizer(tokenizer, pad_token="[PAD]", unk_token="[UNK]")
    bare._tokenizer.post_processor = None
    decoder = verax.from_transformers(make_model("GPT2"), bare)
    assert decoder.logits(["good"]).isfinite().all()
    assert decoder.logits_of_whatever(["", "good"]).isfinite().all()
    assert decoder.logits_of_whatever([""]).isfinite().all()
    with raises("text.empty", "1"):
        bert.trace(["good", " "])


class Counting(Exam):
    """The words of a document that were read."""

    name = "counting"
    kinds = KINDS
    charts = None
    summary_tables = (Table("counting", "words", (Measure("words", "words"),)),)
    tidy_tables = ("counting",)

    def see(self, model: Any, trace: Any) -> None:
        everyone = torch.ones(len(trace), dtype=torch.bool)
        self.builder.add(self.name, trace.ids, {"words": trace.mask.sum(-1)}, everyone)

    @classmethod
    def summarise(cls, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        values = tables[cls.name]["value"]
        mean = (float(values.mean()), float("nan"), float("nan"))
        return summary_frame(cls.name, [number_cell(cls.name, "all", "words", mean, len(values))])


@pytest.fixture
def counting() -> Iterator[str]:
    yield register(Counting).name
    unregister("counting")


def test_texts_that_are_too_long_are_counted(
    make_classifier: Any, reviews: verax.Corpus, counting: str
) -> None:
    classifier = make_classifier(how={"max_length": 8})
    texts = ["the film was good", "the film was very good and the plot was not", "bad"]
    read = classifier.encode(texts)
    assert (read.cut_at, read.cut_texts) == (8, 1)
    assert [len(words) for words in read.words] == [4, 6, 1]
    assert read.words[1] == texts[1].split()[:6]
    assert np.allclose(classifier.logits([texts[1]]), classifier.logits([" ".join(read.words[1])]))
    verdict = verax.examine(classifier, reviews, counting, "all")
    whole = make_classifier().encode(reviews.documents("all"))
    cut = int((whole.lengths > 8).sum())
    assert 0 < cut < len(whole)
    assert (verdict.manifest["cut_at"], verdict.manifest["cut_texts"]) == (8, cut)
    assert any(f"{cut} of the documents" in line for line in verdict.judgement.caveats)


def test_classes_that_do_not_match_are_refused(bert: TransformerClassifier, counting: str) -> None:
    texts = [f"{word} film {number}" for number in range(20) for word in ("good", "bad")]
    source = (texts, ["yes", "no"] * 20)
    corpus = verax.load_corpus(source, tokenizer="as-written", lowercase=False)
    with raises("corpus.unknown-class"):
        verax.examine(bert, corpus, counting)


def test_sentence_pairs_by_a_separator(tokenizer: Any) -> None:
    names = ["input_ids", "token_type_ids", "attention_mask"]
    tokenizer = other_tokenizer(tokenizer, pad_token="[PAD]", model_input_names=names)
    model = make_model("Bert")
    classifier = verax.from_transformers(model, tokenizer, separator="|")
    text = "the plot was good | the film is bad"
    read = classifier.encode([text])
    pair = tokenizer(*text.split("|"))
    assert read.pieces.input_ids[0].tolist() == pair["input_ids"]
    assert read.pieces.more["token_type_ids"][0].tolist() == pair["token_type_ids"]
    assert max(pair["token_type_ids"]) == 1
    assert read.words[0] == text.replace("|", "").split()
    assert read.pieces.word[0].tolist() == [-1, 0, 1, 2, 3, -1, 4, 5, 6, 7, -1]
    with torch.no_grad():
        logits = model(**{k: torch.tensor([v]) for k, v in pair.items()}).logits
    assert torch.allclose(classifier.logits([text]), logits, atol=1e-6)


def test_max_length_is_what_positions_allow(tokenizer: Any) -> None:
    """RoBERTa counts positions from its padding piece on."""
    classifier = verax.from_transformers(make_model("Roberta"), tokenizer)
    assert classifier.reader.max_length == 47
    assert classifier.logits(["good " * 60]).isfinite().all()
    for wrong in (48, 2):
        refused("option.out-of-range", make_model("Roberta"), tokenizer, max_length=wrong)


@pytest.mark.parametrize("readout", ["first", "mean"])
@torch.no_grad()
def test_a_bare_encoder_with_a_head(readout: str, tokenizer: Any, texts: list[str]) -> None:
    encoder, head = make_model("Bert").bert, nn.Linear(16, 3)
    names = ["a", "b", "c"]
    classifier = verax.from_transformers(encoder, tokenizer, readout, head=head, classes=names)
    (ids,) = tokenizer([texts[0]], return_tensors="pt")["input_ids"]
    states = encoder(ids[None]).last_hidden_state[0]
    expected = head(states[0] if readout == "first" else states.mean(0))
    assert torch.allclose(classifier.logits(texts)[0], expected, atol=1e-5)
    assert classifier.describe()["readout"] == readout
    refused("option.missing", encoder, tokenizer, head=head, classes=names)
    refused("option.wrong-type", encoder, tokenizer, readout, head=lambda x: x, classes=names)
    for wrong_classes in (None, 2, ["a", "a", "b"]):
        refused("model.class-names", encoder, tokenizer, readout, head=head, classes=wrong_classes)
    refused("option.unknown-value", encoder, tokenizer, None, head=head, classes=names)
    refused("model.class-names", encoder, tokenizer, readout, head=head)
    wrong = nn.Linear(5, 3)
    refused("model.failed", encoder, tokenizer, readout, head=wrong, classes=names)


def test_layers_with_other_heads_are_refused(tokenizer: Any) -> None:
    model = make_model("Bert")
    attention = model.bert.encoder.layer[1].attention.self
    attention.num_attention_heads, attention.attention_head_size = 4, 4
    refused("model.attention-mismatch", model, tokenizer)
