"""k-means into 1,000 clusters: ours, scikit-learn's, faiss's and plain Lloyd steps.

    python benchmarks/clustering.py [--device cuda] [--repeats 3] [--vectors 200000]
        [--dimensions 300] [--noise 0.6] [--methods ours,sklearn-100] [--out clustering.parquet]

isotropic  N(0, 1): nothing to find, and every method is within a few percent
words      as hidden states are: 1,000 word centres N(0, 1) with Zipf frequencies, and noise whose
           variance falls as 1/j along turned axes, `--noise` times the centres' size

ours         verax.exams.information.clustering.cluster, on the device
lloyd-10     ten full Lloyd steps in torch from random vectors, on the device
sklearn-100  scikit-learn's MiniBatchKMeans with batches of 100, Tutek & Šnajder's; the measure of
             the others
sklearn-…    the same with larger batches
faiss-10, …  faiss-cpu's Kmeans with so many iterations, and its search for the labels; left out
             where it is not installed

Each repeat runs every method in turn with the repeat as its seed, labels included. Inertia is
recomputed from centres for all alike. ratio is scikit-learn's time ÷ the method's, relative its
inertia ÷ scikit-learn's, both of the same repeat: a method is as good with relative ≤ 1.02. scikit-
learn and faiss stay on the CPU. First, the memory ours takes beyond the vectors.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import time
from collections.abc import Callable

import pandas as pd
import sklearn
import torch
from sklearn.cluster import MiniBatchKMeans
from torch import Tensor

from verax.device import full_precision, resolve_device
from verax.exams.information.clustering import cluster

CLUSTERS = 1000
BASELINE = "sklearn-100"
Method = Callable[[Tensor, int], Tensor]  # vectors and seed to centres, labels made on the way


def make_vectors(data: str, n: int, d: int, noise: float) -> Tensor:
    """(n, d), the same each time."""
    generator = torch.Generator().manual_seed(0)
    if data == "isotropic":
        return torch.randn(n, d, generator=generator)
    share = 1.0 / torch.arange(1, CLUSTERS + 1).double()
    word = torch.multinomial(share, n, replacement=True, generator=generator)
    spread = torch.arange(1, d + 1).float().rsqrt()
    spread *= noise * (d / spread.square().sum()).sqrt()
    turn = torch.linalg.qr(torch.randn(d, d, generator=generator))[0]
    centres = torch.randn(CLUSTERS, d, generator=generator)
    return centres[word] + (torch.randn(n, d, generator=generator) * spread) @ turn


def inertia(vectors: Tensor, centres: Tensor) -> float:
    centres = centres.to(vectors.device)
    norms, total = centres.square().sum(1), 0.0
    for block in vectors.split(4096):
        near = torch.addmm(norms, block, centres.T, alpha=-2).min(1).values
        total += (near + block.square().sum(1)).double().sum().item()
    return total


def ours(vectors: Tensor, seed: int) -> Tensor:
    return cluster(vectors, CLUSTERS, seed).centres


def lloyd(vectors: Tensor, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    start = torch.randperm(len(vectors), generator=generator)[:CLUSTERS]
    centres = vectors[start.to(vectors.device)]
    for _ in range(11):  # the last for its labels
        norms, sums = centres.square().sum(1), torch.zeros_like(centres)
        sizes = sums.new_zeros(CLUSTERS)
        for block in vectors.split(4096):
            labels = torch.addmm(norms, block, centres.T, alpha=-2).argmin(1)
            sums.index_add_(0, labels, block)
            sizes.index_add_(0, labels, torch.ones_like(block[:, 0]))
        found, centres = centres, sums / sizes.clamp(min=1).unsqueeze(1)
    return found


def mini_batch(batch: int) -> Method:
    def fit(vectors: Tensor, seed: int) -> Tensor:
        method = MiniBatchKMeans(CLUSTERS, batch_size=batch, n_init=1, random_state=seed)
        return torch.from_numpy(method.fit(vectors.numpy()).cluster_centers_)

    return fit


def faiss_kmeans(iterations: int) -> Method:
    def fit(vectors: Tensor, seed: int) -> Tensor:
        import faiss  # type: ignore[import-not-found, unused-ignore]

        method = faiss.Kmeans(vectors.shape[1], CLUSTERS, niter=iterations, seed=seed)
        method.train(vectors.numpy())
        method.index.search(vectors.numpy(), 1)
        return torch.from_numpy(method.centroids)

    return fit


ON_DEVICE: dict[str, Method] = {"ours": ours, "lloyd-10": lloyd}
ON_CPU: dict[str, Method] = {f"sklearn-{b}": mini_batch(b) for b in (100, 1024, 4096)}
PEER = {"faiss-10": faiss_kmeans(10), "faiss-25": faiss_kmeans(25)}


def seconds(method: Method, vectors: Tensor, seed: int) -> tuple[float, Tensor]:
    started = time.perf_counter()
    centres = method(vectors, seed)
    if vectors.is_cuda:
        torch.cuda.synchronize(vectors.device)
    return time.perf_counter() - started, centres


def added_memory(n: int, d: int, device: torch.device) -> float:
    """MiB that ours takes beyond its vectors at its height."""
    vectors = torch.rand(n, d, device=device)  # made without raising the height
    cluster(vectors[: 2 * CLUSTERS], CLUSTERS, 0)  # what is loaded on first use
    if vectors.is_cuda:
        torch.cuda.reset_peak_memory_stats(vectors.device)
        before = torch.cuda.memory_allocated(vectors.device)
        cluster(vectors, CLUSTERS, 0)
        return (torch.cuda.max_memory_allocated(vectors.device) - before) / 2**20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cluster(vectors, CLUSTERS, 0)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def compare(
    data: str, vectors: Tensor, device: torch.device, methods: list[str], repeats: int
) -> list[dict[str, object]]:
    here, there = vectors, vectors.to(device)
    rows: list[dict[str, object]] = []
    for repeat in range(repeats):
        floor = 0.0, 0.0
        for name in methods:
            made_for_cpu = {**ON_CPU, **PEER}.get(name)
            method = made_for_cpu or ON_DEVICE[name]
            took, centres = seconds(method, here if made_for_cpu else there, repeat)
            found = inertia(there, centres)
            floor = (took, found) if name == BASELINE else floor
            ratio, relative = floor[0] / took, found / floor[1]
            where = "cpu" if made_for_cpu else device.type
            rows.append(
                {
                    "method": name,
                    "data": data,
                    "device": where,
                    "threads": torch.get_num_threads(),
                    "repeat": repeat,
                    "seconds": took,
                    "inertia": found,
                    "ratio": ratio,
                    "relative": relative,
                }
            )
            print(
                f"{data:10} {name:12} {where:5} {repeat:6} {took:8.2f} {found:11.4e} "
                f"{ratio:6.2f}× {relative:8.3f}",
                flush=True,
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--vectors", type=int, default=200_000)
    parser.add_argument("--dimensions", type=int, default=300)
    parser.add_argument("--noise", type=float, default=0.6)
    parser.add_argument("--methods", default=",".join([*ON_DEVICE, *ON_CPU, *PEER]))
    parser.add_argument("--out", default="clustering.parquet")
    given = parser.parse_args()
    device = resolve_device(given.device)
    asked = [BASELINE, *(m for m in given.methods.split(",") if m != BASELINE)]
    if importlib.util.find_spec("faiss") is None and any(m in PEER for m in asked):
        print("faiss is not installed and left out: pip install faiss-cpu")
        asked = [m for m in asked if m not in PEER]
    sizes = (given.vectors, given.dimensions, given.noise)
    print(
        f"{given.vectors} × {given.dimensions} into {CLUSTERS}, {device}, "
        f"{torch.get_num_threads()} threads, torch {torch.__version__}, "
        f"scikit-learn {sklearn.__version__}"
    )
    rows: list[dict[str, object]] = []
    with full_precision():
        added = added_memory(given.vectors, given.dimensions, device)
        taken = 4 * given.vectors * given.dimensions / 2**20
        print(f"memory: vectors {taken:.0f} MiB, ours {added:.0f} MiB more")
        print(
            f"{'data':10} {'method':12} {'where':5} {'repeat':>6} {'seconds':>8} {'inertia':>11} "
            f"{'ratio':>7} {'relative':>8}"
        )
        for data in ("isotropic", "words"):
            vectors = make_vectors(data, *sizes)
            rows += compare(data, vectors, device, asked, given.repeats)
    frame = pd.DataFrame(rows)
    frame.to_parquet(given.out, index=False)
    columns = ["seconds", "inertia", "ratio", "relative"]
    print(frame.groupby(["data", "method"], sort=False)[columns].median().to_string())


if __name__ == "__main__":
    main()
