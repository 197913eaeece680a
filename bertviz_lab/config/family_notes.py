"""Describe how a model differs from BERT, in sentences derived from its settings or weights.

docs/families.md has the papers and the code behind each.
"""

from bertviz_lab.config.model import BertConfig


def segments_note(config: BertConfig) -> str:
    """Say that there are no segment embeddings; "" if there are."""
    if config.has_segments:
        return ""
    row = "its one segment embedding is the same for every token" if config.type_vocab_size else ""
    pairs = "the separators alone tell text A from text B" if config.reads_pairs else "it reads single texts"
    return f"This {config.family.title} has no segment embeddings: {', and '.join(filter(None, (row, pairs)))}."


def positions_note(config: BertConfig) -> str:
    """Say how the model encodes positions; "" if rows 0, 1, 2 ... of a table are added to the input."""
    title = config.family.title
    inputs = "" if config.position_biased_input else f"This {title} adds no position embeddings to its input: "
    match config.position_embedding_type:
        case "disentangled":
            return f"{inputs or f'In this {title} '}attention scores have terms for relative positions (disentangled)."
        case "rotary":
            return f"{inputs}attention rotates queries and keys by an angle for their position (rotary positions)."
    counted = f"The position embeddings of this {title} are counted from {config.position_offset}"
    if config.position_embedding_type == "relative_bias":
        return f"{counted}, and each head adds a learned number for the distance of two tokens to their score."
    return f"{counted}." if config.position_offset else ""


def windows_note(config: BertConfig) -> str:
    """Say which layers have local attention, and its window; "" if all layers see all tokens."""
    local = [str(layer + 1) for layer in range(config.num_hidden_layers) if config.is_local(layer)]
    if not local:
        return ""
    layers = f"Layers {', '.join(local[:-1])} and {local[-1]} have" if len(local) > 1 else f"Layer {local[0]} has"
    return (
        f"{layers} local attention, window {config.local_attention}: a token attends to "
        f"{config.local_attention // 2} tokens on either side."
    )


def norm_note(config: BertConfig) -> str:
    """Say what the hidden states of a pre-norm model are; "" for post-norm, as in BERT."""
    if not config.is_prenorm:
        return ""
    return (
        f"This {config.family.title} is pre-norm: hidden states are the residual stream, which grows from layer to "
        "layer without LayerNorm; only the last is normalized."
    )


def sharing_note(config: BertConfig) -> str:
    """Say that all layers share their parameters; "" if each has its own."""
    if not config.share_layers:
        return ""
    return f"All layers of this {config.family.title} share their parameters (cross-layer parameter sharing)."


def factorization_note(config: BertConfig) -> str:
    """Return the size of the input embeddings where it is not the hidden size, else ""."""
    if not config.embedding_size:
        return ""
    return (
        f"Input embeddings have {config.embedding_size} dimensions; a matrix then projects them to the hidden size, "
        f"{config.hidden_size} (factorized embeddings)."
    )


def objective_note(config: BertConfig) -> str:
    """Say that the model was not pretrained on next-sentence prediction; "" if it was."""
    if config.has_nsp:
        return ""
    instead = {"sop": "sentence-order prediction (SOP)", "rtd": "replaced-token detection (RTD)"}
    title = f"This {config.family.title}" if config.pair_objective else config.family.title
    objective = instead.get(config.pair_objective or config.family.pretraining)
    if objective:
        return f"{title} was pretrained on {objective}, not on next-sentence prediction (NSP)."
    return f"{title} was not pretrained on next-sentence prediction (NSP)."


def differences(config: BertConfig) -> tuple[str, ...]:
    """Return all differences between the model and BERT."""
    notes = [objective_note(config), segments_note(config), positions_note(config), windows_note(config)]
    notes += [norm_note(config), sharing_note(config), factorization_note(config)]
    notes += ["The feed-forward network is gated (GLU)."] if config.gated_feed_forward else []
    return tuple(filter(None, notes))


def explained_differences(config: BertConfig) -> tuple[str, ...]:
    """Return what the family changed, with the paper, then `differences`, then where to read on; () for a BERT."""
    if not config.family.changes:
        return ()
    changed = f"What {config.family.title} changed: {config.family.changes}"
    return changed, *differences(config), "Each setting with its paper and code: docs/families.md."
