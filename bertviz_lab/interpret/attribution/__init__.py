"""Attribution: what each token contributes to a prediction.

In reading order: `attribution` (integrated gradients, gradient x input, occlusion), `example_attribution`.
"""
