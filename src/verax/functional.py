"""The mathematics by itself: pure functions of tensors, for weights of any model.

All are batched and masked: `mask` (batch, items) is True where there is an attended item. None
reads a model, a corpus or a file.

flips of a decision
    minimal_flip_sets   the smallest set of items whose erasure changes each decision, exactly
    first_flips         how many items must go before each decision flips, by a given ranking
    erase               weights with some items at zero and the rest summing to one again
    FlipSets, FirstFlips  the results of the first two

sets of words, by asking any function
    smallest_sets             the smallest set that changes each decision: lower and upper bound
    smallest_sufficient_sets  the smallest set that alone keeps each decision: the same
    SmallestSets              the result of both

another attention with the same prediction
    most_divergent      the attention farthest from the given one that keeps each prediction
    farthest_item       the same among attentions that put all weight on one item, for any head
    farthest_anywhere   an upper bound for all attentions, with any prediction
    Adversary           the result of most_divergent
    permuted            the given weights in random order
    pool                the attention-weighted sum of the items

rankings
    kendall_tau_b       Kendall's τ-b between rows, exactly, with ties
    kendall_p_value     how likely such a τ-b is by chance
    spearman            Spearman's ρ between rows
    top_k_overlap       the share of the top k that two rows have in common

overlap with the words that people marked
    average_precision   the area under the precision–recall curve of scores
    top_words           the words with the highest scores
    token_f1            F1 of chosen words
    iou_f1              F1 of chosen spans, as ERASER defines it

distributions
    normalised_entropy  H(p) / log n of each row
    support_size        how many items of each row have weight
    jensen_shannon      Jensen–Shannon divergence of two distributions, in nats
    total_variation     half the sum of their absolute differences
    weight_gradient     ∂p/∂α of each weight under an affine head

what hidden states know about words
    cluster                k-means of vectors, with a Clustering as its result
    mutual_information     of two labelings, with a SharedInformation as its result
    pointwise_information  its term for each occurrence
    shuffled_information   the same with labels in random order: the bias of the estimate
    tying_loss             squared distance of states from their words' embeddings
    mlm_loss               cross-entropy of predicting words from their states

projections of scores to weights on the simplex
    softmax, sparsemax, sparsegen, entmax, uniform
    project             the projection of a given name

>>> import torch
>>> from verax import functional
>>> scores = torch.tensor([[2.0, 1.5, -1.0, 9.0]])
>>> mask = torch.tensor([[True, True, True, False]])
>>> weights = functional.sparsemax(scores, mask)
>>> weights.tolist()
[[0.75, 0.25, 0.0, 0.0]]
>>> says = torch.tensor([[[2.0, 0.0], [0.0, 1.0], [0.0, 3.0], [0.0, 0.0]]])
>>> functional.minimal_flip_sets(weights, says, mask).members.tolist()
[[True, False, False, False]]
>>> round(functional.normalised_entropy(weights, mask).item(), 3)
0.512
"""

from verax.divergence import jensen_shannon, total_variation
from verax.exams.adversary import Adversary, farthest_anywhere, farthest_item, most_divergent
from verax.exams.agreement import kendall_p_value, kendall_tau_b, spearman, top_k_overlap
from verax.exams.deletion import smallest_sets, smallest_sufficient_sets
from verax.exams.deletion.smallest import SmallestSets
from verax.exams.dispersion import normalised_entropy, support_size
from verax.exams.erasure import FirstFlips, FlipSets, erase, first_flips, minimal_flip_sets
from verax.exams.information.clustering import Clustering, cluster
from verax.exams.information.mutual_information import (
    SharedInformation,
    mutual_information,
    pointwise_information,
    shuffled_information,
)
from verax.exams.plausibility import average_precision, iou_f1, token_f1, top_words
from verax.importance import weight_gradient
from verax.models.counterfactual import permuted
from verax.models.layers import mlm_loss, pool, tying_loss
from verax.models.projections import entmax, project, softmax, sparsegen, sparsemax, uniform

__all__ = [
    "Adversary",
    "Clustering",
    "FirstFlips",
    "FlipSets",
    "SharedInformation",
    "SmallestSets",
    "average_precision",
    "cluster",
    "entmax",
    "erase",
    "farthest_anywhere",
    "farthest_item",
    "first_flips",
    "iou_f1",
    "jensen_shannon",
    "kendall_p_value",
    "kendall_tau_b",
    "minimal_flip_sets",
    "mlm_loss",
    "most_divergent",
    "mutual_information",
    "normalised_entropy",
    "permuted",
    "pointwise_information",
    "pool",
    "project",
    "shuffled_information",
    "smallest_sets",
    "smallest_sufficient_sets",
    "softmax",
    "sparsegen",
    "sparsemax",
    "spearman",
    "support_size",
    "token_f1",
    "top_k_overlap",
    "top_words",
    "total_variation",
    "tying_loss",
    "uniform",
    "weight_gradient",
]
