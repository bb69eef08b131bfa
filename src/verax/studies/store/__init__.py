"""Where cells are kept once they are done, on any filesystem."""
