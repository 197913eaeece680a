"""The labels that the evidence doubts, and their corrections."""
