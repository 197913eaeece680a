"""One script per claim; results are kept in `results/` with machine, load, date and commit."""
