"""One script a claim; results are kept in `results/` with machine, date and commit."""
