"""`verax examine` says how many of the documents examined are in train, too."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import verax
from verax.cli import main


@pytest.mark.slow
def test_documents_that_are_in_train_too_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [f"{word} film {number}" for number in range(30) for word in ("good", "bad")]
    frame = pd.DataFrame({"text": texts, "label": ["pos", "neg"] * 30})
    frame["split"] = ["train"] * 40 + ["validation"] * 10 + ["test"] * 10
    frame.loc[50:51, "text"] = frame.loc[0:1, "text"].to_list()
    frame.to_csv(tmp_path / "films.csv", index=False)
    corpus = verax.load_corpus(str(tmp_path / "films.csv"))
    verax.train(corpus, encoder="none", epochs=1).save(tmp_path / "model")
    command = ["examine", str(tmp_path / "model"), "--exams", "replacement"]
    told = "warning: test: 2 of 10 documents are in train, too"

    assert main(command) == 0
    assert told in capsys.readouterr().out
    assert main([*command, "--corpus", str(tmp_path / "films.csv")]) == 0
    assert told in capsys.readouterr().out

    assert main([*command, "--split", "train"]) == 0
    assert "in train, too" not in capsys.readouterr().out
    frame.drop(index=30).to_csv(tmp_path / "others.csv", index=False)  # the model saw none of it
    assert main([*command, "--corpus", str(tmp_path / "others.csv")]) == 0
    assert "in train, too" not in capsys.readouterr().out
