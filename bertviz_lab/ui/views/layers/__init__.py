"""Layers: the logit lens, norms from layer to layer, and the embedding sum that the first layer is given."""
