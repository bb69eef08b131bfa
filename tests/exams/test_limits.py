"""Limits by version: what is published stays, and one's own replace single ones or are refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import verax
from made_up_summaries import survives
from made_up_summaries import verdict as made_up_verdict
from support.errors import raises
from support.internals import LIMITS_AT
from support.internals import limit_versions as versions
from support.internals import limits as limits_module
from verax.exams import EXAMS, LimitSet, Verdict, load_limits, load_verdict

PUBLISHED = {
    "2026-11": "ca911aa6ffdf7e7327e1ea3683691e4790d3b558123024bb127de498dd1489e2",
    "2026-11-measured-3": "669f6b9d688afe37bcfef8aa539d11b231b1c194bb85577cc2beb8c13ab9d0c1",
}
"""Version → SHA-256 of its file. A published version never changes: add another instead."""
OURS: dict[str, Any] = {
    "version": "ours-1",
    "based_on": "2026-11",
    "limits": {"replacement": {"for_below": 75}},
}


def test_a_published_version_stays_as_it_is() -> None:
    folder = Path(limits_module.__file__).parent / "limits_files"
    digests = {
        path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.json")
    }
    assert digests == PUBLISHED


@pytest.mark.parametrize("version", versions())
def test_every_version_loads_and_has_limits_of_exams_there_are(version: str) -> None:
    loaded = load_limits(version)
    assert loaded.version == version
    assert loaded.provenance
    assert set(loaded.limits) <= set(EXAMS)
    assert LimitSet.from_json(json.loads(json.dumps(loaded.to_json())), "here") == loaded


def test_without_a_name_the_newest_apply() -> None:
    newest = load_limits()
    assert newest.version == versions()[-1] == max(PUBLISHED)
    assert newest is load_limits(newest) is load_limits(max(PUBLISHED))
    unnamed = made_up_verdict(survives(77.0, 76.0, 78.0), by=None)
    assert unnamed.judgement.limits is newest


def written(folder: Path, values: Any) -> Path:
    path = folder / "ours.json"
    path.write_text(values if isinstance(values, str) else json.dumps(values))
    return path


def test_ones_own_replace_single_limits(tmp_path: Path) -> None:
    path = written(tmp_path, {**OURS, "provenance": "a hunch"})
    for given in (path, str(path), {**OURS, "provenance": "a hunch"}):
        ours = load_limits(given)
        assert (ours.version, ours.provenance) == ("ours-1", "a hunch")
        assert ours.of("replacement") == {"for_below": 75.0, "against_above": 95.0}
        others = {exam: own for exam, own in ours.limits.items() if exam != "replacement"}
        newest = load_limits("2026-11").limits
        assert others == {exam: own for exam, own in newest.items() if exam != "replacement"}
    assert load_limits(OURS).provenance == "based on 2026-11"
    assert load_limits("2026-11").of("replacement")["for_below"] == 80.0


def test_ones_own_are_based_on_the_newest_unless_they_name_another() -> None:
    """Survival under uniform attention is not what the newest judges replacement by."""
    ours = load_limits({name: value for name, value in OURS.items() if name != "based_on"})
    newest = load_limits()
    assert ours.provenance == f"based on {newest.version}"
    assert ours.of("replacement") == {"for_below": 75.0, "against_above": 95.0}
    others = {exam: own for exam, own in ours.limits.items() if exam != "replacement"}
    assert others == {exam: own for exam, own in newest.limits.items() if exam != "replacement"}


@pytest.mark.parametrize(
    ("change", "code", "names"),
    [
        ({"limits": {"replacment": {"for_below": 75}}}, "limits.unknown-name", ("replacment",)),
        ({"limits": {"replacement": {"for_blow": 75}}}, "limits.unknown-name", ("for_blow",)),
        ({"limits": {"dispersion": {"above": 1}}}, "limits.unknown-name", ("above",)),
        ({"limits": {"replacement": {"for_below": "75"}}}, "limits.malformed", ("for_below", "75")),
        ({"limits": {"replacement": {"for_below": True}}}, "limits.malformed", ("for_below", True)),
        ({"limits": {"replacement": {"for_below": None}}}, "limits.malformed", ("for_below", None)),
        ({"limits": {"replacement": {"for_below": float("nan")}}}, "limits.malformed", ()),
        ({"limits": {"replacement": {"for_below": float("inf")}}}, "limits.malformed", ()),
        ({"limits": {"replacement": {"for_below": 10**400}}}, "limits.malformed", ()),
        (
            {"limits": {"replacement": {"for_below": 175}}},
            "limits.out-of-range",
            ("for_below", 175),
        ),
        ({"limits": {"adversary": {"for_above": -0.1}}}, "limits.out-of-range", (-0.1, 0.693)),
        ({"limits": {"agreement": {"for_above": 1.5}}}, "limits.out-of-range", (1.5,)),
        ({"limits": {"erasure": {"least_documents": -1}}}, "limits.out-of-range", (-1,)),
        ({"limits": {"replacement": 75}}, "limits.malformed", ("replacement", 75)),
        ({"limits": [75]}, "limits.malformed", ()),
        ({"limit": {}}, "limits.unknown-name", ("limit", "limits")),
        ({"version": 1}, "limits.malformed", ()),
        ({"version": " "}, "limits.malformed", ()),
        ({"version": "2026-11"}, "limits.malformed", ("2026-11",)),
        ({"based_on": "2026-12"}, "limits.unknown-version", ("2026-12", "2026-11")),
        ({"based_on": ["2026-11"]}, "limits.*", ("2026-11",)),
    ],
)
def test_what_is_no_limit_is_refused_in_a_line(
    change: dict[str, Any], code: str, names: tuple[object, ...], tmp_path: Path
) -> None:
    values = {**OURS, **change}
    path = written(tmp_path, values)
    for given, where in ((path, str(path)), (values, "these limits")):
        with raises(code, *names) as error:
            load_limits(given)
        assert str(error.value).startswith(where)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "[1]", "null", "{", '"2026-11"', "\x00\xff"])
def test_what_is_no_file_of_limits_is_refused_in_a_line(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with raises("limits.malformed") as error:
        load_limits(path)
    assert "\n" not in str(error.value)


def test_an_unknown_version_is_refused(tmp_path: Path) -> None:
    with raises("limits.unknown-version", "2026-10", "2026-11"):
        load_limits("2026-10")
    with raises("limits.unknown-version"):
        load_limits(tmp_path)


def test_a_verdict_is_judged_by_any_limits(tmp_path: Path) -> None:
    """Of 77% that survive: open between 75 and 95, for below 80."""
    verdict = made_up_verdict(survives(77.0, 76.0, 78.0))
    path = written(tmp_path, OURS)

    def said(limits: Any) -> tuple[str, str, str]:
        judgement = verdict.judge(limits)
        (row,) = judgement.rows
        return judgement.limits.version, row.verdict, row.limits

    by_hand = ("2026-11", "for", "for it below 80%, against it above 95%")
    assert said("2026-11") == said(None) == by_hand
    assert said(path) == ("ours-1", "open", "for it below 75%, against it above 95%")
    assert said(str(path)) == said(OURS) == said(path)
    assert verdict.judgement.limits.version == "2026-11"


@pytest.fixture(scope="module")
def examined() -> Verdict:
    corpus = verax.load_corpus("planted", documents=90, length=8)
    model = verax.train(corpus, encoder="none", epochs=1)
    return verax.examine(model, corpus, "replacement", limits=OURS)


def test_limits_are_kept_with_what_was_examined_by_them(examined: Verdict, tmp_path: Path) -> None:
    assert examined.manifest["limits"] == load_limits(OURS).to_json()
    examined.save(tmp_path / "verdict")
    again = load_verdict(tmp_path / "verdict")
    assert again.judgement.limits == load_limits(OURS)
    assert again.judgement.to_json() == examined.judgement.to_json()
    assert again.judge("2026-11").limits.version == "2026-11"


def test_a_newer_version_does_not_change_what_a_saved_verdict_says(
    examined: Verdict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examined.save(tmp_path / "verdict")
    newer = {**load_limits().to_json(), "version": "2027-01"}
    (tmp_path / "limits").mkdir()
    for values in (load_limits().to_json(), newer):
        path = tmp_path / "limits" / f"{values['version']}.json"
        path.write_text(json.dumps(values))
    monkeypatch.setattr(LIMITS_AT, tmp_path / "limits")
    monkeypatch.setattr(limits_module, "NEWEST", "2027-01")
    assert load_limits().version == "2027-01"
    assert load_verdict(tmp_path / "verdict").judgement.limits.version == "ours-1"


def test_bad_limits_are_refused_before_anything_is_read() -> None:
    with raises("limits.unknown-version", "lax"):
        verax.examine("no such model", limits="lax")


def test_every_limit_of_every_version_has_a_range() -> None:
    for version in versions():
        for exam, limits in load_limits(version).limits.items():
            ranges = EXAMS[exam].limit_ranges
            assert limits.keys() <= ranges.keys()
            at = load_limits(version).of(exam)
            assert all(ranges[name][0] <= at[name] <= ranges[name][1] for name in limits)


@pytest.mark.parametrize("exam", ["agreement", "deletion", "sufficiency"])
def test_a_limit_below_random_order_is_refused(exam: str) -> None:
    for limit in ("for_above", "against_below"):
        with raises("limits.out-of-range", limit, -0.1):
            load_limits({"version": "ours", "limits": {exam: {limit: -0.1}}})


@pytest.mark.parametrize(("limit", "is_fine"), [(0.0, False), (0.9, True)])
def test_a_number_is_not_crossed_with_a_limit_that_depends_on_texts(
    limit: float, is_fine: bool
) -> None:
    measured = load_limits().to_json()
    measured["limits"]["agreement"]["for_above"] = limit
    own = {"version": "mine", "limits": {"agreement": {"for_above": limit}}}
    for read in (lambda: LimitSet.from_json(measured, "manifest.json"), lambda: load_limits(own)):
        if is_fine:
            assert read().limits["agreement"]["for_above"] == limit
        else:
            with raises("limits.out-of-range"):
                read()
