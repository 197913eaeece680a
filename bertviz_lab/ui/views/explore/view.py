"""What the input bar of Explore asks: which models there are, what one is, texts that it knows, and a text's tokens."""

import random
import re
from typing import Annotated, Any

from pydantic import Field

from bertviz_lab.config import PretrainConfig, family_notes
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import facts_payload, message_payload
from bertviz_lab.training.runs.run_folder import ACTIVE
from bertviz_lab.ui.components import standalone
from bertviz_lab.ui.lazy import checkpoints, interpret
from bertviz_lab.ui.server.error_handling import sentence_of
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.hub import NotDownloadedError
from bertviz_lab.ui.view import Input, ModelName, Text, Word, questions

#: The model of the input, and the one that it is compared with.
ModelNames = Annotated[list[ModelName], Field(max_length=2)]


def models(state: AppState, visitor: Visitor) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return (title, [(name, words), ...]) of what ships and of the visitor's own, where there are some."""
    runs = [choice for choice in state.models.choices(visitor) if state.models.is_run(choice[0])]
    shipped = [(name, name) for name in state.models.shipped()]
    return [group for group in (("Shipped models", shipped), ("Your runs", runs)) if group[1]]


def about(state: AppState, visitor: Visitor, model: ModelName) -> str:
    """Return the facts about a model, or the sentence that says why it cannot be opened."""
    try:
        checkpoint = state.models.open(model)
        config, tokenizer = checkpoint.config, checkpoint.tokenizer
        kind = {"wordpiece": "WordPiece", "bpe": "BPE", "unigram": "Unigram"}[tokenizer.algorithm]
        parameters = checkpoints.parameter_count(checkpoint.model)
        differences = family_notes.explained_differences(config)
        items = [
            *([("Family", config.family.title)] if differences else []),
            ("Layers", f"{config.num_hidden_layers}"),
            ("Hidden size", f"{config.hidden_size}"),
            ("Heads", f"{config.num_attention_heads} per layer"),
            *([("Attention", "causal")] if config.is_decoder else []),
            ("Vocabulary", f"{tokenizer.vocab_size:,} ({kind}, {'lower-cased' if tokenizer.lowercase else 'cased'})"),
            ("Longest input", f"{config.max_position_embeddings:,} tokens"),
            ("Parameters", f"{parameters / 1e6:.1f} million" if parameters >= 1e5 else f"{parameters:,}"),
            ("Architecture", checkpoint.architecture),
        ]
        trained_on = _trained_on(state, visitor, model or state.models.default(), checkpoint.card)
        if trained_on:
            items.append(("Trained on", trained_on))
        note = checkpoint.random_head
        if not note and state.models.is_run(model) and state.runs.state(model).status in ACTIVE:
            note = "Still training: this is its latest checkpoint; everything below is updated with the next one."
        return facts_payload(items, note=note, more=("What differs from BERT", differences) if differences else None)
    except InputError as error:
        sentence = sentence_of(error, shared=state.settings.shared)
        return facts_payload([], note=sentence, tone="error") if model else message_payload(sentence)


def _trained_on(state: AppState, visitor: Visitor, model: str, card: str) -> str:
    """Return the names of a model's texts; a visitor's files are named to that visitor alone."""
    if not state.models.is_run(model):
        line = next((line for line in card.splitlines() if line.startswith("- Text:")), "")
        return line.removeprefix("- Text:").split("(")[0].replace("`", "").strip()
    if not state.models.owns(visitor, model):
        return ""
    config = state.runs.config(model)
    paths = config.corpus if isinstance(config, PretrainConfig) else config.train
    # The copies in a run's folder are numbered.
    names = [re.sub(r"^\d\d-|^sample:", "", re.split(r"[/\\]", path)[-1]) for path in paths]
    return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")


def examples(state: AppState, visitor: Visitor, model: ModelName) -> list[tuple[str, str]]:
    """Return texts, with a second one or "", whose words the model has met; those of its task where it has one."""
    if state.models.is_task_model(model):
        return state.task_examples(model, visitor)
    known = state.examples(model, visitor)
    masked = [(text, "") for text in known.masked]
    return [*masked[:3], *known.pairs[:2], *masked[3:]]


def missing(state: AppState, models: ModelNames) -> list[str]:
    """Return those of some models that a press of a button could bring to this machine."""
    names = []
    for model in dict.fromkeys(models):
        try:
            state.models.locate(model)
        except NotDownloadedError:
            names.append(model)
        except InputError:  # whatever asks it for an answer says so
            continue
    return names


def download(state: AppState, model: ModelName) -> None:
    """Bring a model of the hub to this machine."""
    state.models.download(model)


def encode(state: AppState, asked: Input) -> dict[str, Any]:
    """Return the encoding of the input, how its model spells `mask`, and a note where the text is too long."""
    checkpoint = asked.checkpoint(state)
    encoding = interpret.encode_inputs(checkpoint, *asked.texts).encoding
    mask = checkpoint.tokenizer.special.mask
    return {"encoding": encoding, "mask": mask, "note": checkpoint.encoding_warning(encoding)}


def random_text(state: AppState, visitor: Visitor, model: ModelName, texts: list[Text]) -> str:
    """Return a sentence of the text that the model was trained on, or one of its examples, but none of `texts`."""
    others = [text for text in state.examples(model, visitor).others if text not in texts]
    return random.choice(others) if others else ""


def standalone_page(state: AppState, drawing: Word, label: Word) -> str:
    """Return a page that shows a drawing without this server; the browser puts its payload in. Raises `InputError`."""
    return standalone.standalone_page(drawing, label)


QUESTIONS = questions(models, about, examples, missing, encode, random_text, standalone_page, slow=[download])
