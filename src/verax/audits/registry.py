"""The audits there are."""

from __future__ import annotations

from verax.audits.audit import INJECTIONS, REVIEWS, SENTENCES, Audit, Entry
from verax.errors import VeraxError, nearest

FINE_TUNED, FROZEN, AS_IS, SCRATCH, VERAX = "fine-tuned", "frozen", "as-is", "scratch", "verax"
ALL_MODELS = "all-models"


def _minilm(texts: str) -> tuple[Entry, ...]:
    return (
        Entry(f"minilm-tuned-{texts}", "MiniLM, fine-tuned", texts, "minilm", FINE_TUNED),
        Entry(f"minilm-frozen-{texts}", "MiniLM, frozen", texts, "minilm", FROZEN),
        Entry(f"minilm-tying-{texts}", "MiniLM, tied", texts, "minilm", FINE_TUNED, "tying"),
        Entry(f"minilm-mlm-{texts}", "MiniLM, masked LM", texts, "minilm", FINE_TUNED, "mlm"),
    )


_AUDITS = (
    Audit(
        "minilm",
        "MiniLM, a Transformer of six layers, fine-tuned and frozen",
        "Does grounding, which mends recurrent models, mend a Transformer?",
        (*_minilm(SENTENCES), *_minilm(REVIEWS)),
        tuple(
            (f"minilm-{grounding}-{texts}", f"minilm-tuned-{texts}")
            for texts in (SENTENCES, REVIEWS)
            for grounding in ("tying", "mlm")
        ),
    ),
    Audit(
        "guard",
        "The network of a guard against injected instructions",
        "Would its attention show a reviewer the instruction?",
        (Entry("guard", "prompt-injection guard", INJECTIONS, "guard", AS_IS),),
        note="Examined is the guard's network, which decides for the larger of its two logits. Its "
        "package adds a threshold of 0.65 and a rule for unusual texts, which are not examined, "
        "and with which it decides otherwise.",
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
        beside=(("minilm", "minilm-tuned-sentences"),),
    ),
    Audit(
        "bilstm",
        "The BiLSTMs of Tutek & Šnajder: plain, tied, with a masked LM",
        "What does grounding do to a recurrent model, asked in the same way?",
        (
            Entry("bilstm", "BiLSTM", SENTENCES, "", VERAX),
            Entry("bilstm-tying", "BiLSTM, tied", SENTENCES, "", VERAX, "tying"),
            Entry("bilstm-mlm", "BiLSTM, masked LM", SENTENCES, "", VERAX, "mlm"),
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
NAMES = tuple(audit.name for audit in _AUDITS)


def audits() -> tuple[Audit, ...]:
    """All audits, that of all models last."""
    return _AUDITS


def audit(name: str) -> Audit:
    """An audit by name."""
    for one in _AUDITS:
        if one.name == name:
            return one
    raise VeraxError(f"unknown audit {name!r}: {nearest(name, NAMES)}", code="option.unknown-value")


def entries_of(one: Audit) -> tuple[Entry, ...]:
    """The kinds of model on the page of an audit: its own, and those of others."""
    others = [e for name in one.includes for e in audit(name).entries]
    return (*one.entries, *others, *(entry(id) for _, id in one.beside))


def contrasts_of(one: Audit) -> tuple[tuple[str, str], ...]:
    """The comparisons of an audit and of those that it includes."""
    return (*one.contrasts, *(c for name in one.includes for c in audit(name).contrasts))


def entry(id: str) -> Entry:
    """A kind of model by id."""
    return next(e for one in _AUDITS for e in one.entries if e.id == id)
