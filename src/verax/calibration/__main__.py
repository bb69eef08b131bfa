"""`python -m verax.calibration OUT`: `verax calibrate` where no terminal library is installed."""

from __future__ import annotations

import argparse
import sys

from verax.calibration.calibrate import calibrate


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Make the models of a calibration and pack them."""
    parser = argparse.ArgumentParser(prog="python -m verax.calibration")
    parser.add_argument("out")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--reviews", metavar="FOLDER")
    parser.add_argument("--no-reviews", action="store_true")
    parser.add_argument("--no-berts", action="store_true")
    args = parser.parse_args()
    calibrate(
        args.out,
        seeds=args.seeds,
        small=args.small,
        reviews=args.reviews or not args.no_reviews,
        berts=not args.no_berts,
        workers=args.workers,
        seconds=args.seconds,
        said=_say,
    )


if __name__ == "__main__":
    main()
