"""The input bar of Explore: models, examples, and the tokens that a text becomes."""
