"""Running a study: `run.py` prepares, `runner.py` begins cells and stores what comes back."""
