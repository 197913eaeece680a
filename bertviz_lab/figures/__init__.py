"""Data in, pictures out: each module turns one analysis into a payload that a component draws. Knows no torch."""
