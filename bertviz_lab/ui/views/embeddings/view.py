"""What Embeddings asks: cosines of sentences and their map, neighbours of a word, and a word in two contexts."""

import re
from typing import Any, Literal

from bertviz_lab.config import family_notes
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, figure
from bertviz_lab.tokenization import token_name
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Index, Input, Text, Word, questions

_MOST_SENTENCES = 20

#: "auto" is the model's own pooling, that of its `1_Pooling/config.json`.
Pooling = Literal["auto", "mean", "cls"]


def sentences(state: AppState, visitor: Visitor, asked: Input) -> str:
    """Return what is compared until sentences are typed, one per line: the input's texts and the model's examples."""
    own = (" ".join(text.split()) for text in asked.texts)
    return "\n".join(dict.fromkeys(text for text in (*own, *state.examples(asked.model, visitor).singles()) if text))


def similarity(state: AppState, visitor: Visitor, asked: Input, lines: Text, pooling: Pooling) -> Payload:
    """Return the cosine of each pair of sentences."""
    return _compared("similarity", state, asked, lines or sentences(state, visitor, asked), pooling)


def sentence_map(state: AppState, visitor: Visitor, asked: Input, lines: Text, pooling: Pooling) -> Payload:
    """Return the sentences in the plane of their first two principal components."""
    return _compared("sentence_map", state, asked, lines or sentences(state, visitor, asked), pooling)


def token_at(state: AppState, asked: Input, position: Index) -> str:
    """Return the name of the token at a position."""
    checkpoint = asked.checkpoint(state)
    encoding = interpret.encode_inputs(checkpoint, *asked.texts).encoding
    if position >= len(encoding):
        raise InputError("That token is no longer there.")
    return token_name(checkpoint.tokenizer, encoding.ids[position])


def neighbours(state: AppState, asked: Input, word: Word) -> Payload:
    """Return the tokens whose embeddings are closest to a word's; without a word, to the longest of the input's own."""
    checkpoint = asked.checkpoint(state)
    if not word.strip():
        encoding = interpret.encode_inputs(checkpoint, *asked.texts).encoding
        tokenizer = checkpoint.tokenizer
        own = [token_id for token_id in encoding.ids if token_id not in tokenizer.special_ids]
        word = max((token_name(tokenizer, token_id) for token_id in own), key=len, default="")
    word = word.strip()
    return figure("neighbours", word=word, neighbours=interpret.nearest_tokens(checkpoint, word))


def contexts(state: AppState, visitor: Visitor, asked: Input, word: Word) -> dict[str, Any]:
    """Return a word's path through both texts, or an example; without a word, of the longest that both have."""
    text_a, text_b = asked.texts
    if not (text_a.strip() and text_b.strip()):
        text_a, text_b, example = state.examples(asked.model, visitor).contrast
        word = word.strip() or example
    checkpoint = asked.checkpoint(state)
    if not word.strip():
        mask = checkpoint.tokenizer.token(checkpoint.tokenizer.mask_id)
        word = _longest_common_word(text_a.replace(mask, " "), text_b.replace(mask, " "))
    compared = interpret.compare_contexts(checkpoint, text_a, text_b, word.strip())
    note = family_notes.norm_note(checkpoint.config)
    given = {"word": compared.word, "products": compared.products}
    similarity_by_layer = figure("context_similarity", norm_note=note, **given)
    path = figure("context_paths", **given)
    return {"text_a": text_a, "text_b": text_b, "word": compared.word, "similarity": similarity_by_layer, "path": path}


def _compared(name: str, state: AppState, asked: Input, lines: str, pooling: Pooling) -> Payload:
    """Return the figure `name` of all pairs of sentences, one per line."""
    texts = [line.strip() for line in lines.splitlines() if line.strip()]
    if not texts:
        raise InputError("Type some sentences, one per line.")
    if len(texts) > _MOST_SENTENCES:
        raise InputError(f"{len(texts)} sentences are too many: keep {_MOST_SENTENCES}.")
    compared = interpret.similarity(asked.checkpoint(state), texts, pooling=None if pooling == "auto" else pooling)
    return figure(name, texts=compared.texts, products=compared.products)


def _longest_common_word(text_a: str, text_b: str) -> str:
    in_b = {word.casefold() for word in re.findall(r"\w+", text_b)}
    common = [word for word in re.findall(r"\w+", text_a) if word.casefold() in in_b]
    if not common:
        raise InputError("Texts A and B have no word in common.")
    return max(common, key=len)


QUESTIONS = questions(sentences, similarity, sentence_map, token_at, neighbours, contexts)
