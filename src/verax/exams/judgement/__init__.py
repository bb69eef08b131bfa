"""Whether attention can be trusted: for, against or open, by limits that have a version."""
