"""`python -m research papers`: run a paper again, and compare what comes out with what it says."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from research.markdown import markdown_table
from research.papers.checking import PAGE, Checked, check_paper, conclusion, counts
from research.papers.describing import write_corpora
from research.papers.packing import pack_paper
from research.papers.page import (
    EVIDENCE,
    claim_line,
    contents_page,
    evidence,
    farther,
    judged_on,
    numbers_table,
    write_overview,
)
from research.papers.paper import NAMES, SCALES, paper, papers, unknown
from research.papers.probing import PROBES
from research.papers.results import finished_in
from research.papers.run import chosen_parts, run_papers, sets_vectors
from research.papers.verifying import DIFFERS, VerifiedCell, verify_paper
from verax import VeraxError
from verax.errors import ExitCode
from verax.spreadsheets import to_csv

ALL = "all"
RESULTS = Path("results")
_NAMED = 10
"""Differences that are named for a cell."""


def main(arguments: Sequence[str], prog: str) -> int:
    """Run a verb and return its exit code."""
    args = _parser(prog).parse_args(arguments)
    return int(args.run(args) or 0)


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description=__doc__)
    verbs = parser.add_subparsers(metavar="VERB", required=True)

    def add(verb: str, run: Any, help: str) -> argparse.ArgumentParser:
        made = verbs.add_parser(verb, help=help, description=help)
        made.set_defaults(run=run)
        return made

    def add_name(verb: argparse.ArgumentParser, every: bool = False) -> None:
        verb.add_argument("name", metavar="NAME", choices=[*NAMES, *([ALL] if every else [])])

    def add_results(verb: argparse.ArgumentParser) -> None:
        verb.add_argument("--results", type=Path, metavar="DIR", help="[results/NAME]")

    add("list", list_papers, "list the papers, their tables and figures")
    verb = add("run", run, "run the studies of a paper that are not done yet, and judge its claims")
    add_name(verb, every=True)
    verb.add_argument(
        "--scale",
        choices=[*SCALES, PROBES],
        default="smoke",
        help="smoke: tiny models on built-in texts; small: built-in texts, about an hour on two "
        "cores; full: the paper's corpora ($VERAX_DATA), for a GPU; probes: short runs that test "
        "what explains a difference [smoke]",
    )
    verb.add_argument("--out", type=Path, metavar="DIR", help="[NAME-SCALE]")
    verb.add_argument(
        "--vectors",
        metavar="FILE",
        help="word vectors of all models whose study sets none [random]",
    )
    verb.add_argument("--parts", type=_names, metavar="NAME,…", help="only these studies")
    verb.add_argument("--seeds", type=_numbers, metavar="N,…", help="instead of the paper's")
    verb.add_argument("--budget", type=float, metavar="SECONDS", help="begin no cell after these")
    verb.add_argument("--retry-failed", action="store_true", help="run failed cells again")
    verb.add_argument("--engine", choices=["local", "ray"])
    verb.add_argument("--address", help="of a Ray cluster")
    verb.add_argument("--workers", type=int)
    verb.add_argument("--device")
    verb.add_argument("--mps", action="store_true", default=None)
    verb = add("check", check, "judge every claim, and write page, claims and tables")
    add_name(verb, every=True)
    add_results(verb)
    verb = add("show", show_paper, "show whether a paper replicates, or the evidence for a claim")
    add_name(verb)
    verb.add_argument("claim", metavar="N", nargs="?", type=int, help="the number of a claim")
    add_results(verb)
    verb = add("table", table_of, "print a table or figure, published numbers beside measured ones")
    add_name(verb)
    verb.add_argument("exhibit", metavar="EXHIBIT", help="such as table1 or figure3")
    add_results(verb)
    verb.add_argument("--csv", action="store_true", help="as CSV, with all columns")
    verb = add("verify", verify, "train stored cells again, and compare every number")
    add_name(verb)
    add_results(verb)
    verb.add_argument("--sample", type=int, default=5, metavar="N", help="how many cells [5]")
    verb.add_argument("--seed", type=int, default=0, metavar="N", help="of the draw [0]")
    verb.add_argument("--cells", nargs="+", metavar="KEY", help="these cells instead of a draw")
    verb.add_argument("--parts", type=_names, metavar="NAME,…", help="draw from these studies")
    verb.add_argument("--vectors", nargs="+", default=[], metavar="FILE", help="word vectors")
    verb.add_argument("--device", default="auto")
    verb.add_argument("--json", action="store_true", help="every number that differs, as JSON")
    verb = add("pack", pack, "pack what run has made: numbers, no documents")
    add_name(verb)
    verb.add_argument("folder", type=Path, metavar="DIR", help="what run has written")
    verb.add_argument("--out", type=Path, metavar="DIR", help="[results/NAME]")
    verb = add("contents", contents_of, "where every table and figure of the papers is made")
    verb.add_argument("name", nargs="?", metavar="NAME", choices=NAMES)
    verb.add_argument("--markdown", action="store_true", help="as the page results/exhibits.md")
    verb = add("corpora", corpora, "write sizes, lengths and vocabularies of the corpora")
    add_name(verb)
    add_results(verb)
    return parser


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def list_papers(args: argparse.Namespace) -> None:
    header = ["paper", "claims", *(f"studies, {scale}" for scale in (*SCALES, PROBES))]
    rows: list[list[Any]] = []
    for one in papers():
        studies = [len(one.studies(scale)) for scale in SCALES]
        probes = len(one.studies(PROBES)) if one.has_probes else 0
        rows.append([one.name, len(one.claims), *studies, probes])
    print(markdown_table(header, rows))
    for one in papers():
        print(f"\n{one.name}: {', '.join(exhibit.name for exhibit in one.exhibits)}")


_RANDOM = (
    "word vectors begin at random, where the published results and the stored ones have trained "
    "vectors: give a file of them, such as GloVe's of 100 dimensions, with --vectors FILE"
)


def run(args: argparse.Namespace) -> int:
    out = args.out or Path(f"{args.name}-{args.scale}")
    if args.name == ALL:
        every = [one for one in papers() if args.scale != PROBES or one.has_probes]
        chosen = {one: out / one.name for one in every}
    else:
        chosen = {paper(args.name): out}
    if args.scale in (SCALES[-1], PROBES) and args.vectors is None:
        studies = chosen_parts(chosen, args.scale, args.parts)
        if not all(sets_vectors(study) for own in studies.values() for study in own.values()):
            print(_RANDOM)
    names = ("engine", "address", "workers", "device", "mps")
    try:
        ran = run_papers(
            chosen,
            args.scale,
            parts=args.parts,
            vectors=args.vectors,
            seeds=args.seeds,
            budget=args.budget,
            retry_failed=args.retry_failed,
            progress=True,
            **{n: getattr(args, n) for n in names if getattr(args, n) is not None},
        )
    except KeyboardInterrupt:
        print(f"stopped; finished cells are kept in {out}, the same command continues")
        return ExitCode.INTERRUPTED
    counts = [part.counts for parts in ran.values() for part in parts.values()]
    failed, left = (sum(one.get(what, 0) for one in counts) for what in ("failed", "missing"))
    if left:
        print(f"the budget is spent: {left} cells are left; the same command continues")
    if failed:
        print(f"{failed} cells failed: tracebacks are in {out}, in folders named failed")
    for one, parts in ran.items():
        if args.scale != PROBES and any(part.done for part in parts.values()):
            checked = check_paper(one, chosen[one])
            checked.write(chosen[one])
            show_claims(checked)
            print(f"the page is {chosen[one] / PAGE}")
    return ExitCode.FAILED if failed else ExitCode.DONE


def check(args: argparse.Namespace) -> None:
    if args.name != ALL:
        checked = _checked(args)
        checked.write(_folder(args))
        show_claims(checked)
        print(f"the page is {_folder(args) / PAGE}")
        return
    folder = args.results or RESULTS
    every = [check_paper(one, folder / one.name) for one in papers()]
    for checked in every:
        checked.write(folder / checked.paper.name)
        show_claims(checked)
    print(f"the page of all papers is {write_overview(every, folder)}")


def show_paper(args: argparse.Namespace) -> None:
    checked = _checked(args)
    if args.claim is None:
        show_claims(checked)
        return
    known = {one.claim.id: one for one in checked.judged}
    if args.claim not in known:
        raise unknown(f"claim of {args.name}", str(args.claim), map(str, known))
    one = known[args.claim]
    print(f"{one.claim.id}. {one.claim.text} ({one.claim.where})\n{one.verdict}")
    rules = ", ".join(f"{name}: {verdict}" for name, verdict in one.finding.other_verdicts.items())
    causes = [f"cause: {kind}, {words}" for kind, words in one.cause.items()]
    for note in (one.claim.note, one.finding.why, *causes, f"by other rules: {rules}"):
        if note:
            print(note)
    for several in (one.finding.parts, one.finding.reported):
        if several:
            print(markdown_table(EVIDENCE, evidence(several)))


def show_claims(checked: Checked) -> None:
    """The first screen: what replicates, and every claim in a line."""
    print(f"{checked.paper.name}: {conclusion(checked)}")
    print(f"{counts(checked)}. {judged_on(checked)}")
    for one in checked.ranked:
        text, theirs, ours, cause = claim_line(one)
        sides = {"paper": theirs, "here": ours}
        numbers = "; ".join(f"{side} {number}" for side, number in sides.items() if number)
        ends = f"{f': {numbers}' if numbers else ''}{f' [{cause}]' if cause else ''}"
        print(f"{one.mark} {one.claim.id:>2} {one.verdict:20} {text}{ends}")
    for note in (*checked.paper.setup, farther(checked.tables.values())):
        if note:
            print(note)


def table_of(args: argparse.Namespace) -> None:
    exhibit = paper(args.name).exhibit(args.exhibit)
    made = exhibit.make(_checked(args).results)
    if args.csv:
        print(to_csv(made), end="")
        return
    if made.empty:
        raise VeraxError(
            f"nothing of {exhibit.name} is in these results: run its part of the paper",
            code="result.unfinished",
        )
    print(f"{exhibit.title}\n{numbers_table(made, '{}*', every=True)}")
    if exhibit.note:
        print(exhibit.note)


def verify(args: argparse.Namespace) -> int:
    if args.sample < 1:
        raise VeraxError(
            f"--sample is {args.sample}: expected 1 or more cells", code="option.out-of-range"
        )
    verified = verify_paper(
        paper(args.name),
        _existing(args),
        sample=args.sample,
        seed=args.seed,
        cells=args.cells,
        parts=args.parts,
        vectors=args.vectors,
        watch=(lambda cell: None) if args.json else show_verified,
        device=args.device,
    )
    if args.json:
        print(verified.to_json(), end="")
    else:
        numbers = ", ".join(f"{n} {verdict}" for verdict, n in verified.counts.items() if n)
        print(f"{args.name}: {numbers}, of {verified.stored:,} stored cells")
    if not all(cell.is_as_expected or cell.error for cell in verified.cells):
        return ExitCode.FINDING
    return ExitCode.FAILED if any(cell.error for cell in verified.cells) else ExitCode.DONE


def show_verified(cell: VerifiedCell) -> None:
    """A line for a cell that was trained again, and the differences if it is not as expected."""
    same = "same" if cell.same_kind else "another"
    line = f"{cell.key}  {cell.part}: {cell.label}  {cell.verdict}"
    if cell.error:
        print(f"{line}: {cell.error}")
        return
    differing = f", {len(cell.differences):,} differ" if cell.differences else ""
    print(f"{line} ({cell.numbers:,} numbers{differing}; {same} kind of device and torch)")
    if cell.is_as_expected:
        return
    named = [d for d in cell.differences if cell.verdict != DIFFERS or not d.within]
    for difference in named[:_NAMED]:
        print(f"   {difference.name}: {difference.stored:.6g} stored, {difference.new:.6g} now")
    if len(named) > _NAMED:
        print(f"   and {len(named) - _NAMED:,} more: --json has all")


def pack(args: argparse.Namespace) -> None:
    chosen = paper(args.name)
    out = args.out or RESULTS / chosen.name
    before = {key for _, key in finished_in(out)}
    cells = set(pack_paper(chosen, args.folder, out, progress=True).cells["cell"])
    new = f"{len(cells - before):,}" if cells - before else "none"
    print(f"packed into {out}: {len(cells):,} cells are there now, {new} of them new")


def contents_of(args: argparse.Namespace) -> None:
    chosen = papers() if args.name is None else [paper(args.name)]
    if args.markdown:
        print(contents_page(chosen), end="")
        return
    for one in chosen:
        rows = [[c.name, ", ".join(c.made) or "not made", c.note] for c in one.contents]
        print(f"{one.name}\n{markdown_table(['in the paper', 'made as', ''], rows)}\n")


def corpora(args: argparse.Namespace) -> None:
    path = write_corpora(paper(args.name), _folder(args))
    print(path.read_text(encoding="utf-8"), end="")
    print(f"written to {path}")


def _folder(args: argparse.Namespace) -> Path:
    return Path(args.results or RESULTS / args.name)


def _existing(args: argparse.Namespace) -> Path:
    folder = _folder(args)
    if not folder.is_dir():
        raise VeraxError(f"no results in {folder}: give --results DIR", code="result.missing")
    return folder


def _checked(args: argparse.Namespace) -> Checked:
    return check_paper(paper(args.name), _existing(args))
