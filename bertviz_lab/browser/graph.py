"""A model as an ONNX graph for a browser: every intermediate result of one text, with interventions as inputs.

Inputs: `input_ids` and `token_type_ids` (1, tokens); `attention_mask` (1, queries, keys), which holds padding, causal
masks and whatever else; `head_mask` (layers, heads); and, for a model with an MLM head, `rows` (P,), the hidden states
that the head reads, counted layer by layer: layer x tokens + position, layer 0 being the embeddings. After the last
layer come all layers again, as a tuned lens translates them.

Outputs, without the batch of one: `hidden` (layers + 1, tokens, hidden), `attentions`, `queries` and `keys`
(layers, heads, tokens, ...), `updates` (2, layers, tokens), the norms of what attention and feed-forward network add,
`summands` (3, tokens, size), the token, segment and position embeddings, `added` (terms, layers, heads, tokens, tokens)
where relative positions add terms to the scores, and the logits of the heads that there are (`heads_of`).
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertviz_lab.interpret.attention import ADDED_TERMS
from bertviz_lab.interpret.corpora.tuned_lens import TunedLens
from bertviz_lab.interpret.inputs import backbone
from bertviz_lab.interpret.targets import head_logits, target_kinds
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint


def heads_of(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Return the outputs of the heads that a model has: of `token`, `next`, `label`, `word`, `answer`."""
    kinds = ("answer" if kind in ("start", "end") else kind for kind in target_kinds(checkpoint))
    return tuple(dict.fromkeys(kinds))


class BrowserGraph(nn.Module):
    """A model whose forward pass returns what the engine in a browser works with."""

    def __init__(self, checkpoint: Checkpoint, lens: TunedLens | None = None) -> None:
        super().__init__()
        # With a translator of the last layer, which changes nothing.
        parts = [lens.weights, lens.biases] if lens else []
        self.translators = [F.pad(part, (0,) * (2 * part.dim() - 1) + (1,)) for part in parts]
        self.config, self.model, self.bert = checkpoint.config, checkpoint.model, backbone(checkpoint)
        self.heads = heads_of(checkpoint)

    def inputs(self, tokens: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return inputs of a text of random tokens, and which of their dimensions may be another number."""
        generator = torch.Generator().manual_seed(0)
        inputs = {
            "input_ids": torch.randint(self.config.vocab_size, (1, tokens), generator=generator),
            "token_type_ids": torch.zeros(1, tokens, dtype=torch.long),
            "attention_mask": torch.ones(1, tokens, tokens).tril(),
            "head_mask": torch.ones(self.config.num_hidden_layers, self.config.num_attention_heads),
        }
        length = torch.export.Dim("tokens", min=3, max=self.config.max_position_embeddings)
        shapes: dict[str, Any] = {
            "input_ids": {1: length}, "token_type_ids": {1: length}, "attention_mask": {1: length, 2: length},
            "head_mask": None,
        }  # fmt: skip
        if "token" in self.heads:
            layers = torch.tensor([0, 1, self.config.num_hidden_layers + 1])  # the last one is that of the lens
            inputs["rows"], shapes["rows"] = layers * tokens + 1, {0: torch.export.Dim("rows", min=1)}
        return inputs, shapes

    def forward(
        self,
        input_ids: Tensor,
        token_type_ids: Tensor,
        attention_mask: Tensor,
        head_mask: Tensor,
        rows: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return the outputs by name."""
        bert: Any = self.bert
        out = bert(
            input_ids, attention_mask, token_type_ids, head_mask=head_mask, output_trace=True, output_hidden_states=True
        )
        *earlier, last = out.hidden_states
        layers = zip(bert.encoder.layers, out.trace, strict=True)
        updates = [
            torch.cat([layer.attention_projection for layer in out.trace]),
            torch.cat([layer.output(of.intermediate_output) for layer, of in layers]),
        ]
        token, position, segment = bert.embeddings.summands(input_ids, token_type_ids)
        parts = (torch.zeros_like(token) if part is None else part.expand_as(token) for part in (segment, position))
        outputs = {
            "hidden": torch.cat([*earlier, last]),
            "attentions": torch.cat([layer.attention_probs for layer in out.trace]),
            "queries": torch.cat([layer.query_states for layer in out.trace]),
            "keys": torch.cat([layer.key_states for layer in out.trace]),
            "updates": torch.stack(updates).norm(dim=-1),
            "summands": torch.cat([token, *parts]),
        }
        added = [[getattr(layer, name) for layer in out.trace] for name in ADDED_TERMS]
        if terms := [torch.cat(of_layers) for of_layers in added if of_layers[0] is not None]:
            outputs["added"] = torch.stack(terms)
        if rows is not None:
            outputs["token"] = head_logits(self.model, "token", self._read(outputs["hidden"], rows))
        if "next" in self.heads:
            outputs["next"] = self.model.nsp(out.pooler_output)[0]  # type: ignore[operator]
        if "label" in self.heads:
            outputs["label"] = self.model.classify(out.pooler_output)[0]  # type: ignore[operator]
        for head in {"word", "answer"} & set(self.heads):
            outputs[head] = self.model.classify(last)[0]  # type: ignore[operator]
        return outputs

    def _read(self, states_NLD: Tensor, rows_P: Tensor) -> Tensor:
        """Return what the MLM head reads of some rows, (P, hidden)."""
        bert: Any = self.bert
        layers, length, _ = states_NLD.shape
        place_P = torch.arange(layers * length).repeat(2)[rows_P]
        layer_P = torch.arange(2 * layers)[:, None].expand(-1, length).flatten()[rows_P]
        states_PD = states_NLD.flatten(0, 1)[place_P]
        if self.translators:
            weights, biases = self.translators
            last = layers - 1  # its translator changes nothing
            translator_P = torch.tensor([*[last] * layers, *range(layers)])[layer_P]
            states_PD = states_PD + (weights[translator_P] @ states_PD[..., None])[..., 0] + biases[translator_P]
        if bert.final_norm is None:
            return states_PD
        is_last_P1 = ((layer_P == layers - 1) | (layer_P == 2 * layers - 1))[:, None]
        return torch.where(is_last_P1, states_PD, bert.as_final(states_PD))
