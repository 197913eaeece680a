"""Attribution: which tokens a prediction rests on.

In reading order: `attribution` (integrated gradients, gradient x input, occlusion), `example_attribution`.
"""
