"""The one error a user is meant to read."""

from __future__ import annotations

import difflib
import sys
import textwrap
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum

__all__ = [
    "CODES",
    "ExitCode",
    "OccupiedError",
    "VeraxError",
    "VeraxErrors",
    "VeraxWarning",
    "WriteError",
]


class VeraxError(ValueError):
    """Bad input: one line that says what was wrong, what was expected and what to do.

    The command line prints it as it is and exits with code 2. Messages may change from one version
    to the next; codes do not, so test for these.

    Args:
        message: the line.
        code: a key of `CODES`, which says what is wrong, not where.
        options: ids of the options that do not go together.

    >>> VeraxError("no such file: reviews.csv", code="file.missing").code
    'file.missing'
    """

    code = "other"

    def __init__(
        self, *message: object, code: str | None = None, options: Iterable[str] = ()
    ) -> None:
        super().__init__(*message)
        self.options = tuple(options)
        if code is not None:
            self.code = code


@contextmanager
def foreign_code(what: str, advice: str = "", *, code: str = "model.failed") -> Iterator[None]:
    """Turn whatever code that is not Verax's raises into a `VeraxError` of one line.

    `SystemExit` and `GeneratorExit` are errors too: a function that calls `sys.exit()` must not end
    a command as if it had succeeded. `VeraxError` and `KeyboardInterrupt` pass unchanged.

    Args:
        what: the beginning of the line, such as "the function failed on 4 texts".
        advice: what to do about it.
        code: the code of the error.

    >>> with foreign_code("the head failed", "check its shape"):
    ...     raise SystemExit(0)
    Traceback (most recent call last):
    verax.errors.VeraxError: the head failed: SystemExit: 0; check its shape
    """
    try:
        yield
    except VeraxError:
        raise
    except (Exception, SystemExit, GeneratorExit) as error:
        reason = textwrap.shorten(f"{type(error).__name__}: {error}", 300, placeholder=" …")
        line = f"{what}: {reason.removesuffix(':')}"
        raise VeraxError(f"{line}; {advice}" if advice else line, code=code) from error


@contextmanager
def no_exit(what: str = "a model, exam or importance") -> Iterator[None]:
    """Turn `SystemExit` and `GeneratorExit` into a `VeraxError`; other exceptions pass unchanged.

    Args:
        what: the code that may not end the program.

    >>> with no_exit("this importance"):
    ...     raise SystemExit(0)
    Traceback (most recent call last):
    verax.errors.VeraxError: this importance ended the program (SystemExit: 0): raise an exception \
there in place of sys.exit()
    """
    try:
        yield
    except (SystemExit, GeneratorExit) as error:
        raise VeraxError(
            f"{what} ended the program ({type(error).__name__}: {error}): "
            "raise an exception there in place of sys.exit()",
            code="model.failed",
        ) from error


def cause_of(error: BaseException) -> BaseException | None:
    """Return what led to an error: its explicit cause, or what was being handled where it arose.

    `__context__` alone does not say so: it is any exception that some caller further up is
    handling. One that led to the error was caught by a function that the error came out of.

    >>> try:
    ...     try:
    ...         int("a text")
    ...     except ValueError:
    ...         raise VeraxError("not a number") from None
    ... except VeraxError as error:
    ...     cause_of(error)
    ValueError("invalid literal for int() with base 10: 'a text'")
    """
    context = error.__context__
    if error.__cause__ is not None or context is None:
        return error.__cause__
    frames, others = (
        {frame for frame, _ in traceback.walk_tb(one.__traceback__)} for one in (error, context)
    )
    return None if frames.isdisjoint(others) else context


class WriteError(VeraxError):
    """A place that cannot be written to: its disk is full, read-only or gone."""

    code = "output.not-writable"


class OccupiedError(VeraxError):
    """A place where something else is, which is not written over."""

    code = "output.occupied"


class VeraxWarning(UserWarning):
    """Valid input that may not be what was intended: one line, with what to do.

    The command line prints it to standard error.
    """


def is_utf8(text: str) -> bool:
    """Whether text can be written as UTF-8: names of files that are not hold surrogates.

    >>> is_utf8("café"), is_utf8("caf\\udce9")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def nearest(name: object, valid: Iterable[str]) -> str:
    """The part of a message that helps with a mistyped `name`.

    >>> nearest("projektion", ["projection", "encoder"])
    "did you mean 'projection'?"
    >>> nearest("zzz", ["projection", "encoder"])
    'choose from encoder, projection'
    """
    valid = sorted(valid)
    meant = near(name, valid)
    return f"did you mean {meant!r}?" if meant is not None else "choose from " + ", ".join(valid)


def near(name: object, valid: Iterable[str]) -> str | None:
    """The valid name that another library's name stands for, or that a mistyped one is near to.

    >>> near("learning_rate", ["lr", "epochs"]), near("epcohs", ["lr", "epochs"])
    ('lr', 'epochs')
    """
    given, valid = str(name), sorted(valid)
    bare = given.lstrip("-")
    meant = given.removesuffix(bare) + _ELSEWHERE.get(bare.replace("-", "_"), bare)
    meant = meant.replace("_", "-") if given.startswith("-") else meant
    if meant in valid:
        return meant
    close = difflib.get_close_matches(given, valid, n=1, cutoff=0.6)
    return close[0] if close else None


_ELSEWHERE = {
    "learning_rate": "lr",
    "n_epochs": "epochs",
    "num_epochs": "epochs",
    "num_train_epochs": "epochs",
    "max_epochs": "epochs",
    "l2": "weight_decay",
    "random_state": "seed",
    "embedding_dim": "embedding_size",
    "hidden_dim": "hidden_size",
    "min_freq": "min_df",
    "max_features": "max_vocabulary",
    "num_layers": "layers",
    "n_layers": "layers",
    "early_stopping": "patience",
    "output": "out",
    "output_dir": "out",
}
"""What other libraries call options → what they are called here."""


def outside_verax() -> int:
    """The `stacklevel` at which a warning points to the line outside this package that led to it.

    To be called by the function that warns.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("verax"):
        level, frame = level + 1, frame.f_back
    return level


class VeraxErrors(VeraxError):  # noqa: N818 (there are several)
    """Several errors at once; the command line prints a line for each. The code is the first's."""

    def __init__(self, *problems: VeraxError) -> None:
        super().__init__(*problems, code=problems[0].code)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class ExitCode(IntEnum):
    """How commands end."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitCode:
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    DONE = 0, "Success; also when a time budget is spent, which is no failure."
    FAILED = 1, "Part of a study failed; its other cells are finished and saved."
    BAD_INPUT = 2, "Bad input, or not enough memory: a line on standard error for each problem."
    FINDING = (
        3,
        "A check failed: `--fail-on`, or results differ from stored ones.",
    )
    INTERNAL = 70, "An internal error of Verax; the line names a crash report."
    NOT_WRITTEN = 74, "Done, but not printed, or saved elsewhere than asked: the line says where."
    INTERRUPTED = 130, "Interrupted (Ctrl-C). The line says what is kept."


CODES = {
    "chart.nothing-to-draw": (
        "The results have no table that a chart can show. Draw results of an exam with a chart."
    ),
    "chart.too-many": (
        "A chart has room for fewer models than were given. Give fewer, or draw several charts."
    ),
    "command.usage": "The command line cannot be parsed. See `verax COMMAND --help`.",
    "corpus.bad-rationale": (
        "A rationale is neither 0 or 1 for each token nor a list of spans `[start, end]`. Fix "
        "that row."
    ),
    "corpus.bad-value": (
        "A cell of the text or label column holds something that cannot be read as a text or a "
        "label. Fix that row, or name another column."
    ),
    "corpus.changed": (
        "The corpus differs from the one that a model or a result was made with. Bring that one "
        "back, or name the corpus to use."
    ),
    "corpus.empty": (
        "No documents are left after reading. Check the columns and the options that filter "
        "documents."
    ),
    "corpus.empty-split": (
        "The chosen split has no documents. Choose another split, or supply documents for it."
    ),
    "corpus.missing-column": (
        "A table lacks a column that is to be read. Name the column with the option in the message."
    ),
    "corpus.no-labels": (
        "The documents have no labels, and this needs them. Name their column with `label_column`."
    ),
    "corpus.no-rationales": (
        "The documents have no rationales, and this needs them. Use a corpus that marks the words "
        "people chose."
    ),
    "corpus.not-at-hand": (
        "The corpus is known but not available here. Get your own copy, or give its path."
    ),
    "corpus.not-named": (
        "Which corpus to use cannot be inferred. Name it with `--corpus`, or `corpus=` in Python."
    ),
    "corpus.null-value": "Rows have a null text or label. Fill or remove them.",
    "corpus.one-class": (
        "All training documents have the same label. Check `label_column`; two classes or more "
        "are needed."
    ),
    "corpus.too-small": (
        "There are too few documents or words for what was asked. Use more documents, or lower "
        "the option in the message."
    ),
    "corpus.unknown": (
        "No corpus has this name, and no file is at this path. `verax corpora` lists the names."
    ),
    "corpus.unknown-class": (
        "The corpus has a class that the model does not have. Use a corpus with the model's "
        "classes."
    ),
    "corpus.unseen-label": (
        "Validation or test documents have a label that no training document has. Leave the label "
        "out, or add it to the training documents."
    ),
    "corpus.wrong-source": (
        "A corpus cannot be made from this object. Give a name, a path, a DataFrame, a list of "
        "texts, or `(texts, labels)` of equal length."
    ),
    "corpus.wrong-splits": (
        "The training split is missing, or a split is there twice. Supply one file per split, at "
        "least `train`."
    ),
    "device.out-of-memory": (
        "Memory ran out. Lower `max_tokens`, use a smaller model, or raise the limit."
    ),
    "device.unavailable": "This machine has no such device. Use `--device cpu` or `auto`.",
    "device.unknown": (
        "Verax does not run on a device of this name. Use `auto`, `cpu`, `cuda` or `cuda:N`."
    ),
    "engine.unavailable": (
        "A GPU service or a Ray cluster cannot be reached, or its nodes differ from this machine. "
        "Start it, or fix the address."
    ),
    "exam.not-applicable": "An exam does not apply to this model or these documents. Leave it out.",
    "file.bad-name": "A path is empty, too long, or not UTF-8. Rename the file.",
    "file.empty": "The file has no rows. A header and at least one row are needed.",
    "file.malformed": "The file cannot be parsed. Fix the line in the message.",
    "file.missing": "No file or folder has this path. Check the path.",
    "file.no-header": (
        "The first line of a CSV or TSV file does not name its columns. Write their names into it."
    ),
    "file.unreadable": (
        "The file cannot be opened or is of an unsupported kind. Check its permissions and its "
        "suffix."
    ),
    "file.wrong-encoding": (
        "The file is not in the expected encoding. Name its encoding, or convert it to UTF-8."
    ),
    "importance.missing": (
        "No importance was given. Name at least one; `verax explain --help` lists them."
    ),
    "importance.name-taken": "An importance of your own has a reserved name. Give it another name.",
    "importance.not-applicable": (
        "This importance cannot be computed for this model. Choose another one."
    ),
    "importance.wrong-scores": (
        "An importance returned scores of the wrong shape or type, or scores that are not finite. "
        "Return one finite number per word, or per item."
    ),
    "limits.malformed": (
        "A file of limits does not have the expected layout. Make one with `verax calibrate`, or "
        "fix the key in the message."
    ),
    "limits.out-of-range": (
        "A limit is outside its range, or two limits are in the wrong order. Fix their values."
    ),
    "limits.unknown-name": (
        "A file of limits names an exam, a key or a limit that does not exist. Fix the name."
    ),
    "limits.unknown-version": (
        "No limits have this version, and no file has this path. Choose a version from the message."
    ),
    "model.adapter": (
        "The model is a LoRA adapter, or wrapped in one. Merge it into its base model first."
    ),
    "model.attention-mismatch": (
        "The attention that a model exposes is not what it computes with. Load it with "
        "`attn_implementation='eager'`, or use `verax.from_predict`."
    ),
    "model.bad-vocabulary": (
        "The vocabulary given for a model lacks words, rows or its unknown word. Map every word "
        "to a row."
    ),
    "model.batch-dependent": (
        "The model's output for a text depends on the texts that it is batched with. Handle "
        "padding, or use `verax.from_predict`."
    ),
    "model.class-names": (
        "The number of class names differs from the number of logits. Pass `classes=` with a name "
        "for each."
    ),
    "model.failed": "The model or function raised an error. Call it alone on the same texts.",
    "model.incomparable": (
        "The models differ in more than they may to be compared. Compare models of one tokenizer "
        "and the same classes."
    ),
    "model.missing": (
        "There is no saved model at this path. Give a folder that `verax train` or "
        "`save_pretrained` wrote."
    ),
    "model.needs-tokenizer": (
        "A tokenizer is needed, one that reports character offsets. Pass a fast tokenizer."
    ),
    "model.no-attention": (
        "The attention of this model cannot be captured. Load it with "
        "`attn_implementation='eager'`, or use `verax.from_predict`."
    ),
    "model.not-affine": (
        "The logits are not the head of the weighted mean of the states. Check the parts of the "
        "model, or set `affine = False`."
    ),
    "model.not-deterministic": (
        "The model gives different outputs for the same texts. Call `model.eval()` and switch off "
        "sampling."
    ),
    "model.not-finite": (
        "The model's outputs are NaN or infinite. Train it again with a lower learning rate."
    ),
    "model.not-saveable": (
        "This kind of model cannot be saved. Keep the function or the parts that make it."
    ),
    "model.not-single-label": (
        "The model does not choose one of several classes. Verax examines single-label classifiers."
    ),
    "model.quantized": "The model's weights are quantized. Load it in full or half precision.",
    "model.unknown-class": (
        "The model has no class of this name or number. Choose one of its classes."
    ),
    "model.unreadable": "A saved model cannot be loaded. Save it again, or get another copy.",
    "model.unsafe": (
        "Loading the model would run code from its folder or unpickle its weights. Load it "
        "yourself and pass the object, or save it as safetensors."
    ),
    "model.unsuitable-base": (
        "This model cannot be the base of an adversary. Train a base whose attention can move."
    ),
    "model.unsuitable-guide": (
        "This model cannot guide the one to be trained. Use a guide with the same vocabulary, "
        "tokenizer and options."
    ),
    "model.unsupported-readout": (
        "The classifier reads its last states in a way that Verax does not know. Use "
        "`verax.from_predict`."
    ),
    "model.untrained-weights": (
        "The folder lacks weights of the classifier, which would be random. Use a fine-tuned "
        "model, or pass `head=`."
    ),
    "model.wrong-output": (
        "The model or one of its parts returned a value of the wrong type or shape. Return what "
        "the message asks for."
    ),
    "model.wrong-type": "The object is not a model of the expected type. See `docs/any-model.md`.",
    "option.ambiguous": (
        "A value could mean several things. Write it in full, as the message shows."
    ),
    "option.conflict": (
        "Options contradict each other. Change or leave out one of those in the message."
    ),
    "option.duplicate": "A value or a name is given twice. Give it once.",
    "option.empty": "A list is empty. Give at least one value.",
    "option.malformed": (
        "A value is not written in the expected form. Follow the example in the message."
    ),
    "option.missing": "A required option is missing. Add the option in the message.",
    "option.not-applicable": "An option has no meaning here. Leave it out.",
    "option.out-of-range": (
        "A number is outside its range. Choose one within the bounds of the message."
    ),
    "option.unknown": "No option has this name. The message has the nearest valid one.",
    "option.unknown-value": (
        "A name is none of the valid choices. The message has the nearest one, or all of them."
    ),
    "option.wrong-type": "A value is of the wrong type. Give the type in the message.",
    "other": "An error without a code of its own, such as one raised by a plugin.",
    "output.not-writable": (
        "A result cannot be written there. Free space, change the permissions, or choose another "
        "place."
    ),
    "output.occupied": (
        "Something else is at this path already. Choose another path, or pass `--overwrite` where "
        "the command has it."
    ),
    "output.unknown-format": (
        "The output format is unknown. Choose a suffix or format from the message."
    ),
    "output.wrong-kind": (
        "A file is where a folder is needed, or the other way round. Choose another path."
    ),
    "package.missing": (
        "An optional package is not installed. Run the `pip install` command of the message."
    ),
    "plugin.import-failed": (
        "A plugin or a file with a model cannot be imported. Fix the error in the message."
    ),
    "plugin.invalid": (
        "A registered class or function does not fulfil its interface. Fix the attribute or value "
        "in the message."
    ),
    "plugin.invalid-name": (
        "A plugin's name has characters that names cannot have. Use letters, digits, `_`, `.`, "
        "`+` or `-`."
    ),
    "plugin.name-taken": (
        "Another plugin has registered this name, or a module of this name is imported. Choose "
        "another name."
    ),
    "plugin.not-registered": (
        "Something by this name is needed and not registered. Import the module that registers it."
    ),
    "result.damaged": (
        "Saved results were changed or are incomplete. Run the command in the message again, or "
        "get another copy."
    ),
    "result.incomparable": (
        "The results were made under different conditions. Examine the models again under the "
        "same ones."
    ),
    "result.missing": (
        "There are no such results in the folder. Give a folder that the command in the message "
        "wrote."
    ),
    "result.other-format": (
        "The results have the format of another version of Verax. Use that version, or make them "
        "again."
    ),
    "result.too-few": (
        "More models or results are needed. Give at least as many as the message says."
    ),
    "result.unfinished": "The study has no finished cell for this. Run it first.",
    "result.unknown-name": (
        "The results have no table, column, measure or cell of this name. Choose one from the "
        "message."
    ),
    "result.wrong-kind": (
        "The folder or object holds another kind of result. Use the command or class for that kind."
    ),
    "statistics.bad-values": (
        "A statistic cannot be computed from these values. Pass finite numbers, NaN where one is "
        "missing, in lists of equal length."
    ),
    "study.cell-failed": "A cell of the study failed. The message has the reason.",
    "study.not-kept": (
        "The study was run or packed without this part. Run or pack it again with it."
    ),
    "study.too-large": "The study has too many cells or values. Split it into several.",
    "study.uncommitted": (
        "Cells ran with uncommitted changes to the package, so their code cannot be named. Commit "
        "the changes and run the study in a new folder."
    ),
    "study.unknown": (
        "No study has this name, and no file is at this path. The message has the nearest name."
    ),
    "study.unknown-key": "A study has no such section. The message has the nearest valid key.",
    "tensor.bad-values": (
        "A tensor holds NaN, infinity, negative weights, or weights that do not sum to 1. Check "
        "how it was made."
    ),
    "tensor.wrong-shape": (
        "An argument is not a tensor of the expected shape and dtype. The message has both."
    ),
    "text.bad-pair": ("The separator of a pair is part of a word. Put blanks around it."),
    "text.empty": "A text has no words. Leave empty texts out.",
    "text.invalid-unicode": (
        "A text or a name holds a lone surrogate or NUL, or is not UTF-8. Convert or remove it."
    ),
    "text.missing": "A text is needed and none was given. Give at least one.",
    "text.too-long": (
        "A pair, or a text that would lose its beginning, is longer than the model reads. Shorten "
        "it, or leave long texts out."
    ),
    "text.wrong-type": "A text is neither a string nor a list of tokens. Pass a list of strings.",
    "training.diverged": (
        "The loss became NaN or infinite. Lower `lr`, set `clip`, or lower `strength`."
    ),
    "vectors.changed": (
        "The file of word vectors is not the one that was used before. Bring that one back."
    ),
    "vectors.malformed": (
        "The file of word vectors cannot be parsed. Each line must have a word and the same "
        "number of finite values."
    ),
    "vectors.no-match": (
        "No word of the corpus has a vector in the file. Check the language of the vectors."
    ),
}
"""Codes of errors: what each means, and what to do. `docs/errors.md` is made from it."""
