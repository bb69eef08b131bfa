"""Running a study: a cell, and all of them."""
