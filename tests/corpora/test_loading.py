"""From a name to a corpus: which source a name means, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.errors import raises
from verax.corpora import BUILT_IN, Corpus, known_corpora, load_corpus


def write(path: Path, word: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{word} {i},{i % 2}\n" for i in range(40))
    path.write_text("text,label\n" + lines)
    return path


def first_word(corpus: Corpus) -> str:
    return corpus.train.texts[0].split()[0]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("VERAX_DATA", raising=False)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    write(folder / "mine" / "train.csv", "data")
    write(folder / "zebra" / "train.csv", "zebra")
    (folder / "README.md").write_text("not a corpus")
    (folder / "empty").mkdir()
    monkeypatch.setenv("VERAX_DATA", str(folder))
    return folder


@pytest.mark.usefixtures("data")
def test_a_plain_name_is_a_folder_of_the_data_folder() -> None:
    corpus = load_corpus("mine")
    assert first_word(corpus) == "data"
    assert corpus.name == corpus.config["corpus"] == "mine"


@pytest.mark.usefixtures("data")
def test_a_folder_by_path_comes_before_the_data_folder() -> None:
    write(Path("mine/train.csv"), "local")
    assert first_word(load_corpus("mine")) == "local"


@pytest.mark.usefixtures("data")
def test_another_folder_of_the_same_name_is_not_in_the_way() -> None:
    Path("mine").mkdir()
    Path("mine/config.json").write_text("{}")
    assert first_word(load_corpus("mine")) == "data"


def test_built_ins_come_before_everything(data: Path) -> None:
    write(data / "planted" / "train.csv", "data")
    write(Path("planted/train.csv"), "local")
    assert load_corpus("planted", documents=60).train.marks is not None
    assert first_word(load_corpus("./planted")) == "local"


def test_files_and_home_paths_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "reviews.csv", "home")
    write(tmp_path / "folder" / "train.csv", "folder")
    assert first_word(load_corpus("~/reviews.csv")) == "home"
    assert first_word(load_corpus(tmp_path / "reviews.csv")) == "home"
    assert first_word(load_corpus("~/folder")) == "folder"


@pytest.mark.usefixtures("data")
def test_known_corpora_are_the_built_ins_and_the_folders_with_a_train_file() -> None:
    assert known_corpora() == [*BUILT_IN, "mine", "zebra"]


def test_without_a_data_folder_only_the_built_ins_are_known() -> None:
    assert known_corpora() == list(BUILT_IN)


def test_a_mistyped_name_gets_the_nearest(data: Path) -> None:
    with raises("corpus.unknown", "zebbra", "zebra"):
        load_corpus("zebbra")
    with raises("corpus.unknown", "rotten_tomatos"):
        load_corpus("rotten_tomatos")
    with raises("corpus.wrong-splits"):
        load_corpus(str(data / "empty"))


def test_an_unknown_name_says_that_the_data_folder_is_not_set() -> None:
    for name in ("sst", "imdb", "ag_news", "20news", "20news_sports", "yelp"):
        with raises("corpus.unknown", f"$VERAX_DATA/{name}", "imdb_reviews"):
            load_corpus(name)
    with raises("corpus.unknown", "planted", "$VERAX_DATA/plantd"):
        load_corpus("plantd")


def test_a_data_folder_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERAX_DATA", "/no/such/folder")
    with raises("file.missing"):
        load_corpus("sst")


@pytest.mark.parametrize("name", ["missing.csv", "./missing", "/missing/file.parquet"])
def test_a_missing_path_is_no_name(name: str) -> None:
    with raises("file.missing"):
        load_corpus(name)


def test_unknown_options_get_the_nearest() -> None:
    path = write(Path("rows.csv"), "word")
    with raises("option.unknown", "count_words", "count_words_by"):
        load_corpus(path, count_words="words")
    with raises("option.unknown", "classes"):
        load_corpus(path, classes=3)
    with raises("option.unknown-value", "words"):
        load_corpus(path, count_words_by="word")


def test_config_is_enough_to_load_a_file_again() -> None:
    path = write(Path("rows.csv"), "word")
    plain = {"labels": {0: "no", 1: "yes"}, "max_words": 5}
    later = {"count_words_by": "keras", "test_limit": 2}
    for options in (plain, plain | later):
        corpus = load_corpus(path, **options)
        config = dict(corpus.config)
        again = load_corpus(config.pop("corpus"), **config)
        assert again.fingerprint == corpus.fingerprint
        assert again.notes == corpus.notes


def test_a_mistyped_path_in_a_folder_that_is_there_is_not_sought_on_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name in ("data/revews", "a/b/c", "data/revews.csv"):
        with raises("file.missing"):
            load_corpus(name)
