"""What Layers asks: the prediction at every layer, norms, and the sum of token, segment and position embeddings."""

from typing import Literal

from bertviz_lab.config import family_notes
from bertviz_lab.figures.payload import Payload, figure
from bertviz_lab.figures.results import embedding_body
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Index, ModelName, Text, questions

Norms = Literal["hidden", "attention", "feed_forward"]


def lens(state: AppState, model: ModelName, text_a: Text, text_b: Text, position: Index | None) -> Payload:
    """Return the prediction for a [MASK] at every layer: the one at `position`, or else the first."""
    checkpoint = state.models.open(model)
    inputs = interpret.encode_inputs(checkpoint, text_a, text_b)
    masks = inputs.encoding.mask_positions(checkpoint.tokenizer.mask_id)
    target = interpret.choose_target(checkpoint, inputs, position=position if position in masks else None)
    lens_of_target = interpret.logit_lens(checkpoint, text_a, text_b, target=target)
    asked = {"masks": masks, "is_prenorm": checkpoint.config.is_prenorm}
    return figure("logit_lens", target=lens_of_target.target, layers=lens_of_target.layers, **asked)


def norms(state: AppState, model: ModelName, text_a: Text, text_b: Text, position: Index | None) -> Payload:
    """Return norms by layer, of the token at `position` or the median of all."""
    checkpoint = state.models.open(model)
    found = interpret.norms_by_layer(checkpoint, text_a, text_b)
    return figure("norms", position=position, norm_note=family_notes.norm_note(checkpoint.config), **vars(found))


def token_norms(state: AppState, model: ModelName, text_a: Text, text_b: Text, of: Norms) -> Payload:
    """Return the norms of one kind of vector, layer by layer and token by token."""
    checkpoint = state.models.open(model)
    found = interpret.norms_by_layer(checkpoint, text_a, text_b)
    return figure("token_norms", kind=of, norm_note=family_notes.norm_note(checkpoint.config), **vars(found))


def embedding_sum(state: AppState, model: ModelName, text_a: Text, text_b: Text) -> Payload:
    """Return the vectors that are added for each token, and those that the family lacks in words."""
    checkpoint = state.models.open(model)
    notes_of = (family_notes.segments_note, family_notes.positions_note, family_notes.factorization_note)
    notes = (note(checkpoint.config) for note in notes_of)
    summed = interpret.embedding_sum(checkpoint, text_a, text_b)
    return figure("embedding_sum", note=" ".join(filter(None, notes)), **embedding_body(summed))


QUESTIONS = questions(lens, norms, token_norms, embedding_sum)
