"""k-means against brute force, scikit-learn, and cases whose answer is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import load_digits, load_iris
from torch import Tensor

from support.errors import raises
from support.internals import clustering_module as clustering
from support.internals import sample_sizes
from verax.functional import Clustering, cluster


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def distances(vectors: Tensor, centres: Tensor) -> Tensor:
    """(n, clusters) squared, in double precision, by differences."""
    return (vectors.double()[:, None] - centres.double()).square().sum(-1)


def check(found: Clustering, vectors: Tensor, rounding: float = 1e-5) -> None:
    """Labels are nearest centres, and inertia is the sum of their squared distances."""
    each = distances(vectors, found.centres)
    taken = each.gather(1, found.labels[:, None]).squeeze(1)
    scale = (vectors.double() - vectors.double().mean(0)).square().sum(1).max().item()
    assert (taken - each.min(1).values).max().item() <= rounding * scale
    assert found.inertia == pytest.approx(taken.sum().item(), rel=1e-5, abs=rounding * scale)


def blobs(sizes: Iterable[int], d: int, spread: float = 0.1) -> tuple[Tensor, Tensor]:
    """Vectors round corners of a cube that are at least 10 apart, and which corner."""
    which = torch.cat([torch.full((s,), i) for i, s in enumerate(sizes)])
    corners = torch.tensor([[10.0 * (i >> j & 1) for j in range(d)] for i in range(2**d)])
    shuffled = which[torch.randperm(len(which), generator=torch.Generator().manual_seed(1))]
    return corners[shuffled] + spread * normal(len(which), d), shuffled


def same_partition(a: Tensor, b: Tensor) -> bool:
    pairs = len(torch.stack([a, b], 1).unique(dim=0))
    return pairs == len(a.unique()) == len(b.unique())


SETS = {
    "plane": normal(500, 2),
    "isotropic": normal(1500, 20),
    "far from the origin": normal(800, 4) + torch.tensor([3e3, -1e3, 0.0, 5e2]),
    "heavy tails": normal(600, 3) / normal(600, 1, seed=1).abs().clamp(min=0.05),
    "mixture": 4 * normal(40, 10)[torch.arange(1600) % 40] + normal(1600, 10, seed=1),
    "iris": torch.tensor(load_iris().data).float(),
    "digits": torch.tensor(load_digits().data).float(),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("clusters", [1, 3, 20, 60])
def test_labels_and_inertia_by_brute_force(name: str, clusters: int) -> None:
    found = cluster(SETS[name], clusters, seed=0)
    check(found, SETS[name])
    assert found.centres.shape == (clusters, SETS[name].shape[1])
    assert len(found.labels.unique()) == clusters


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("clusters", [3, 20, 60])
def test_inertia_beside_scikit_learn(name: str, clusters: int) -> None:
    """Means over five seeds: any one start may be lucky, theirs or ours."""
    vectors = SETS[name]
    ours = np.mean([cluster(vectors, clusters, seed).inertia for seed in range(5)])
    for method, options in ((KMeans, {}), (MiniBatchKMeans, {"batch_size": 100})):
        theirs = []
        for seed in range(5):
            fitted = method(clusters, n_init=1, random_state=seed, **options).fit(vectors.numpy())
            theirs.append(fitted.inertia_)
        assert ours <= 1.02 * np.mean(theirs), method.__name__


@pytest.mark.parametrize("seed", range(3))
def test_samples_lead_to_as_good_an_inertia(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """750, 3,000 and 6,000 vectors, beside scikit-learn on all."""
    monkeypatch.setattr(clustering, "LEAST", 100)
    vectors = 3 * normal(30, 12)[torch.arange(6000) % 30] + normal(6000, 12, seed=1)
    assert sample_sizes(6000, 30) == [750, 3000, 6000]
    found = cluster(vectors, 30, seed)
    check(found, vectors)
    whole = KMeans(30, n_init=3, random_state=seed).fit(vectors.numpy())
    assert found.inertia <= 1.02 * whole.inertia_


def test_samples_grow_up_to_all() -> None:
    assert sample_sizes(500, 3) == [500]
    assert sample_sizes(200_000, 1000) == [25_000, 100_000, 200_000]
    assert sample_sizes(1_000_000, 1000) == [25_000, 100_000, 400_000, 1_000_000]


@pytest.mark.parametrize("seed", range(4))
def test_separate_blobs_are_found_however_small(seed: int) -> None:
    sizes = [2000, 900, 400, 150, 60, 30, 10, 5, 3, 2, 40, 80, 20, 7, 6, 4]
    vectors, which = blobs(sizes, d=4)
    found = cluster(vectors, len(sizes), seed)
    assert same_partition(found.labels, which)
    means = torch.stack([vectors[which == i].double().mean(0) for i in range(len(sizes))])
    assert distances(means, found.centres).min(1).values.max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("distinct", [1, 999, 1000])
def test_few_distinct_vectors_are_each_their_own_cluster(distinct: int) -> None:
    """Zipf frequencies; the rarest, here many, occur once among 100,000."""
    share = 1.0 / torch.arange(1, distinct + 1).double() ** 1.5
    generator = torch.Generator().manual_seed(0)
    word = torch.multinomial(share, 100_000 - distinct, replacement=True, generator=generator)
    word = torch.cat([word, torch.arange(distinct)])
    vectors = normal(distinct, 8)
    # alike but for one sign, or the last bit
    vectors[1::3] = vectors[::3][: len(vectors[1::3])] * torch.tensor([-1.0] + [1.0] * 7)
    bits = vectors[::3].view(torch.int32).clone()
    bits[:, -1] += 1
    vectors[2::3] = bits.view(torch.float32)[: len(vectors[2::3])]
    found = cluster(vectors[word], 1000, seed=0)
    assert found.inertia == 0.0
    assert torch.equal(found.centres[found.labels], vectors[word])
    assert same_partition(found.labels, word)


def test_both_zeros_are_one_vector() -> None:
    found = cluster(torch.tensor([[0.0, 1.0], [-0.0, 1.0], [2.0, 1.0]]), 2, seed=0)
    assert found.labels[0] == found.labels[1] != found.labels[2]
    assert found.inertia == 0.0


def test_signs_alone_tell_vectors_apart() -> None:
    vectors = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 10)
    found = cluster(vectors.repeat(3, 1), 1024, seed=0)
    assert found.inertia == 0.0
    assert len(found.labels.unique()) == 1024


def test_fewer_vectors_than_clusters() -> None:
    vectors = normal(5, 3)
    found = cluster(vectors, 8, seed=0)
    assert found.centres.shape == (5, 3)
    assert torch.equal(found.centres[found.labels], vectors)
    assert (found.inertia, found.iterations) == (0.0, 0)


def test_one_distinct_vector_too_many() -> None:
    """The two nearest share a centre, the mean of their 1 + 3 occurrences."""
    vectors = torch.tensor([[0.0], [1.0], [1.0], [1.0], [9.0], [9.0], [20.0]])
    for seed in range(10):
        found = cluster(vectors, 3, seed)
        assert same_partition(found.labels, torch.tensor([0, 0, 0, 0, 1, 1, 2]))
        assert found.inertia == pytest.approx(0.75)


def test_duplicates_weigh_as_often_as_they_occur() -> None:
    vectors = torch.tensor([[0.0, 0.0], [4.0, 0.0]]).repeat_interleave(torch.tensor([30, 10]), 0)
    found = cluster(vectors, 1, seed=0)
    assert found.centres[0].tolist() == pytest.approx([1.0, 0.0])
    assert found.inertia == pytest.approx(30 * 1 + 10 * 9)


def test_many_duplicates_in_the_sample_leave_no_cluster_empty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first sample has fewer distinct vectors than clusters: the rest start later."""
    monkeypatch.setattr(clustering, "LEAST", 50)
    monkeypatch.setattr(clustering, "SAMPLE", 1)
    vectors = torch.cat([torch.zeros(5000, 2), 10 * normal(60, 2)])
    found = cluster(vectors, 20, seed=0)
    check(found, vectors)
    assert len(found.centres) == len(found.labels.unique()) == 20


def test_same_seed_same_bytes_and_no_global_random_state() -> None:
    vectors, before = SETS["isotropic"], torch.random.get_rng_state()
    a = cluster(vectors, 30, seed=3)
    assert torch.equal(torch.random.get_rng_state(), before)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(99)
        b, other = cluster(vectors, 30, seed=3), cluster(vectors, 30, seed=4)
    assert torch.equal(a.labels, b.labels)
    assert torch.equal(a.centres, b.centres)
    assert (a.inertia, a.iterations) == (b.inertia, b.iterations)
    assert not torch.equal(a.labels, other.labels)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plane", "mixture", "digits"])
def test_scratch_changes_rounding_and_nothing_else(name: str) -> None:
    whole = cluster(SETS[name], 25, seed=0)
    # ten vectors a time where these are short, then sixty, and many
    for scratch in (1_000 if name == "plane" else 6_000, 20_000, 150_000):
        parts = cluster(SETS[name], 25, seed=0, scratch=scratch)
        assert torch.equal(parts.labels, whole.labels)
        torch.testing.assert_close(parts.centres, whole.centres)
        assert parts.inertia == pytest.approx(whole.inertia, rel=1e-5)


def test_distances_are_never_held_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    addmm = torch.addmm

    def watched(*given: Any, **options: Any) -> Tensor:
        out = addmm(*given, **options)
        seen.append(out.numel() * out.element_size())
        return out

    monkeypatch.setattr(torch, "addmm", watched)
    cluster(SETS["isotropic"], 20, seed=0, scratch=2**14)
    assert 2**12 < max(seen) <= 2**14


def test_the_iterations_can_be_watched() -> None:
    seen: list[Any] = []

    def watch(values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            seen.append(value)
            yield value

    found = cluster(SETS["plane"], 5, seed=0, watch=watch)
    assert 0 < found.iterations <= len(seen)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf, 1e30])
def test_what_has_no_distance_is_an_error(bad: float) -> None:
    vectors = normal(100, 3)
    vectors[[41, 70], 1] = bad
    with raises("tensor.bad-values", "41"):
        cluster(vectors, 5, seed=0, scratch=100)


@pytest.mark.parametrize(("shape", "clusters"), [((0, 3), 2), ((4, 3), 0), ((4,), 2), ((4, 0), 2)])
def test_nothing_to_cluster_is_an_error(shape: tuple[int, ...], clusters: int) -> None:
    with raises("tensor.wrong-shape"):
        cluster(torch.zeros(shape), clusters, seed=0)


def test_other_precisions_and_gradients_are_taken() -> None:
    vectors = SETS["plane"]
    expected = cluster(vectors, 5, seed=0)
    for given_ in (vectors.double(), vectors.clone().requires_grad_()):
        found = cluster(given_, 5, seed=0)
        assert torch.equal(found.labels, expected.labels)
        assert found.centres.dtype == torch.float32
        assert not found.centres.requires_grad


@pytest.mark.slow
@given(
    values=st.lists(
        st.lists(st.sampled_from([0.0, 1.0, 2.0, -1.0, 0.5, 1e-6, 1e6]), min_size=3, max_size=3),
        min_size=1,
        max_size=40,
    ),
    clusters=st.integers(1, 12),
    seed=st.integers(0, 2**31),
)
def test_whatever_the_vectors(values: list[list[float]], clusters: int, seed: int) -> None:
    vectors = torch.tensor(values)
    distinct = len(vectors.unique(dim=0))
    found = cluster(vectors, clusters, seed)
    assert found.labels.shape == (len(vectors),)
    assert found.labels.dtype == torch.long
    assert 0 <= found.labels.min() <= found.labels.max() < len(found.centres) <= clusters
    assert found.centres.isfinite().all()
    assert 0.0 <= found.inertia < np.inf
    assert (found.inertia == 0.0) or distinct > clusters
    check(found, vectors, rounding=1e-5)


if torch.cuda.is_available():

    def test_on_a_gpu_as_on_a_cpu_and_twice_the_same() -> None:
        vectors = 3 * normal(200, 64)[torch.arange(60_000) % 200] + normal(60_000, 64, seed=1)
        here = cluster(vectors, 200, seed=0)
        torch.use_deterministic_algorithms(True)
        try:
            first, second = (cluster(vectors.cuda(), 200, seed=0) for _ in range(2))
            exact = cluster(vectors[:40].repeat(50, 1).cuda(), 40, seed=0)
        finally:
            torch.use_deterministic_algorithms(False)
        assert torch.equal(first.labels, second.labels)
        assert torch.equal(first.centres, second.centres)
        assert first.labels.is_cuda
        assert first.centres.is_cuda
        assert first.inertia == pytest.approx(here.inertia, rel=0.01)
        assert exact.inertia == 0.0
