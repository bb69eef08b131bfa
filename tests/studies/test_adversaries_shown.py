"""What `verax adversary` prints, of numbers that were made up."""

from __future__ import annotations

import pytest
from made_up_adversaries import made_up

from verax.cli.adversary import show
from verax.studies import Adversaries


def with_decisions(found: Adversaries, right: float | None) -> Adversaries:
    """Adversaries that decide as the base does, or whose decisions are all right, or all wrong."""
    rows = found.instances.copy()
    adversary = rows["kind"] == "adversary"
    for measure in ("decision", "correct"):
        own = adversary & (rows["measure"] == measure)
        of_base = rows[(rows["name"] == "base") & (rows["measure"] == measure)]
        values = of_base.set_index(["split", "id"])["value"]
        same = [
            values[key] for key in zip(rows.loc[own, "split"], rows.loc[own, "id"], strict=True)
        ]
        rows.loc[own, "value"] = right if measure == "correct" and right is not None else same
    return Adversaries(rows, found.manifest)


@pytest.mark.slow
def test_what_is_said_of_the_lam_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = made_up(0, lams=(0.0, 0.5))
    near = with_decisions(found, None)
    assert near.chosen().within
    show(near)
    out = capsys.readouterr().out
    assert "λ 0.5: the furthest attention of those within 1 point of the base's F1 and acc" in out
    assert "no adversary" not in out
    collapsed = with_decisions(found, 0.0)  # F1 as it was
    assert not collapsed.chosen().within
    show(collapsed)
    out = capsys.readouterr().out
    assert "no adversary decides as well as the base: none is within 1 point of both its F1 " in out
    assert "λ 0.5 comes closest, validation F1" in out
    assert "accuracy 0.0% (the base" in out
    show(made_up(0, lams=(0.0,))[0])
    assert "λ 0 imitates the base and is no adversary" in capsys.readouterr().out


@pytest.mark.slow
def test_documents_of_one_item_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = made_up(0)
    show(found)
    assert "one item" not in capsys.readouterr().out
    rows = found.instances
    single = (rows["measure"] == "items") & (rows["id"] == 3)
    show(Adversaries(rows.assign(value=rows["value"].where(~single, 1.0)), found.manifest))
    words = "1 of the documents has one item, which no attention can leave: left out of JSD"
    assert words in capsys.readouterr().out
    single = rows["measure"] == "items"
    show(Adversaries(rows.assign(value=rows["value"].where(~single, 1.0)), found.manifest))
    assert "23 of the documents have one item" in capsys.readouterr().out
