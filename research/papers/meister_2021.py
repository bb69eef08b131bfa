"""Meister et al. (2021): Is Sparse Attention more Interpretable?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from research.papers.axes import Axis, Corpora, Point, Source, Value, at, fact, ids, rows_of
from research.papers.claims import Claims, Finding, compare, each, finding, part
from research.papers.exhibits import Exhibits, Measure, Measures, Rows, rows
from research.papers.paper import Paper, data_folder
from research.papers.published import Published
from research.papers.results import PaperResults
from research.papers.words import epsilon_words, lambda_words, value_of
from verax.statistics import SeedMean, correlations

NAME = "meister-2021"
CORPORA = {"imdb": "IMDb", "20news_sports": "20-News", "sst": "SST"}
PUBLISHED = Published(data_folder(NAME), CORPORA)
# On entropy and agreement; `adversaries` has other models of the same corpora.
MAIN = ("sst", "20news_sports", "imdb")

corpora = Corpora(CORPORA, ordered=True)
BILSTM = Value("BiLSTM", {"encoder": "bilstm"}, {"published": "BiLSTM (tanh)"})
TRANSFORMER = Value("Transformer", {"encoder": "transformer"}, {"published": "Transformer (dot)"})
ENCODERS = [BILSTM, TRANSFORMER]
GRADIENT = Value("gradient", {}, {"published": "corr_lambda_vs_entropy_g_yhat(x)"})
IMPORTANCES = [GRADIENT, Value("leave-one-out", {}, {"published": "none"})]
AMONG = ids({"all items": "agreement", "items with weight": "agreement.on_support"})
SUPPORT = "dispersion.documents/support_share/value"
LEAST = 3
"""The fewest values of λ for a correlation."""


def projections(point: Point) -> list[Value]:
    """Softmax, then from dense to sparse."""
    cells = point.results.select(**point.where, projection="sparsegen")
    lams = {float(lam) for lam in cells["lam"]} if len(cells) else set()
    # by name, too: sparsemax and sparsegen at λ = 0 need a fixed order, or sums differ by a digit
    sparse = sorted([(lam, "sparsegen") for lam in lams] + [(0.0, "sparsemax")])
    return [projection(name, lam) for lam, name in [(math.nan, "softmax"), *sparse]]


def projection(name: str, lam: float) -> Value:
    where: dict[str, Any] = {"projection": name}
    text = name
    if name == "sparsegen":
        where, text = {**where, "lam": lam}, f"{name} λ = {lam:g}"
    facts = {"lam": lam, "symlog": symlog(lam), "text": text, "is_sparse": lam >= 0}
    return Value(name, where, facts)


def symlog(lam: float) -> float:
    """λ on an axis that is linear from 0 to 1 and logarithmic below: −log10(1 − λ) there.

    >>> [round(symlog(lam), 3) for lam in (-99.0, -9.0, 0.0, 0.75)]
    [-2.0, -1.0, 0.0, 0.75]
    """
    return -math.log10(1 - lam) if lam < 0 else lam


def only(*names: str) -> Axis:
    """The projections of some names."""
    return lambda point: [value for value in projections(point) if value.name in names]


SOFTMAX = projection("softmax", math.nan)
TWO = only("softmax", "sparsemax")
# Projections with a λ: sparsemax is sparsegen at 0, and softmax is none of them.
FAMILY = only("sparsemax", "sparsegen")


def along(kind: str, source: Source) -> Source:
    """The correlation of a number with λ, a value per seed: tau, spearman or pearson.

    The paper does not say over what it correlates. Here it is over λ and the mean over documents at
    each λ, seed by seed. Sparsemax is λ = 0. Softmax is not of the family, and is left out. So is a
    number that is the same at every λ, which has no correlation.

    support_tau and the like are with the measured share of items in the support, which is larger
    for denser attention. None if no seed has `LEAST` values of λ, or of that share.
    """

    def number(point: Point) -> SeedMean | None:
        seeds = dict(zip(point.results.cells["cell"], point.results.cells["seed"], strict=True))
        sweeps: dict[int, list[tuple[float, float, float, str]]] = {}
        for model in point.over(projection=FAMILY):
            found, support = model.number(source), model.number(SUPPORT)
            if found is None:
                continue
            shares = dict(zip(support.cells, support.values, strict=True)) if support else {}
            for cell, value in zip(found.cells, found.values, strict=True):
                place = (model.projection.lam, value, shares.get(cell, math.nan), cell)
                sweeps.setdefault(seeds[cell], []).append(place)
        sweeps = {seed: sweeps[seed] for seed in sorted(sweeps)}
        enough = [list(zip(*s, strict=True)) for s in sweeps.values() if len(s) >= LEAST]
        by_lam = [correlations(lams, values) for lams, values, _, _ in enough]
        by_support = [correlations(shares, values) for _, values, shares, _ in enough]
        name = kind.removeprefix("support_")
        if all(math.isnan(c.tau) for c in by_lam):
            return None
        if name != kind and not any(c.n >= LEAST for c in by_support):
            return None
        values = [getattr(c, name) for c in (by_lam if name == kind else by_support)]
        return SeedMean.of(values, [cell for *_, cells in enough for cell in cells])

    return number


def farthest(point: Point) -> list[Value]:
    """The trained adversary whose attention is farthest, of those with λ > 0.

    None if it is no farther than a model of another seed.
    """
    distances = [
        (distance.value, row)
        for row in point.rows("adversaries", "jsd")
        if value_of(row) > 0 and (distance := point.number(f"adversaries/{row}/jsd")) is not None
    ]
    jsd, row = max(distances, default=(0.0, ""))
    other_seed = point.number("adversaries.seeds/mean/jsd")
    if not row or (other_seed is not None and jsd <= other_seed.value):
        return []
    return [Value(lambda_words(row), {}, {"id": row})]


def change(point: Point) -> SeedMean | None:
    """The accuracy of the farthest adversary less that of its base, in points."""
    adversary = point.number("adversaries/{far.id}/accuracy")
    if adversary is None:
        return None
    base = point.results.fact("test_accuracy", **point.where, cell=adversary.cells)
    return None if base is None else SeedMean.combined([(1.0, adversary), (-100.0, base)])


# The paper's words as numbers.
# Of τ-b. The figure behind "notably" is an image: half of what τ-b of single documents commonly
# spreads by (an sd of 0.2 on SST and 20-News in Jain & Wallace's outputs), so that most documents
# would show it.
NOTABLY = 0.1
# Of τ-b: half of what is notable. Less is called no gain, so that equality can be found at all.
NO_BETTER = 0.05
# The paper's conclusion sums up: one comparison in four may go against it.
ON_THE_WHOLE = 0.75
# Points of accuracy that a trained adversary may lose and still count as equally good.
HURT = 1.0

# Agreement is τ-b over all items. Sparse attention ties with any importance of items at its zeros,
# which alone raises τ-b. So agreement among items with weight is reported beside it.
#
# Two statements are no claims here. That the entropy of inputs' influence on items is high (2)
# could only be held against the numbers of table 1 that are called so; that sparsemax changes it
# little (3) is no sentence of the paper. Claim 5, the sign of table 2, is one fact with 4, and is a
# part of it.
claim = Claims()
BY_IMPORTANCE = "{corpus}, {encoder}: {importance}"


def over(results: PaperResults, **axes: Axis) -> list[Point]:
    return Point(results, fixed={"part": MAIN}).over(**axes)


@claim(
    1,
    "Figures 1 and 4",
    short="Attention agrees notably more with states' importance than with words'",
    rank=1,
)
def items_above_inputs(results: PaperResults) -> Finding:
    """Attention agrees notably more with gradients of items than with those of inputs, in every
    model; so it does with leave-one-out."""

    # The gradient goes through attention. With attention held fixed the gradient of items *is*
    # attention (τ-b of 1 for any model), and nothing could be learnt.
    def points(chosen: Axis) -> list[Point]:
        axes: dict[str, Axis] = {"importance": IMPORTANCES, "corpus": corpora}
        return over(results, **axes, encoder=ENCODERS, projection=chosen)

    label = "{corpus}, {encoder}, {projection.text}: {importance}"
    of_items, of_inputs = (
        f"agreement/{of}:attention:{{importance}}/tau" for of in ("items", "inputs")
    )
    items, sparsegen = (
        compare(points(chosen), of_items, b=of_inputs, by=NOTABLY, label=label)
        for chosen in (TWO, only("sparsegen"))
    )
    with_weight = "agreement.on_support/items:attention:{importance}/tau"
    alone = compare(points(TWO), with_weight, above=0, label=label)
    reported = [part("sparsegen", sparsegen), part("τ-b of items with weight", alone)]
    ours = f"τ-b {items.span:.2f} for {items.others:.2f}"
    return finding(each(items, IMPORTANCES), "all models", ours, reported)


@claim(
    4,
    "Figure 2, Table 2",
    short="The sparser attention, the more spread out the words' influence",
    cause={"genuine": "the sign replicates, the words say its opposite"},
    rank=4,
    note="λ is larger where attention is sparser, so that the negative sign that the paper prints "
    "says the opposite of its words. Both are parts of the claim.",
)
def influence_spreads(results: PaperResults) -> Finding:
    """The sparser attention is, the more spread out is the influence of inputs on the output; the
    correlation of λ with its entropy is negative for every corpus and model."""

    # along λ, as a trend; by what table 2 prints for gradients, and by the items with weight
    def trend(kind: str, importances: list[Value] = IMPORTANCES) -> Any:
        points = over(results, importance=importances, corpus=corpora, encoder=ENCODERS)
        source = along(kind, "dispersion.entropy/{importance}/mean")
        return compare(points, source, below=0, label=BY_IMPORTANCE)

    sign, meaning = trend("tau", [GRADIENT]), trend("support_tau")
    theirs = PUBLISHED.span("table2", "corr_lambda_vs_entropy_g_yhat(x)", [sign, meaning])
    parts = [part("printed sign", sign), part("rises with sparsity", meaning)]
    reported = [part(f"{kind.title()} with λ", trend(kind)) for kind in ("spearman", "pearson")]
    return finding(parts, f"r {theirs:.2f}", f"r {sign.span:.2f}", reported)


@claim(
    6,
    "Figure 3",
    short="The sparser attention, the less it agrees with words' importance",
    rank=3,
    corpora=["imdb"],
    note="The figure is of IMDb, which decides; the other corpora are generalisation.",
)
def agreement_falls(results: PaperResults) -> Finding:
    """The larger λ is, the less attention agrees with gradients and leave-one-out of inputs
    (IMDb)."""
    points = over(results, importance=IMPORTANCES, corpus=corpora, encoder=ENCODERS)
    falls, alone = (
        compare(
            points,
            along("tau", f"{among.id}/inputs:attention:{{importance}}/tau"),
            below=0,
            label=BY_IMPORTANCE,
        )
        for among in AMONG
    )
    ours = f"τ-b with λ {falls.span:.2f}"
    reported = [part("among items with weight", alone)]
    return finding(each(falls, IMPORTANCES), "falls", ours, reported)


@claim(
    7,
    "Appendix C",
    short="Other attention costs accuracy post hoc, not if trained for",
    rank=5,
    cause={"test": "two seeds"},
)
def other_attention_costs(results: PaperResults) -> Finding:
    """Other attention put on a finished model costs accuracy; a model trained to attend elsewhere
    loses less, or none."""
    # Post hoc attention that may not move the output costs next to nothing by construction. So the
    # claim can only be on free attention: the farthest, for any output. Of trained adversaries the
    # claim is on the one with the most divergent attention, whose choice does not depend on
    # accuracy. An adversary that is no farther than a model of another seed is left out.
    start = Point(results, fixed={"part": "adversaries"})
    models = start.over(corpus=corpora.as_run, encoder=ENCODERS, projection=TWO)
    trained = [other for model in models for other in model.over(far=farthest)]
    post_hoc, label = (
        "adversary/any_output/delta_accuracy",
        "{corpus}, {encoder}, {projection.text}",
    )
    costs = compare(models, post_hoc, below=0, label=label)
    less = compare(trained, change, b=post_hoc, label=label)
    learnt = compare(trained, change, above=-HURT, label=label)
    far = compare(trained, "adversaries/{far.id}/jsd", above=0, label=label)
    kept = compare(trained, "adversary/epsilon=0.05/jsd", above=0, label=label)
    return finding(
        [
            part("post hoc costs", costs),
            part("trained costs less", less),
            part("trained costs nothing", learnt),
        ],
        "a fall; none",
        f"{costs.span:.0f}; {learnt.span:.0f} points",
        [
            part("JSD of trained adversaries", far),
            part("JSD of attention that keeps the output", kept),
        ],
    )


@claim(8, "Conclusion", short="Sparse attention explains by words no better than softmax", rank=2)
def sparse_explains_no_better(results: PaperResults) -> Finding:
    """Sparsity does not make attention a better explanation by inputs, and may make it a worse
    one."""
    points = over(
        results,
        corpus=corpora,
        encoder=ENCODERS,
        projection=lambda point: [value for value in projections(point) if value.is_sparse],
        importance=IMPORTANCES,
    )
    tau = "agreement/inputs:attention:{importance}/tau"
    label = "{corpus}, {encoder}, {projection.text}: {importance}"
    it = compare(points, at(tau, projection=SOFTMAX), b=tau, by=-NO_BETTER, label=label)
    return finding([part("", it, ON_THE_WHOLE)], "no better", f"τ-b {it.changes:+.2f}")


exhibit = Exhibits()
MODEL: Mapping[str, str | None] = {
    "corpus": "corpus",
    "model": "encoder",
    "projection": "projection",
}
ALONG = {**MODEL, "lam": "projection.lam", "symlog": "projection.symlog"}
AGREEMENT = {"τ-b": "tau", "sd": "sd", "median": "median", "p ≤ 0.05": "significant"}


def models(results: PaperResults, chosen: Axis = projections, **axes: Axis) -> list[Point]:
    return over(results, corpus=corpora, encoder=ENCODERS, projection=chosen, **axes)


@exhibit("table1")
def table1(results: PaperResults) -> Rows:
    """Entropy of inputs' influence on an item, between 0 and 1.

    Mean over the items of a document, then over documents. sd is over documents, the pooled one
    over all items of all; the paper does not say which it prints.
    """
    printed = "mean_normalised_entropy_g_h(x)"
    measures: Measures = {
        "mean": Measure("norm/mean", printed),
        "sd": Measure("norm/sd", printed, column="std"),
        "pooled sd": "norm/pooled_sd",
        "mean, by the Jacobian": "frobenius/mean",
    }
    published = PUBLISHED.beside("table1", "{corpus.published}", "{encoder}", "{projection}")
    for point in over(results, corpus=corpora.printed, encoder=ENCODERS, projection=TWO):
        yield from rows(point, MODEL, measures, "dispersion.entropy/influence@{}", published)


@exhibit("table2")
def table2(results: PaperResults) -> Rows:
    """How the entropy of inputs' influence on the output moves with λ.

    Over the values of λ, the mean entropy at each, seed by seed; larger λ is sparser, sparsemax is
    0. The paper does not say what kind its coefficient is, nor over what: it stands beside all
    three. With the support: of the measured share of items with weight, positive where sparser
    attention goes with lower entropy.
    """
    entropy, kinds = "dispersion.entropy/{importance}/mean", ("τ-b", "Spearman", "Pearson")
    named = {kind: "tau" if kind == "τ-b" else kind.lower() for kind in kinds}
    measures: Measures = {
        f"{kind} with λ": Measure(along(name, entropy), "{importance.published}")
        for kind, name in named.items()
    }
    for kind, name in named.items():
        measures[f"{kind} with the support"] = along(f"support_{name}", entropy)
    published = PUBLISHED.beside("table2", "{corpus.published}", "{encoder.published}", "sparsegen")
    labels = {"corpus": "corpus", "model": "encoder", "importance": "importance"}
    for point in over(results, importance=IMPORTANCES, corpus=corpora.printed, encoder=ENCODERS):
        yield from rows(point, labels, measures, published=published)


def agreements(results: PaperResults, pairs: list[tuple[str, str]]) -> Rows:
    """Agreement of attention with importances, of inputs and of items, among items."""
    for model in models(results):
        for point in model.over(among=AMONG):
            for of, importance in pairs:
                labels = {**ALONG, "of": of, "importance": importance, "among": "among"}
                number = f"{{among.id}}/{of}:attention:{importance}/{{}}"
                yield from rows(point, labels, AGREEMENT, number)


@exhibit("figure1")
def figure1(results: PaperResults) -> Rows:
    """Attention against gradients, of inputs and of items: τ-b.

    The gradient goes through attention; gradient-detached holds attention fixed, and
    gradient-input-detached is Jain & Wallace's. Items with weight alone: without the ties of zeros,
    which lift τ-b of items. symlog is λ from 0 on, and −log10(1 − λ) below; sparsemax is λ = 0,
    softmax has none.
    """
    gradients = [("inputs", "gradient"), ("items", "gradient")]
    gradients += [("inputs", "gradient-detached"), ("inputs", "gradient-input-detached")]
    yield from agreements(results, gradients)


@exhibit("figure2")
def figure2(results: PaperResults) -> Rows:
    """Entropy of inputs' influence on the output, by gradients and by leave-one-out.

    symlog is λ from 0 on, and −log10(1 − λ) below; sparsemax is λ = 0, softmax has none.
    """
    measures = {"mean": "mean", "sd": "sd", "median": "median"}
    labels = {**ALONG, "importance": "importance"}
    for point in models(results, importance=IMPORTANCES):
        yield from rows(point, labels, measures, "dispersion.entropy/{importance}/{}")


@exhibit("figure3")
def figure3(results: PaperResults) -> Rows:
    """Attention's agreement with importances of inputs along λ, an axis that is log-scaled below 0
    (symlog).

    IMDb in the paper, every corpus here. symlog is λ from 0 on, and −log10(1 − λ) below; sparsemax
    is λ = 0, softmax has none.
    """
    tau = {"τ-b": "{among.id}/inputs:attention:{importance}/tau"}
    # the support and accuracy help to read a fall
    beside = {"share in the support": "support_share", "accuracy": "accuracy"}
    for model in models(results, FAMILY):
        for point in model.over(among=AMONG, importance=IMPORTANCES):
            yield from rows(point, {**ALONG, "importance": "importance", "among": "among"}, tau)
        labels = {**ALONG, "importance": "", "among": ""}
        yield from rows(model, labels, beside, "dispersion.documents/{}/value")


@exhibit("figure4")
def figure4(results: PaperResults) -> Rows:
    """Attention against leave-one-out, of inputs and of items: τ-b.

    An item is left out by projecting the scores of the others again; renormalised keeps their
    weights in proportion. symlog is λ from 0 on, and −log10(1 − λ) below; sparsemax is λ = 0,
    softmax has none.
    """
    left_out = [("inputs", "leave-one-out"), ("items", "leave-one-out")]
    yield from agreements(results, [*left_out, ("items", "leave-one-out-renormalised")])


POST_HOC = rows_of("adversary", "jsd", epsilon_words)
SEARCHED = rows_of("adversary.search", "jsd", epsilon_words)
TRAINED = rows_of("adversaries", "jsd", lambda_words)


def costs(results: PaperResults, of_part: str) -> Rows:
    """Other attention on the models of a part, found post hoc and trained."""
    own = {
        "accuracy": fact("test_accuracy", 100),
        "F1": fact("test_f1", 100),
        "accuracy, of those examined": "adversary.documents/accuracy/value",
    }
    found = {"JSD": "jsd", "|Δp|": "change", "decisions kept": "decisions_kept"}
    found |= {"accuracy": "accuracy", "Δ accuracy": "delta_accuracy"}
    by_search = {"JSD": "jsd", "JSD > 0.5": "far", "short of the bound": "gap"}
    learnt = {"JSD": "jsd", "TVD": "tvd", "same": "same", "accuracy": "accuracy", "F1": "f1"}
    blocks: list[tuple[dict[str, Axis], str, Mapping[str, Source], str]] = [
        ({}, "none", own, "{}"),
        ({"row": POST_HOC}, "post hoc, {row}", found, "adversary/{row.id}/{}"),
        ({"row": SEARCHED}, "post hoc, searched, {row}", by_search, "adversary.search/{row.id}/{}"),
        ({"row": TRAINED}, "trained, {row}", learnt, "adversaries/{row.id}/{}"),
        ({}, "another seed", learnt, "adversaries.seeds/mean/{}"),
    ]
    start = Point(results, fixed={"part": of_part})
    for model in start.over(corpus=corpora.as_run, encoder=ENCODERS, projection=TWO):
        for axes, other, measures, number in blocks:
            for point in model.over(**axes):
                yield from rows(point, {**MODEL, "other attention": other}, measures, number)


@exhibit("appendixc")
def appendixc(results: PaperResults) -> Rows:
    """What another attention costs: post hoc over the same states, and trained: BiLSTM.

    Text only in the paper. JSD in nats; accuracy, F1, same and kept decisions in percent, Δ
    accuracy in points. Post hoc is the farthest attention that moves the output by ε at most,
    exact. Post hoc is of the documents examined, what is trained of all of test.
    """
    yield from costs(results, "adversaries")


@exhibit("appendixc-transformer")
def appendixc_transformer(results: PaperResults) -> Rows:
    """What another attention costs: post hoc over the same states, and trained: Transformer.

    Text only in the paper. JSD in nats; accuracy, F1, same and kept decisions in percent, Δ
    accuracy in points. Post hoc is the farthest attention that moves the output by ε at most,
    exact. Post hoc is of the documents examined, what is trained of all of test.
    """
    yield from costs(results, "adversaries-transformer*")


@exhibit("accuracy")
def accuracy(results: PaperResults) -> Rows:
    """Accuracy, F1 (percent) and the share of items with weight, for every model and λ.

    λ of sparsemax is 0, softmax has none; symlog is λ from 0 on, and −log10(1 − λ) below.
    """
    # accuracy and F1 on the test split, the support on examined documents
    measures = {"accuracy": fact("test_accuracy", 100), "F1": fact("test_f1", 100)}
    for point in models(results):
        yield from rows(point, ALONG, {**measures, "share in the support": SUPPORT})


PAPER = Paper(
    name=NAME,
    title="Is Sparse Attention more Interpretable?",
    authors="Clara Meister, Stefan Lazov, Isabelle Augenstein, Ryan Cotterell",
    url="https://aclanthology.org/2021.acl-short.17",
    folder=PUBLISHED.folder,
    exhibits=exhibit,
    claims=claim,
    corpora=CORPORA,
    probed={
        "entropy of inputs' influence on an item": "dispersion.entropy/influence@norm/mean",
        "entropy, by the Jacobian": "dispersion.entropy/influence@frobenius/mean",
    },
    conclusion={
        "attention follows the importance of states and not that of words": [1],
        "sparsity does not make it a better explanation by words": [6, 8],
        "sparse attention leaves the influence of words on the output as spread out": [4],
    },
    setup=[
        "Transformer: two layers, four heads, post-norm (paper: not at hand).",
        "λ: twelve values from −100 to 0.97 (paper: not given).",
        "Vectors: GloVe of 100 dimensions (paper fastText of 300).",
    ],
    scatter={
        "entropy of influence": ["mean"],
        "λ and entropy, r": ["τ-b with λ", "Spearman with λ", "Pearson with λ"],
    },
)
