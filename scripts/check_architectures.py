"""Which hook gets at the attention of each tested architecture, with the transformers installed.

    python scripts/check_architectures.py

Every one must pass the checks that come before an exam. For versions of transformers other than
the tests', in which hooks differ.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "external")]
    import transformers
    from architectures import CONFIGURATIONS, make_model  # type: ignore[import-not-found]

    import verax
    from support.tiny_bert import make_tokenizer  # type: ignore[import-not-found]

    logging.disable(logging.WARNING)
    tokenizer, failed = make_tokenizer(), 0
    print(f"transformers {transformers.__version__}")
    for name in CONFIGURATIONS:
        try:
            about = verax.from_transformers(make_model(name), tokenizer).describe()
            outcome = f"{about['route']}, readout {about['readout']}, {about['layers']} layers"
        except (verax.VeraxError, AttributeError) as error:
            outcome, failed = f"failed: {error}", failed + 1
        print(f"{name:<12}{outcome}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
