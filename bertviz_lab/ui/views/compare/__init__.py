"""Compare: training runs side by side."""
