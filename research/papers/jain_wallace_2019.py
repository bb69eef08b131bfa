"""Jain & Wallace (2019): Attention is not Explanation."""

from __future__ import annotations

from research.papers.axes import Axis, Corpora, Point, Value, at, fact, first, ids, whole
from research.papers.claims import Claims, Finding, compare, finding, part
from research.papers.exhibits import Exhibits, Measure, Rows, rows
from research.papers.paper import Paper, data_folder
from research.papers.published import Published
from research.papers.results import PaperResults

NAME = "jain-wallace-2019"
PUBLISHED = Published(
    data_folder(NAME),
    {
        "sst": "sst",
        "imdb": "imdb",
        "20news_sports": "20News_sports",
        "ag_news": "agnews",
        "anemia": "anemia",
        "diab": "diab",
    },
)

# Of encoders: the file of released numbers, and the name there; none were kept of convolutions.
corpora = Corpora(PUBLISHED.corpora)
BILSTM = Value("bilstm", {"encoder": "bilstm"}, {"file": "outputs", "published": "BiLSTM"})
CONV = Value("conv", {"encoder": "conv"}, {"file": "outputs", "published": ""})
MLP = Value("mlp", {"encoder": "mlp"}, {"file": "average", "published": "Average"})
ENCODERS = [BILSTM, CONV, MLP]
ATTENTIONS = [
    Value("additive", {"attention": "additive"}, {"published": "tanh"}),
    Value("dot", {"attention": "dot"}, {"published": "dot"}),
]
# The authors' gradient is times the input, and does not flow through attention.
GRADIENT = "inputs:attention:gradient-input-detached"
LEFT_OUT = "inputs:attention:leave-one-out"
BOTH = "inputs:gradient-input-detached:leave-one-out"
IMPORTANCES = ids({"gradients": GRADIENT, "leave-one-out": LEFT_OUT})
PAIRS = [
    Value(name, {}, {"id": id, "published": f"kendall_{metric}"})
    for name, id, metric in (
        ("attention, gradient", GRADIENT, "attention_vs_gradient"),
        ("attention, leave-one-out", LEFT_OUT, "attention_vs_LOO"),
        ("gradient, leave-one-out", BOTH, "gradient_vs_LOO"),
    )
]
# Documents by the largest weight: half of all weight, or more, on one word.
PEAKED = ids({"max α 0.5–0.75": "max_weight=0.5-0.75", "max α 0.75–1": "max_weight=0.75-1"})

# The paper's words as numbers.
# A mean τ below this is weak. The paper has no bound; this is half way from none to all: three
# pairs of words in four in the same order. All means of BiLSTMs in the authors' outputs are below.
WEAK = 0.5
# Share of comparisons behind *in general*; in the authors' own outputs gradients agree with
# leave-one-out better than attention does in 22 of 24.
GENERALLY = 0.75
# Share behind *for many models*: the paper itself shows panels where peaked attention matters.
HALF = 0.5
# A change of the output below this is small: twice the ε within which they call outputs equal. It
# is compared with the mean over documents, which is harder to pass than *many documents*.
SMALL = 0.1
# Percent of documents that counts as most.
MOST = 50

# That a search finds a lower bound of the exact answer is true by construction, and no claim here.
claim = Claims()
MODEL = "{corpus}, {encoder}, {attention}"


def bilstms(results: PaperResults, **axes: Axis) -> list[Point]:
    return Point(results).over(corpus=corpora, encoder=[BILSTM], attention=ATTENTIONS, **axes)


@claim(1, "Table 2, Figure 2", short="Attention orders words only weakly as gradients do", rank=1)
def follows_gradients_weakly(results: PaperResults) -> Finding:
    """In a BiLSTM, attention orders words only weakly as gradients do, on every corpus."""
    it = compare(bilstms(results), f"agreement/{GRADIENT}/tau", below=WEAK, label=MODEL)
    theirs = PUBLISHED.span("outputs", "kendall_attention_vs_gradient", [it], model="BiLSTM")
    return finding([part("", it)], f"τ-b {theirs:.2f}", f"τ-b {it.span:.2f}")


@claim(2, "Table 2", short="Attention orders words only weakly as leaving them out does", rank=2)
def follows_leave_one_out_weakly(results: PaperResults) -> Finding:
    """In a BiLSTM, attention orders words only weakly as leaving them out does, on every corpus."""
    it = compare(bilstms(results), f"agreement/{LEFT_OUT}/tau", below=WEAK, label=MODEL)
    theirs = PUBLISHED.span("outputs", "kendall_attention_vs_LOO", [it], model="BiLSTM")
    return finding([part("", it)], f"τ-b {theirs:.2f}", f"τ-b {it.span:.2f}")


@claim(3, "Section 4.1", short="Gradients and leave-one-out agree better with each other", rank=3)
def importances_agree(results: PaperResults) -> Finding:
    """Gradients and leave-one-out agree with each other better than attention with either."""
    points = bilstms(results, importance=IMPORTANCES)
    label = f"{MODEL}: than attention with {{importance}}"
    it = compare(points, f"agreement/{BOTH}/tau", b="agreement/{importance.id}/tau", label=label)
    theirs = PUBLISHED.span("outputs", "kendall_gradient_vs_LOO", [it], model="BiLSTM")
    return finding([part("", it, GENERALLY)], f"τ-b {theirs:.2f}", f"τ-b {it.span:.2f}")


@claim(4, "Section 4.1", short="Without context attention agrees with both better")
def without_context(results: PaperResults) -> Finding:
    """Attention over words read one by one, without context, agrees with both better than attention
    over a BiLSTM's states."""
    points = Point(results).over(
        corpus=corpora, encoder=[MLP], attention=ATTENTIONS, importance=IMPORTANCES
    )
    tau, label = "agreement/{importance.id}/tau", "{corpus}, {attention}: with {importance}"
    it = compare(points, tau, b=at(tau, encoder=BILSTM), label=label)
    metrics = ["kendall_attention_vs_gradient", "kendall_attention_vs_LOO"]
    theirs = PUBLISHED.span("average", metrics, [it])
    return finding([part("", it, GENERALLY)], f"τ-b {theirs:.2f}", f"τ-b {it.span:.2f}")


@claim(
    5,
    "Section 4.2.1",
    short="Shuffled attention changes the output little, even where it is peaked",
    cause={"test": "our bound, 0.1"},
    rank=6,
)
def shuffling(results: PaperResults) -> Finding:
    """Shuffling a BiLSTM's attention often changes its output little, even where one word has most
    of the weight."""
    every, on_one = bilstms(results), bilstms(results, peaked=PEAKED)
    change = "adversary.groups/{}/permuted_change"
    all_of = compare(every, change.format("all"), below=SMALL, label=MODEL)
    label = f"{MODEL}, {{peaked}}"
    peaked = compare(on_one, change.format("{peaked.id}"), below=SMALL, label=label)
    parts = [part("all documents", all_of, GENERALLY), part("peaked attention", peaked, HALF)]
    return finding(parts, "often little", f"{all_of.span:.2f}; peaked {peaked.span:.2f}")


@claim(
    6,
    "Section 4.2.2",
    short="Most documents have far other attention with nearly the same output",
    rank=4,
)
def other_attention(results: PaperResults) -> Finding:
    """For most documents there is an attention far from the model's own with nearly the same
    output."""
    it = compare(bilstms(results), "adversary/epsilon=0.05/far", above=MOST, label=MODEL)
    return finding([part("", it)], "most documents", f"{it.span:.0f}% of documents")


@claim(7, "Section 4.2.2", short="So it is where one word has most of the weight", rank=5)
def other_attention_where_peaked(results: PaperResults) -> Finding:
    """That holds also where one word has most of the weight."""
    far = "adversary.groups/{peaked.id}/far@epsilon=0.05"
    it = compare(bilstms(results, peaked=PEAKED), far, above=MOST, label=f"{MODEL}: {{peaked}}")
    return finding([part("", it, GENERALLY)], "most documents", f"{it.span:.0f}% of documents")


exhibit = Exhibits()
LABELS = {"corpus": "corpus", "encoder": "encoder", "attention": "attention"}
BESIDE = PUBLISHED.beside(
    "{encoder.file}", "{corpus.published}", "{encoder.published}", "{attention.published}"
)
CORRELATIONS = {
    "τ-b": Measure("tau", "{pair.published}"),
    "sd": Measure("sd", "{pair.published}", column="std"),
    "p ≤ 0.05": Measure("significant", "{pair.published}_frac_p_le_0.05", times=100),
}


def models(results: PaperResults, known: Axis = corpora.printed, **axes: Axis) -> list[Point]:
    return Point(results).over(corpus=known, encoder=ENCODERS, attention=ATTENTIONS, **axes)


@exhibit("table1")
def table1(results: PaperResults) -> Rows:
    """Corpora: size and length.

    published: test documents of the authors' released outputs
    """

    def of_any_model(column: str, of_all: bool = False) -> Measure:
        # it depends on no model, so any model of a corpus will do
        source = f"agreement.documents/{column}/value"
        given = whole(source) if of_all else source
        return Measure(
            first(given, encoder=ENCODERS, attention=ATTENTIONS),
            "n_test_class0 + n_test_class1" if of_all else "",
        )

    measures = {
        "test documents": of_any_model("documents", of_all=True),
        "documents examined": of_any_model("documents"),
        "words of a document": of_any_model("items"),
    }
    published = PUBLISHED.beside("outputs", "{corpus.published}", "BiLSTM", "tanh")
    for point in Point(results).over(corpus=corpora.printed):
        yield from rows(point, {"corpus": "corpus"}, measures, published=published, setting=True)


@exhibit("table2")
def table2(results: PaperResults) -> Rows:
    """Agreement of attention with gradients and with leave-one-out.

    published: the authors' released outputs, one run each, in which both classes are pooled; mlp is
    their Average; sd is over documents
    """
    labels = {**LABELS, "pair": "pair"}
    for point in models(results, pair=PAIRS[:2]):
        yield from rows(point, labels, CORRELATIONS, "agreement/{pair.id}/{}", BESIDE)


@exhibit("performance")
def performance(results: PaperResults) -> Rows:
    """How well the models decide.

    published: the authors' released outputs, one run each, in which both classes are pooled
    """
    measures = {
        "F1": Measure(fact("test_f1"), "test_F1_positive"),
        "macro F1": Measure(fact("test_macro_f1"), "test_F1_macro"),
        "accuracy": Measure(fact("test_accuracy"), "test_accuracy"),
        "ROC AUC": Measure(fact("test_roc_auc"), "test_roc_auc"),
    }
    for point in models(results):
        yield from rows(point, LABELS, measures, published=BESIDE)


@exhibit("gradient_loo")
def gradient_loo(results: PaperResults) -> Rows:
    """Agreement of gradients with leave-one-out, by which that of attention is read.

    published: the authors' released outputs, one run each, in which both classes are pooled; sd is
    over documents
    """
    labels = {**LABELS, "pair": "pair"}
    for point in models(results, pair=PAIRS[2:]):
        yield from rows(point, labels, CORRELATIONS, "agreement/{pair.id}/{}", BESIDE)


def groups(column: str, point: Point) -> list[Value]:
    """Groups of a model's documents, by the class decided for and the largest weight."""
    values = []
    for row in point.rows("adversary.groups", column):
        group = dict(one.split("=") for one in row.split(",") if one != "all")
        decided, weights = group.get("class", "all"), group.get("max_weight", "all")
        facts = {"decided": decided, "weights": weights.replace("-", "–")}
        values.append(Value(row, {}, facts))
    return values


GROUP = {"class": "group.decided", "max α": "group.weights"}


@exhibit("permutation")
def permutation(results: PaperResults) -> Rows:
    """How far shuffled attention moves the output, by the largest weight.

    violins in the paper: means of their bins here; class is the one decided for
    """
    measures = {"|Δŷ|": "permuted_change", "documents": "documents"}
    for point in models(results, corpora, group=lambda point: groups("permuted_change", point)):
        yield from rows(point, {**LABELS, **GROUP}, measures, "adversary.groups/{group}/{}")


@exhibit("adversary")
def adversary(results: PaperResults) -> Rows:
    """How far attention can move with the output within ε = 0.05, by the largest weight.

    the paper has what its search finds: here the exact answer, and the search's over all documents
    """
    measures = {"JSD": "jsd", "JSD > 0.5, %": "far"}
    searched = {"by": "searched", "class": "all", "max α": "all"}
    for model in models(results, corpora):
        for point in model.over(group=lambda point: groups("jsd@epsilon=0.05", point)):
            labels = {**LABELS, "by": "exact", **GROUP}
            yield from rows(point, labels, measures, "adversary.groups/{group}/{}@epsilon=0.05")
        yield from rows(model, {**LABELS, **searched}, measures, "adversary.search/epsilon=0.05/{}")


PAPER = Paper(
    name=NAME,
    title="Attention is not Explanation",
    authors="Sarthak Jain and Byron C. Wallace",
    url="https://aclanthology.org/N19-1357",
    folder=PUBLISHED.folder,
    exhibits=exhibit,
    claims=claim,
    corpora={
        "sst": "sst",
        "imdb": "imdb",
        "20news_sports": "20News_sports",
        "ag_news": "agnews",
        "mimic_anemia": "anemia",
        "mimic_diabetes": "diab",
    },
    probed={
        "F1": fact("test_f1"),
        "τ-b: attention, gradient": f"agreement/{GRADIENT}/tau",
        "τ-b: attention, leave-one-out": f"agreement/{LEFT_OUT}/tau",
        "τ-b: gradient, leave-one-out": f"agreement/{BOTH}/tau",
    },
    conclusion={
        "attention over a BiLSTM follows gradients and leave-one-out only weakly": [1, 2, 3],
        "other attention gives nearly the same output": [6, 7],
        "shuffling it changes little even where one word has most of the weight": [5],
    },
    setup=[
        "Corpora: a third of AG News; no MIMIC, no questions, no inference.",
        "Vectors: GloVe of 100 dimensions (paper fastText of 300).",
        "Other attention: the exact farthest within ε (paper: a search).",
    ],
    scatter={
        "τ-b": ["τ-b"],
        "τ-b significant, %": ["p ≤ 0.05"],
        "F1, accuracy, AUC": ["F1", "macro F1", "accuracy", "ROC AUC"],
    },
)
