"""Causes: activation patching, the logit as a sum of components, and the flow of information from token to token."""
