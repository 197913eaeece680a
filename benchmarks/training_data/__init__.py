"""Training data that is made out of published data, for the models that ship."""
