"""`python -m verax` is the `verax` command."""

import sys

from verax.cli import main

sys.exit(main())
