"""Probes: what can be read off a layer, what a control task shows of it, and labels whose truth is known."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from bertviz_lab import Checkpoint, InputError, interpret
from bertviz_lab.config.limits import QuestionLimits
from bertviz_lab.data.probes.minimal_pairs import words
from bertviz_lab.data.probes.probing_tasks import MASK, PROBING_TASKS, LabeledSentence, sentences_of_file
from bertviz_lab.data.samples.tiny_town.stories import imagine
from bertviz_lab.interpret import probe_layers, probe_snapshots
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from tests.little import little_checkpoint

TOWN = Path(__file__).parents[2] / "checkpoints" / "tiny-town"
NOUNS, VERBS = ("cat", "dog", "man", "book"), ("sat", "ran", "reads", "walk")


def made(count: int = 120) -> list[LabeledSentence]:
    """Sentences of four words of which two are labeled, in all combinations."""
    rng = np.random.default_rng(0)
    sentences = []
    for _ in range(count):
        noun, verb = NOUNS[rng.integers(4)], VERBS[rng.integers(4)]
        found = ("the", noun, verb, "here")
        sentences.append(LabeledSentence(found, (None, "NOUN", "VERB", None), found))
    return sentences


def test_a_label_that_the_word_decides_is_read_off_the_embeddings() -> None:
    found = probe_layers(little_checkpoint(), made())
    assert found.labels == ("NOUN", "VERB")
    assert found.accuracy.shape == (3,)
    assert found.accuracy[0] == found.by_type == 1
    # Eight words are memorized with any labels: the control task is solved as well, and selectivity is 0.
    assert found.control[0] == 1
    assert found.selectivity[0] == 0
    assert (found.trained, found.tested) == (180, 60)


def test_a_label_that_nothing_decides_is_not_read_off_any_layer() -> None:
    rng = np.random.default_rng(1)
    sentences = [replace(one, labels=(None, None, str(rng.integers(2)), None)) for one in made(400)]
    found = probe_layers(little_checkpoint(), sentences)
    assert abs(found.accuracy - 0.5).max() < 0.15


def test_the_number_of_a_subject_reaches_the_masked_verb_in_the_layers_that_attend(town: Checkpoint) -> None:
    found = probe_layers(town, PROBING_TASKS["subject"].read())
    assert found.accuracy[0] < 0.75  # every [MASK] has the same embedding, but for its position
    assert found.accuracy[-1] > 0.9
    assert found.selectivity[-1] > found.selectivity[0]
    random = probe_layers(interpret.untrained(town), PROBING_TASKS["subject"].read())
    assert found.accuracy[-1] > random.accuracy.max()


def test_the_probes_of_each_snapshot_are_those_of_its_model(town: Checkpoint) -> None:
    snapshots, sentences = open_snapshots(TOWN), PROBING_TASKS["gender"].read()
    steps = (snapshots.steps()[0], snapshots.steps()[-1])
    shares: list[float] = []
    first, last = probe_snapshots(snapshots.open, steps, sentences, most_words=200, on_progress=shares.append)
    assert last.accuracy.tolist() == probe_layers(town, sentences, most_words=200).accuracy.tolist()
    assert last.accuracy[-1] > first.accuracy[-1]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)


def test_the_labels_of_tiny_town_are_those_of_its_stories() -> None:
    (pos, number) = ({} for _ in range(2))
    for name, labels in (("pos", pos), ("number", number)):
        for sentence in PROBING_TASKS[name].read():
            labels |= dict(zip(sentence.types, sentence.labels, strict=True))
    assert {word: pos[word] for word in ("kite", "has", "ben", "red", "two", "she")} == {
        "kite": "NOUN", "has": "VERB", "ben": "PROPN", "red": "ADJ", "two": "NUM", "she": "PRON",
    }  # fmt: skip
    assert (number["kite"], number["squirrels"], number["has"]) == ("Sing", "Plur", None)
    assert len(pos) > 300
    for sentence in PROBING_TASKS["subject"].read():
        (at,) = [place for place, label in enumerate(sentence.labels) if label]
        assert sentence.words[at] == MASK
        assert sentence.labels[at] == number.get(sentence.types[at].lower(), sentence.labels[at])


def test_every_word_of_any_story_is_in_the_table() -> None:
    tagged = {kind for sentence in PROBING_TASKS["pos"].read() for kind in sentence.types}
    assert tagged
    table = (Path(__file__).parents[2] / "bertviz_lab/data/probes/town_words.tsv").read_text(encoding="utf-8").split()
    for story in islice(imagine(11), 1500):
        assert {word.lower() for sentence in story.sentences for word in words(sentence)} <= {*table}


def test_a_file_of_words_with_labels_can_be_probed(tmp_path: Path) -> None:
    path = tmp_path / "words.conll"
    path.write_text("\n\n".join("Hope B-PER\nwaited O\nin O\nKent B-LOC" for _ in range(30)) + "\n")
    first, *_ = sentences_of_file(path)
    assert first == LabeledSentence(
        ("Hope", "waited", "in", "Kent"), ("PER", "O", "O", "LOC"), ("hope", "waited", "in", "kent")
    )
    assert set(PROBING_TASKS["entities"].read()[0].labels) <= {"O", "PER", "LOC", "ORG", "DATE"}


def test_what_cannot_be_probed_is_one_sentence() -> None:
    with pytest.raises(InputError, match="at least two labels, and 20 words"):
        probe_layers(little_checkpoint(), made(10))
    limited = replace(little_checkpoint(), limits=QuestionLimits(operations=1e5))
    with pytest.raises(InputError, match="Probing for 9 tokens takes"):
        probe_layers(limited, made())
