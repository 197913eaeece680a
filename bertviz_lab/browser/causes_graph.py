"""What Causes computes of a model, as a second ONNX graph that shares the weights of the first (`graph.py`).

A run that is patched ("base"), one that activations are taken from ("source"), and variants of the base run, each with
activations replaced, go through the layers as one batch. A variant enters at its own layer, since it differs from the
base run only from there on.

Inputs: `input_ids` (2, tokens), of base and source; `token_type_ids` (1, tokens); `noised` (2, tokens), 1 where noise
is added to the word embedding; `position` (1,), which the heads read; `classes` (2,), tokens whose logits are
decomposed; and `cells_0` to `cells_N` (variants, 3), of each layer and at last of the final state: which row of the
layer before a variant goes on from, which of `COMPONENTS` is patched (-1 none), and at which token or head. The first
two rows are (0, -1, 0) and (1, -1, 0), base and source.

Outputs: the logits of each head that there is by its name (variants of the last layer, classes), of "answer" with
tokens; `distances` (variants of all layers, tokens), the cosine distance of each token's state after a variant's layer
from that of the base run; and `parts_` with the names of heads, what each part of a decomposition adds to their logits,
(parts, classes), of "token" to those of `classes`.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertviz_lab.browser.graph import heads_of
from bertviz_lab.interpret.causes.decomposition import Parts, carry
from bertviz_lab.interpret.causes.patching import COMPONENTS as PATCHED
from bertviz_lab.interpret.causes.patching import noise_of
from bertviz_lab.interpret.inputs import backbone
from bertviz_lab.interpret.targets import head_logits, text_position
from bertviz_lab.model import LayerTrace, Patch
from bertviz_lab.model.attention import extended_attention_mask
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

#: What is replaced, by its number in `cells`: by what the source run has; value vectors of a token by zero.
COMPONENTS = (*PATCHED, "value")
_FEWEST = 7  # variants that the export tries in a layer


class CausesGraph(nn.Module):
    """The forward passes of Causes."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__()
        self.checkpoint, self.model, self.bert = checkpoint, checkpoint.model, backbone(checkpoint)
        self.heads = heads_of(checkpoint)
        self.noise = noise_of(checkpoint).detach()

    def inputs(self, tokens: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return inputs of two random texts, and which of their dimensions may be another number."""
        config = self.checkpoint.config
        generator = torch.Generator().manual_seed(0)
        cells = [_tried_cells(layer, config.num_attention_heads) for layer in range(config.num_hidden_layers + 1)]
        length = torch.export.Dim("tokens", min=3, max=config.max_position_embeddings)
        names = {f"cells_{layer}": rows_B3 for layer, rows_B3 in enumerate(cells)}
        variants = [{0: torch.export.Dim(f"variants_{layer}", min=2)} for layer in range(len(cells))]
        inputs = {
            "input_ids": torch.randint(config.vocab_size, (2, tokens), generator=generator),
            "token_type_ids": torch.zeros(1, tokens, dtype=torch.long),
            "noised": torch.zeros(2, tokens),
            "position": torch.tensor([1]),
            "classes": torch.tensor([1, 2]),
        }
        at_tokens = {"input_ids": {1: length}, "token_type_ids": {1: length}, "noised": {1: length}}
        return inputs | names, at_tokens | {"position": None, "classes": None, "cells": tuple(variants)}

    def forward(
        self,
        input_ids: Tensor,
        token_type_ids: Tensor,
        noised: Tensor,
        position: Tensor,
        classes: Tensor,
        *cells: Tensor,
    ) -> dict[str, Tensor]:
        """Return the outputs by name."""
        bert: Any = self.bert
        words = bert.embeddings.word(input_ids) + noised[..., None] * self.noise
        types = token_type_ids.expand(2, -1)
        states = bert.embeddings(None, types, inputs_embeds=words)
        mask = extended_attention_mask(None, words.shape[1], self.checkpoint.config.is_decoder, words.device)
        traces, distances = [], []
        for layer, cells_B3 in enumerate(cells[:-1]):
            states, patches = self._entering(states, cells_B3, layer)
            passes = bert.encoder(states, mask, output_trace=True, start_layer=layer, patches=patches)
            states, trace = next(passes)
            traces.append(trace)
            distances.append(1 - F.cosine_similarity(states, states[:1], dim=-1))
        final, _ = self._entering(bert.as_final(states), cells[-1])
        outputs = {head: self._logits(head, final, position) for head in self.heads}
        outputs["distances"] = torch.cat(distances)
        return outputs | self._parts(input_ids, types, traces, position, classes)

    def _entering(self, states_BLD: Tensor, cells_B3: Tensor, layer: int = 0) -> tuple[Tensor, list[Patch]]:
        """Return the states of the variants that enter a layer, of which `residual` is patched, and other patches."""
        origin, component, index = cells_B3.unbind(1)
        states_BLD = states_BLD.index_select(0, origin)
        length, heads = states_BLD.shape[1], self.checkpoint.config.num_attention_heads

        def where(name: str, size: int) -> Tensor:
            return (component == COMPONENTS.index(name))[:, None] & (index[:, None] == torch.arange(size))

        def source(x: Tensor) -> Tensor:
            return x[1:2]

        of_tokens = {name: where(name, length)[..., None] for name in ("residual", "attention", "feed_forward")}
        return torch.where(of_tokens["residual"], source(states_BLD), states_BLD), [
            Patch(layer, "value_states", where("value", length)[:, None, :, None], torch.zeros(())),
            Patch(layer, "context", where("head", heads)[..., None, None], source),
            Patch(layer, "attention_projection", of_tokens["attention"], source),
            Patch(layer, "feed_forward_projection", of_tokens["feed_forward"], source),
        ]

    def _logits(self, head: str, final_BLD: Tensor, position: Tensor) -> Tensor:
        if head == "answer":
            return self.model.classify(final_BLD)  # type: ignore[operator]
        if head == "label" and text_position(self.checkpoint) is None:
            return head_logits(self.model, "label", final_BLD)
        return head_logits(self.model, head, final_BLD.index_select(1, position)[:, 0])  # type: ignore[arg-type]

    def _parts(
        self, input_ids: Tensor, types: Tensor, traces: Sequence[LayerTrace], position: Tensor, classes: Tensor
    ) -> dict[str, Tensor]:
        """Return the parts of the base run's logits at a position."""
        whole = carry(self.checkpoint, input_ids[:1], types[:1], traces, position, torch.float32)
        outputs = {}
        for head in self.heads:
            if head == "label" and text_position(self.checkpoint) is None:
                continue  # it reads the mean of all tokens
            stream = Parts(whole.rows_ND)
            table_CD, bias_C = stream.through_head(self.checkpoint, head)
            if head == "token":
                table_CD = table_CD.index_select(0, classes)
                bias_C = None if bias_C is None else bias_C.index_select(0, classes)
            outputs[f"parts_{head}"] = stream.logits(table_CD, bias_C)
        return outputs


def _tried_cells(layer: int, heads: int) -> Tensor:
    """Return base, source and variants of all components in turn, (variants, 3), as many as no other layer has."""
    at = torch.arange(_FEWEST + layer)
    component = torch.where(at < 2, -1, at % len(COMPONENTS))
    return torch.stack([at.clamp(max=_FEWEST - 1 if layer else 1), component, at % heads], 1)
