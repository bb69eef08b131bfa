"""Models that Verax did not train: Hugging Face classifiers, one's own modules, functions."""
