"""What one encoder layer computed on the way, as a value that is returned, never kept on a module."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class LayerTrace:
    """Every stage of one encoder layer, in the order in which it happens.

    Shapes: B batch, H heads, L tokens, K head size, D hidden size, F feed-forward width.
    """

    q_BHLK: Tensor  # queries: what each token looks for
    k_BHLK: Tensor  # keys: what each token offers
    v_BHLK: Tensor  # values: what each token hands over
    scores_BHLL: Tensor  # q k^T / sqrt(K), hidden positions at the smallest number there is
    probs_BHLL: Tensor  # softmax of the scores; every row sums to 1
    context_BHLK: Tensor  # probs v, after the head gates
    attention_output_BLD: Tensor  # heads joined and mixed, before the residual sum
    attention_hidden_BLD: Tensor  # LayerNorm(input + attention_output)
    intermediate_BLF: Tensor  # the feed-forward layer after its nonlinearity
    hidden_BLD: Tensor  # what the next layer receives
