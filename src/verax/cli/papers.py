"""`verax papers`: what was published, run again and held against it."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from verax.cli.output import print_json
from verax.cli.parsing import Parser, add_options, given_options
from verax.cli.run import add_running, ended_politely, parts, seconds, seed_list, show
from verax.cli.terminal import console, printable, say, table
from verax.corpora.corpus import Corpus
from verax.errors import ExitCode, VeraxError, nearest
from verax.papers import NAMES, SCALES, Checked, Paper, check_paper, pack_paper, paper, papers
from verax.papers.checking import PAGE
from verax.papers.contents import contents, contents_page
from verax.papers.describing import write_corpora
from verax.papers.exhibits import MEASURED, has_published
from verax.papers.folders import CORPORA, finished_in, part_of
from verax.papers.overview import write_overview
from verax.papers.page import as_measured, as_published, label
from verax.papers.probing import PROBES
from verax.papers.registry import refuse_others
from verax.papers.results import Missing
from verax.papers.running import chosen_parts, names_vectors, read_parts
from verax.papers.screen import (
    EVIDENCE,
    claim_line,
    conclusion,
    counts,
    evidence,
    farther,
    judged_on,
)
from verax.papers.showing import with_words
from verax.papers.verdicts import CANNOT, DOES_NOT, IN_PART, REPLICATES
from verax.papers.verifying import DIFFERS, VerifiedCell, verify_paper
from verax.spreadsheets import to_csv
from verax.studies.grid.study import Hardware, Study
from verax.studies.running.outlook import outlook
from verax.studies.running.run import run_several
from verax.studies.running.watching import Bars

ALL = "all"
RESULTS = "results"
FULL = SCALES[-1]
_WIDTH = 100
FINDING = ExitCode.FINDING
"""The exit code if stored numbers are not those of a new training."""
_NAMED = 10
"""Differences that are named for a cell."""
_RANDOM = (
    "word vectors begin at random, where the published results and the kept ones have trained "
    "vectors: give a file of them, such as GloVe's of 100 dimensions, with --vectors FILE"
)
_COLOURS = {REPLICATES: "green", IN_PART: "cyan", DOES_NOT: "red", CANNOT: "yellow"}


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "papers",
        usage="verax papers {list, run NAME, check NAME, show NAME, table NAME N, pack NAME DIR, "
        "contents, corpora NAME, verify NAME} [options]",
        help="run a published paper again, table by table, claim by claim",
        description="Papers as data: studies, published numbers and claims. "
        f"There are {', '.join(NAMES)}.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", parser_class=Parser)
    parser.set_defaults(run=lambda args, show=parser.print_help: show())
    actions.add_parser("list", help="the papers, and what there is of them").set_defaults(
        run=list_papers
    )
    parser = actions.add_parser(
        "run",
        usage="verax papers run NAME [--scale smoke|small|full|probes] [--out DIR] [options]",
        help="run the studies of a paper",
        description="Run what is not done yet of a paper's studies, one folder each; then judge "
        "its claims. Stop it whenever you like; the same command goes on. smoke: built-in corpora, "
        "tiny models, under a minute; small: built-in corpora, an hour or so on two cores; full: "
        "the paper's corpora ($VERAX_DATA), for a GPU; probes: short runs on the paper's corpora "
        "that test explanations of differences; by these no claim is judged.",
    )
    parser.add_argument("name", metavar="NAME", help=f"{', '.join(NAMES)}, or {ALL}")
    scales = (*SCALES, PROBES)
    parser.add_argument("--scale", choices=scales, default="smoke", help="how much [smoke]")
    parser.add_argument("--out", metavar="DIR", help="where results go [NAME-SCALE]")
    parser.add_argument("--vectors", metavar="FILE", help="word vectors of all models [random]")
    parser.add_argument("--parts", metavar="NAME,…", help="only these studies of the paper")
    add_running(parser)
    add_options(parser, "where it runs", Hardware)
    parser.set_defaults(run=run)
    name: dict[str, Any] = {"metavar": "NAME", "help": ", ".join(NAMES)}
    results: dict[str, Any] = {"metavar": "DIR", "help": f"where results are [{RESULTS}/NAME]"}
    parser = actions.add_parser(
        "table",
        usage="verax papers table NAME N [--results DIR] [--csv]",
        help="a table or figure, published beside measured",
    )
    parser.add_argument("name", **name)
    parser.add_argument("exhibit", metavar="N", help="1, table1, figure3; verax papers list")
    parser.add_argument("--results", **results)
    parser.add_argument("--csv", action="store_true", help="as CSV, with all cells")
    parser.set_defaults(run=table_of)
    parser = actions.add_parser(
        "check",
        usage="verax papers check NAME [--results DIR] [--json] [--no-page]",
        help="judge every claim of a paper by results",
        description="Judge every claim, and write the page, claims and tables again beside the "
        f"results ({PAGE}, claims.json, scatter.svg, tables/). `{ALL}` does so for every paper, "
        f"and writes {RESULTS}/{PAGE}.",
    )
    parser.add_argument("name", metavar="NAME", help=f"{', '.join(NAMES)}, or {ALL}")
    parser.add_argument("--results", **results)
    parser.add_argument("--json", action="store_true", help="claims and numbers as JSON")
    parser.add_argument("--no-page", action="store_true", help="write nothing")
    parser.set_defaults(run=check)
    parser = actions.add_parser(
        "show",
        usage="verax papers show NAME [N] [--results DIR]",
        help="whether a paper replicates, or what is behind one claim",
    )
    parser.add_argument("name", **name)
    parser.add_argument("claim", metavar="N", nargs="?", type=int, help="the number of a claim")
    parser.add_argument("--results", **results)
    parser.set_defaults(run=show_paper)
    parser = actions.add_parser(
        "pack",
        usage="verax papers pack NAME DIR --out DIR",
        help="pack what run has made: numbers, no documents",
    )
    parser.add_argument("name", **name)
    parser.add_argument("folder", metavar="DIR", help="what verax papers run has written")
    parser.add_argument("--out", metavar="DIR", help=f"where to [{RESULTS}/NAME]")
    parser.set_defaults(run=pack)
    parser = actions.add_parser(
        "contents",
        usage="verax papers contents [NAME] [--markdown]",
        help="every table and figure of the papers, and where it is made",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="one paper [all]")
    parser.add_argument("--markdown", action="store_true", help="as the page results/exhibits.md")
    parser.set_defaults(run=contents_of)
    parser = actions.add_parser(
        "corpora",
        usage="verax papers corpora NAME [--results DIR]",
        help="sizes, lengths and vocabularies of the corpora of results",
        description="Read the corpora that a paper's cells name ($VERAX_DATA), and write their "
        f"sizes, lengths and vocabularies beside the results ({CORPORA}): no documents.",
    )
    parser.add_argument("name", **name)
    parser.add_argument("--results", **results)
    parser.set_defaults(run=corpora)
    parser = actions.add_parser(
        "verify",
        usage="verax papers verify NAME [--sample 5] [--cells KEY …] [--vectors FILE …] [options]",
        help="train stored cells anew, and compare their numbers",
        description="Train finished cells of a paper's results again, from their stored "
        "configuration, and compare every number. Equal is expected on the same kind of device "
        "with the same torch, else what docs/papers.md has as tolerance. "
        f"The exit code is {FINDING} if a cell is not as expected, 1 if one could not be run.",
    )
    parser.add_argument("name", **name)
    parser.add_argument("--results", **results)
    parser.add_argument("--sample", type=int, default=5, metavar="N", help="how many cells [5]")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the draw [0]")
    parser.add_argument("--cells", nargs="+", metavar="KEY", help="these cells, in place of a draw")
    parser.add_argument("--parts", metavar="NAME,…", help="draw from these studies alone")
    parser.add_argument("--vectors", nargs="+", metavar="FILE", help="files of word vectors")
    parser.add_argument("--json", action="store_true", help="every number that differs, as JSON")
    add_options(parser, "where it runs", Hardware)
    parser.set_defaults(run=verify)


def list_papers(args: argparse.Namespace) -> None:
    rows = []
    for one in papers():
        cells = [f"{len(one.studies(scale))}" for scale in SCALES]
        cells.append(f"{len(one.studies(PROBES)) if one.has_probes else 0}")
        rows.append([one.name, str(len(one.claims)), *cells])
    studies = [f"studies, {scale}" for scale in SCALES]
    screen = console()
    screen.print(table(["paper", "claims", *studies, PROBES], rows))
    say("\ntables and figures", "bold")
    indent = " " * (2 + max(len(one.name) for one in papers()))
    for one in papers():
        names = ", ".join(exhibit.name for exhibit in one.exhibits)
        lines = textwrap.wrap(
            f"{one.name:{len(indent)}}{names}",
            min(_WIDTH, screen.width),
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
        say("\n".join(lines))


def run(args: argparse.Namespace) -> int:
    out = Path(args.out or f"{args.name}-{args.scale}")
    if args.name == ALL:
        every = [one for one in papers() if args.scale != PROBES or one.has_probes]
        chosen = {one: out / one.name for one in every}
    else:
        chosen = {paper(args.name): out}
    for one, folder in chosen.items():
        refuse_others(one, folder)
    studies = _studies(chosen, args)
    if args.dry_run:
        for folder, study in studies.items():
            say(study.name, "bold")
            show(study, outlook(study, str(folder)), args.retry_failed)
        return 0
    budget = None if args.budget is None else seconds(args.budget)
    labels = {
        key: printable(f"{part_of(study.name)}: {label}")
        for study in studies.values()
        for key, label in study.labels.items()
    }
    bars = Bars(labels, lambda line: print(printable(line), flush=True))
    again = "the same command goes on"
    try:
        with ended_politely(), bars:
            ran = run_several(
                [(study, folder) for folder, study in studies.items()],
                budget=budget,
                retry_failed=args.retry_failed,
                watcher=bars,
                progress=True,
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped; what was finished is kept in {out}, {again}") from None
    failed = sum(len(one.failed) for one in ran)
    left = sum(one.left for one in ran)
    if left:
        say(f"time is up: {left} cells are left; {again}")
    if failed:
        where = f"tracebacks are in {out}/…/failed; --retry-failed tries again"
        say(f"{failed} cells failed: {where}", "bold")
    folders = {path.parent for path in studies}
    for one, folder in chosen.items():
        if folder not in folders:
            continue
        if args.scale == PROBES:
            kept = Path(RESULTS, one.name, PROBES)
            line = f"probes are in {folder}: verax papers pack {one.name} {folder} --out {kept}"
            say(f"{line} keeps them, and check shows them", "dim")
            continue
        with suppress(Missing):  # nothing is done, and what is left or failed was told
            show_claims(check_paper(one, folder))
            again = f"verax papers check {one.name} --results {folder}"
            say(f"{again} has the page, table the tables", "dim")
    return ExitCode.FAILED if failed else ExitCode.DONE


def _studies(chosen: dict[Paper, Path], args: argparse.Namespace) -> dict[Path, Study]:
    """Folder → study, of all parts of all papers chosen; corpora are read once."""
    loaded: dict[str, Corpus] = {}
    studies: dict[Path, Study] = {}
    named = _named_parts(chosen, args)
    if args.scale in (FULL, PROBES) and args.vectors is None:
        sources = [one.studies(args.scale)[part] for one in named for part in named[one]]
        if not all(names_vectors(source) for source in sources):
            say(_RANDOM)
    for one, wanted in named.items():
        parts_of = read_parts(
            one,
            args.scale,
            wanted,
            vectors=args.vectors,
            seeds=seed_list(args.seeds),
            hardware=given_options(args, Hardware),
            loaded=loaded,
            progress=True,
        )
        studies |= {chosen[one] / part: study for part, study in parts_of.items()}
    return studies


def _named_parts(chosen: Iterable[Paper], args: argparse.Namespace) -> dict[Paper, list[str]]:
    """Of each paper the parts that are to be run; those of which none is are left out."""
    chosen = list(chosen)
    wanted = parts("--parts", args.parts)
    if wanted is None or len(chosen) == 1:
        return {one: chosen_parts(one, args.scale, wanted) for one in chosen}
    known = {one: one.studies(args.scale) for one in chosen}  # a name may be of some of them
    every = {part for studies in known.values() for part in studies}
    for name in wanted:
        if name not in every:
            raise VeraxError(
                f"no paper has a part {name!r}: {nearest(name, every)}", code="paper.unknown-name"
            )
    named = {one: [name for name in wanted if name in known[one]] for one in chosen}
    return {one: chosen_parts(one, args.scale, some) for one, some in named.items() if some}


def pack(args: argparse.Namespace) -> None:
    chosen = paper(args.name)
    out = Path(args.out or Path(RESULTS) / chosen.name)
    before = {key for _, key in finished_in(out)}
    cells = set(pack_paper(chosen, args.folder, out, progress=True).cells["cell"])
    new = f"{len(cells - before):,}" if cells - before else "none"
    say(f"packed into {out}: {len(cells):,} cells are there now, {new} of them new")


def contents_of(args: argparse.Namespace) -> None:
    chosen = papers() if args.name is None else [paper(args.name)]
    if args.markdown:
        print(contents_page(chosen), end="")
        return
    for one in chosen:
        say(one.name, "bold")
        rows = [[c.name, ", ".join(c.made) or "not made", c.note] for c in contents(one)]
        console().print(table(["in the paper", "made as", ""], rows))


def corpora(args: argparse.Namespace) -> None:
    chosen = paper(args.name)
    path = write_corpora(chosen, _folder(chosen, args))
    print(path.read_text(encoding="utf-8"), end="")
    say(f"written to {path}", "dim")


def verify(args: argparse.Namespace) -> int:
    chosen = paper(args.name)
    folder = _folder(chosen, args)
    if not folder.is_dir():
        raise VeraxError(f"no results in {folder}: give --results DIR", code="result.missing")
    if args.sample < 1:
        raise VeraxError(
            f"--sample is {args.sample}: expected 1 or more cells", code="option.out-of-range"
        )
    verified = verify_paper(
        chosen,
        folder,
        sample=args.sample,
        seed=args.seed,
        cells=args.cells,
        parts=parts("--parts", args.parts),
        vectors=args.vectors or (),
        watch=(lambda cell: None) if args.json else show_verified,
        **given_options(args, Hardware),
    )
    if args.json:
        print(verified.to_json(), end="")
    else:
        counts = ", ".join(f"{n} {verdict}" for verdict, n in verified.counts.items() if n)
        say(f"{chosen.name}: {counts}, of {verified.stored:,} stored cells", "bold")
    if not all(cell.is_as_expected or cell.error for cell in verified.cells):
        return FINDING
    unverified = any(cell.error for cell in verified.cells)
    return ExitCode.FAILED if unverified else ExitCode.DONE


def show_verified(cell: VerifiedCell) -> None:
    """A line for a cell that was trained anew, and what differs if it is not as expected."""
    same = "same" if cell.same_kind else "another"
    line = f"{cell.key}  {cell.part}: {cell.label}  {cell.verdict}"
    if cell.error:
        say(f"{line}: {cell.error}", "bold")
        return
    differing = f", {len(cell.differences):,} differ" if cell.differences else ""
    say(f"{line} ({cell.numbers:,} numbers{differing}; {same} kind of device and torch)")
    if cell.is_as_expected:
        return
    named = cell.differences
    if cell.verdict == DIFFERS:
        named = [difference for difference in named if not difference.within]
    for difference in named[:_NAMED]:
        say(f"   {difference.name}: {difference.stored:.6g} stored, {difference.new:.6g} now")
    if len(named) > _NAMED:
        say(f"   and {len(named) - _NAMED:,} more: --json has all", "dim")


def table_of(args: argparse.Namespace) -> None:
    chosen = paper(args.name)
    exhibit = chosen.exhibit(args.exhibit)
    results = _results(chosen, args).results
    made = with_words(exhibit.make(results), results)
    if args.csv:
        print(to_csv(made), end="")
        return
    if made.empty:
        raise VeraxError(
            f"nothing of {exhibit.name} is in these results: run its part of the paper",
            code="result.unfinished",
        )
    labels = [str(name) for name in made if name not in MEASURED]
    published = ["published"] if has_published(made) else []
    rows = []
    for row in made.to_dict("records"):
        title = " ".join(part for name in labels if (part := label(row[name])))
        theirs = [as_published(row[name]) for name in published]
        rows.append([title, *theirs, *as_measured(row, "{}*")])
    console().print(table([exhibit.title, *published, "measured", "seeds"], rows))
    if exhibit.note:
        say(exhibit.note, "dim")


def check(args: argparse.Namespace) -> None:
    if args.name == ALL:
        if args.json or args.no_page:
            raise VeraxError(
                f"check {ALL} writes pages: leave out --json and --no-page", code="option.conflict"
            )
        folder = Path(args.results or RESULTS)
        every = [check_paper(one, folder / one.name) for one in papers()]
        for checked in every:
            checked.write(folder / checked.paper.name)
            show_claims(checked)
        say(f"the page of all is {write_overview(every, folder)}")
        return
    chosen = paper(args.name)
    checked = _results(chosen, args)
    folder = _folder(chosen, args)
    if not args.no_page:
        checked.write(folder)
    if args.json:
        print_json(json.loads(checked.to_json()), indent=1)
        return
    show_claims(checked)
    if not args.no_page:
        say(f"the page is {folder / PAGE}; verax report {folder} makes one for a browser")


def show_paper(args: argparse.Namespace) -> None:
    chosen = paper(args.name)
    checked = _results(chosen, args)
    if args.claim is None:
        show_claims(checked)
        return
    known = {one.claim.id: one for one in checked.judged}
    if args.claim not in known:
        numbers = ", ".join(map(str, known))
        raise VeraxError(
            f"{chosen.name} has no claim {args.claim}: choose from {numbers}",
            code="paper.unknown-name",
        )
    one = known[args.claim]
    say(f"{one.claim.id}. {one.claim.text} ({one.claim.where})")
    console().print(one.verdict, style=_COLOURS[one.verdict])
    rules = ", ".join(f"{name}: {verdict}" for name, verdict in one.finding.other_verdicts.items())
    causes = [f"cause: {kind}, {words}" for kind, words in one.cause.items()]
    for note in (one.claim.note, one.finding.why, *causes, f"by other rules: {rules}"):
        if note:
            say(note)
    for several in (one.finding.parts, one.finding.reported):
        if several:
            console().print(table([*EVIDENCE], evidence(several)))


def show_claims(checked: Checked) -> None:
    """The first screen: what replicates, and every claim in a line."""
    screen = console()
    say(f"{checked.paper.name}: {conclusion(checked)}", "bold")
    say(f"{counts(checked)}. {judged_on(checked)}")
    for one in checked.ranked:
        head = f"{one.mark} {one.claim.id:>2} {one.verdict:20}"
        screen.print(head, style=_COLOURS[one.verdict], end="")
        text, theirs, ours, cause = claim_line(one)
        sides = {"paper": theirs, "here": ours}
        numbers = "; ".join(f"{side} {number}" for side, number in sides.items() if number)
        say(f"{text}{f': {numbers}' if numbers else ''}{f' [{cause}]' if cause else ''}")
    for note in (*checked.paper.told.get("setup", ()), farther(checked.tables.values())):
        if note:
            say(note, "dim")


def _folder(chosen: Paper, args: argparse.Namespace) -> Path:
    return Path(args.results or Path(RESULTS) / chosen.name)


def _results(chosen: Paper, args: argparse.Namespace) -> Checked:
    folder = _folder(chosen, args)
    if not folder.is_dir():
        raise VeraxError(
            f"no results in {folder}: give --results DIR, or make some with verax papers run "
            f"{chosen.name}",
            code="result.missing",
        )
    return check_paper(chosen, folder)
