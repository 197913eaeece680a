"""Attribution: the tokens that a prediction rests on, the heads that support it, and the prediction without them."""
