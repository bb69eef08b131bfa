"""Train word2vec on a corpus of a paper, and write the vectors as a text file for --vectors.

    python -m research.papers.train_vectors serrano-smith-2019 imdb word2vec-200-imdb.txt.gz

A study with `vectors: word2vec` trains them in every cell, and needs gensim where it runs. A file
needs it once. Vectors have length one, and three digits after the point, which keeps a file small.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np

import verax
from research.papers import paper
from verax.corpora import SPECIALS, TokenizedTexts, Tokenizer, Vocabulary, tokenize


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paper", help="whose reading of the corpus, such as serrano-smith-2019")
    parser.add_argument("part", help="a part of one corpus, such as imdb")
    parser.add_argument("out", type=Path, help="the file, such as word2vec-200-imdb.txt.gz")
    parser.add_argument("--size", type=int, default=200, help="of a vector [200]")
    parser.add_argument("--epochs", type=int, default=5, help="of word2vec [5]")
    parser.add_argument("--seed", type=int, default=1, help="of word2vec [1]")
    args = parser.parse_args()
    ((name, options),) = paper(args.paper).studies("full")[args.part]["corpora"].items()
    options = dict(options)
    least = options.pop("min_df", 1)
    reading = {n: options.pop(n) for n in ("tokenizer", "lowercase") if n in options}
    tokenizer = Tokenizer(*(reading.get("tokenizer", "words"), reading.get("lowercase", True)))
    train = tokenize(verax.load_corpus(name, **options).train, tokenizer)
    vocabulary = Vocabulary.of(train, least)
    vectors = train_vectors(vocabulary, train, args.size, args.epochs, args.seed)
    # a file without a time in its head: the same vectors give the same bytes
    with args.out.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        for word, row in zip(vocabulary.words, vectors[len(SPECIALS) :], strict=True):
            if not any(character.isspace() for character in word):
                numbers = " ".join(f"{value:.3f}" for value in row.tolist())
                file.write(f"{word} {numbers}\n".encode())
    print(f"{args.out}: {len(vocabulary.words):,} words of {args.size}")


def train_vectors(
    vocabulary: Vocabulary, train: TokenizedTexts, size: int, epochs: int, seed: int
) -> np.ndarray:
    """Return unit vectors of word2vec, as Serrano & Smith have it: CBOW, a window of 5 words.

    Words outside the vocabulary count as one word. One worker, so that a seed fixes the result.
    """
    from gensim.models import Word2Vec

    encoded = vocabulary.encode(train)
    edges = np.cumsum(train.sentences.values.astype(np.int64))[:-1]
    sentences = [[str(i) for i in sentence] for sentence in np.split(encoded.values, edges)]
    model = Word2Vec(
        sentences, vector_size=size, epochs=epochs, min_count=1, workers=1, seed=seed, window=5
    )
    vectors = np.zeros((len(vocabulary), size), dtype=np.float32)
    for number in model.wv.key_to_index:
        vectors[int(number)] = model.wv[number]
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


if __name__ == "__main__":
    main()
