import math
from functools import cache

import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoModelForTokenClassification, AutoTokenizer, pipeline

from bertviz_lab import BertForQuestionAnswering, BertForTokenClassification, Checkpoint, InputError, save_checkpoint
from bertviz_lab.interpret import ablate_heads, answer_question, choose_target, encode_inputs, label_words
from tests.family_checkpoints import family_checkpoint
from tests.little import SENTENCES, little_checkpoint

LABELS = ("B-LOC", "B-PER", "I-LOC", "I-PER", "O")
TEXT = "The older man reads a handbook near the riverside, unbelievably; she gave him dogs."
PASSAGE = " ".join(SENTENCES)


@cache
def tagger(seed: int = 0, **shape) -> Checkpoint:
    shape = {"num_labels": len(LABELS), "id2label": LABELS, "initializer_range": 0.5} | shape
    return little_checkpoint(seed, BertForTokenClassification, **shape)


@cache
def finder(seed: int = 0, **shape) -> Checkpoint:
    return little_checkpoint(seed, BertForQuestionAnswering, **({"initializer_range": 0.5} | shape))


@pytest.mark.parametrize("seed", range(2))
def test_labels_are_those_of_transformers_at_the_first_token_of_each_word(tmp_path, seed) -> None:
    checkpoint = tagger(seed)
    folder = save_checkpoint(checkpoint, tmp_path)
    model = AutoModelForTokenClassification.from_pretrained(folder)
    encoding = AutoTokenizer.from_pretrained(folder)(TEXT, return_tensors="pt")
    with torch.inference_mode():
        theirs = model(**encoding).logits[0].softmax(-1).numpy()
    word_ids = encoding.word_ids()
    firsts = [word_ids.index(word) for word in dict.fromkeys(word_ids) if word is not None]
    assert len(firsts) < len(word_ids) - 2  # some words have several tokens

    found = label_words(checkpoint, TEXT)
    assert found.probabilities == pytest.approx(theirs[firsts], abs=1e-5)
    assert [word.label for word in found.words] == [LABELS[i] for i in theirs[firsts].argmax(-1)]
    assert [word.probability for word in found.words] == pytest.approx(theirs[firsts].max(-1), abs=1e-5)
    assert [(word.start, word.end) for word in found.words] == [
        tuple(encoding.word_to_chars(word)) for word in dict.fromkeys(word_ids) if word is not None
    ]


@pytest.mark.parametrize("seed", range(2))
def test_entities_are_those_of_transformers(tmp_path, seed) -> None:
    checkpoint = tagger(seed)
    folder = save_checkpoint(checkpoint, tmp_path)
    theirs = pipeline("token-classification", str(folder), aggregation_strategy="first", device="cpu")(TEXT)
    found = label_words(checkpoint, TEXT).entities
    assert [(e.type, e.start, e.end) for e in found] == [(e["entity_group"], e["start"], e["end"]) for e in theirs]
    assert [e.probability for e in found] == pytest.approx([float(e["score"]) for e in theirs], abs=1e-5)
    assert [e.text for e in found] == [TEXT[e.start : e.end] for e in found]


def test_words_lie_in_the_text_as_they_were_typed() -> None:
    text = "  The cat — Zürich 😀, 東京!  "
    found = label_words(tagger(), text)
    assert [word.text for word in found.words] == ["The", "cat", "—", "Zürich", "😀", ",", "東", "京", "!"]
    assert all(text[word.start : word.end] == word.text for word in found.words)
    assert found.text == text
    assert found.probabilities.sum(-1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("model_type", ["electra", "roberta", "modernbert", "xlm-roberta"])
def test_words_of_a_text_are_those_without_space_and_punctuation(model_type, tmp_path) -> None:
    checkpoint = family_checkpoint(model_type, tmp_path, "TokenClassification")
    words = ["the", "cat", ",", "Qxz", "sat", "(", "on", "a", "mat", "."]
    of_text = label_words(checkpoint, "the cat, Qxz sat (on a mat.")
    assert [word.text for word in of_text.words] == words
    assert label_words(checkpoint, words).probabilities == pytest.approx(of_text.probabilities)


def test_a_word_without_a_token_is_unknown_and_a_mask_is_a_word() -> None:
    found = label_words(tagger(), ["the", "\u200b", "cat"])
    assert [word.text for word in found.words] == ["the", "\u200b", "cat"]
    unknown = label_words(tagger(), ["the", "\U00012345", "cat"])
    assert found.probabilities == pytest.approx(unknown.probabilities)
    checkpoint = tagger()
    found = label_words(checkpoint, "the [MASK] sat")
    assert [word.text for word in found.words] == ["the", "[MASK]", "sat"]
    inputs = encode_inputs(checkpoint, "the [MASK] sat")
    with torch.inference_mode():
        theirs = checkpoint.model(**inputs.arguments()).logits[0, 1:-1].softmax(-1)
    assert found.probabilities == pytest.approx(theirs.numpy(), abs=1e-5)


def test_a_word_of_a_long_text_is_judged_in_the_window_around_it() -> None:
    checkpoint = tagger()
    letters = ["a", "b", "c", "d"] * 40  # a token each; 62 fit
    found = label_words(checkpoint, letters)
    first = label_words(checkpoint, letters[:62])
    second = label_words(checkpoint, letters[31:93])
    # The two windows share the letters 31 to 61; those nearer to the first one's middle are its own.
    assert found.probabilities[:47] == pytest.approx(first.probabilities[:47], abs=1e-6)
    assert found.probabilities[47:62] == pytest.approx(second.probabilities[16:31], abs=1e-6)
    assert found.probabilities[46] != pytest.approx(second.probabilities[15], abs=1e-6)


@pytest.mark.parametrize("nothing", ["", "  \n", [], ["", " "]])
def test_no_words_are_refused(nothing) -> None:
    with pytest.raises(InputError, match="Type a sentence first"):
        label_words(tagger(), nothing)


@pytest.mark.parametrize("seed", range(2))
def test_the_answer_is_the_best_pair_of_transformers_logits(tmp_path, seed) -> None:
    checkpoint = finder(seed)
    folder = save_checkpoint(checkpoint, tmp_path)
    model = AutoModelForQuestionAnswering.from_pretrained(folder)
    passage = "she gave him the red book near the river"
    encoding = AutoTokenizer.from_pretrained(folder)("who gave it", passage, return_tensors="pt")
    with torch.inference_mode():
        out = model(**encoding)
    start, end = out.start_logits[0], out.end_logits[0]
    tokens = [i for i, segment in enumerate(encoding.sequence_ids()) if segment == 1]
    pairs = {(i, j): float(start[i] + end[j]) for i in tokens for j in tokens if i <= j < i + 30}
    (i, j), score = max(pairs.items(), key=lambda pair: pair[1])
    null = float(start[0] + end[0])
    total = math.exp(null) + sum(map(math.exp, pairs.values()))

    found = answer_question(checkpoint, "who gave it", passage, threshold=math.inf)
    wanted = encoding.token_to_chars(i).start, encoding.token_to_chars(j).end
    assert (found.best[0].start, found.best[0].end) == wanted
    assert found.text == found.best[0].text == passage[slice(*wanted)]
    assert found.best[0].score == pytest.approx(score, abs=1e-4)
    assert found.no_answer == pytest.approx(null - score, abs=1e-4)
    assert found.no_answer_probability == pytest.approx(math.exp(null) / total, rel=1e-3)
    assert found.best[0].probability == pytest.approx(math.exp(score) / total, rel=1e-3)


def test_what_cannot_be_asked_is_refused() -> None:
    for question, passage in (("", PASSAGE), ("who", " \n")):
        with pytest.raises(InputError, match="a question as text A and a passage as text B"):
            answer_question(finder(), question, passage)
    with pytest.raises(InputError, match="single texts"):
        answer_question(finder(type_vocab_size=1), "who", PASSAGE)


def explained(kind: str):
    """A model, its texts, what is explained, and the score of that by the whole model."""
    if kind == "word":
        checkpoint, texts = tagger(), (TEXT,)
    else:
        checkpoint, texts = finder(), ("who gave it", "she gave him the red book near the river")
    inputs = encode_inputs(checkpoint, *texts)
    target = choose_target(checkpoint, inputs, kind, position=8)
    with torch.inference_mode():
        out = checkpoint.model(**inputs.arguments())
    if kind == "word":
        return checkpoint, texts, target, float(out.logits[0, target.position].log_softmax(-1)[target.index])
    scores = out.start_logits if kind == "start" else out.end_logits
    return checkpoint, texts, target, float(scores[0].log_softmax(-1)[8])


@pytest.mark.parametrize("kind", ["word", "start", "end"])
def test_what_heads_have_an_effect_on_is_the_log_probability_of_the_choice(kind) -> None:
    checkpoint, texts, target, score = explained(kind)
    assert ablate_heads(checkpoint, *texts, target=target).baseline == pytest.approx(score, abs=1e-4)


def test_a_words_label_is_explained_against_another() -> None:
    checkpoint = tagger()
    inputs = encode_inputs(checkpoint, TEXT)
    target = choose_target(checkpoint, inputs, "word", position=3, choice="B-PER", against="O")
    assert target.title == "B-PER rather than O"
    with torch.inference_mode():
        logits = checkpoint.model(**inputs.arguments()).logits[0, target.position]
    wanted = float(logits[LABELS.index("B-PER")] - logits[LABELS.index("O")])
    assert ablate_heads(checkpoint, TEXT, target=target).baseline == pytest.approx(wanted, abs=1e-4)
    with pytest.raises(InputError, match="against itself"):
        choose_target(checkpoint, inputs, "word", position=3, choice="O", against="O")
    with pytest.raises(InputError, match="not one of"):
        choose_target(checkpoint, inputs, "word", position=3, choice="B-DOG")


def test_a_word_is_explained_at_its_first_token_and_by_default_the_first_that_is_something() -> None:
    checkpoint = tagger()
    inputs = encode_inputs(checkpoint, TEXT)
    words = label_words(checkpoint, TEXT).words
    word = next((word for word in words if word.label != "O"), words[0])
    target = choose_target(checkpoint, inputs, "word")
    assert (inputs.encoding.offsets[target.position][0], target.name) == (word.start, word.label)
    word_ids = inputs.encoding.word_ids
    last = next(at for at in range(2, len(word_ids) - 1) if word_ids[at] == word_ids[at - 1])
    assert choose_target(checkpoint, inputs, "word", position=last).position == word_ids.index(word_ids[last]) < last


@pytest.mark.parametrize("position", [0, -1, 99])
def test_a_place_without_a_word_is_refused(position) -> None:
    checkpoint = tagger()
    with pytest.raises(InputError, match="no word at this place"):
        choose_target(checkpoint, encode_inputs(checkpoint, TEXT), "word", position=position)


def test_an_answers_edges_are_tokens_of_the_passage_or_none() -> None:
    checkpoint = finder()
    inputs = encode_inputs(checkpoint, "who gave it", "she gave him the red book")
    none = choose_target(checkpoint, inputs, "start", position=0)
    assert none.name == "no answer"
    for kind in ("start", "end"):
        target = choose_target(checkpoint, inputs, kind)
        assert inputs.encoding.token_type_ids[target.position] == 1
        assert target.name == inputs.encoding.tokens[target.position]
        for outside in (1, len(inputs.encoding) - 1):
            with pytest.raises(InputError, match="in the passage"):
                choose_target(checkpoint, inputs, kind, position=outside)
    with pytest.raises(InputError, match="a question as text A and a passage as text B"):
        choose_target(checkpoint, encode_inputs(checkpoint, "who"), "start")
    with pytest.raises(InputError, match="set against nothing"):
        choose_target(checkpoint, inputs, "end", against="she")
