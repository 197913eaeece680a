"""The exam: its answers are what other programs compute, its keys stay on the server, and guessing does not pass."""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from bertviz_lab import load_checkpoint
from bertviz_lab.config import SHIPPED
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import Checkpoint
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.lessons.exam import COUNT, PASSING, POINTS, TITLES, Field, Task, mark, task_of
from bertviz_lab.ui.server.visitors import Visitor, owner_of
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.lessons.view import QUESTIONS
from bertviz_lab.ui.workshop.pages import RunsNow, board, leader_page, screen
from bertviz_lab.ui.workshop.room import Room
from tests.ui.pages import little_settings

TOWN = SHIPPED / "tiny-town"
SEEDS = range(1, 9)
each_seed = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def town() -> Checkpoint:
    return load_checkpoint("tiny-town")


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> AppState:
    return AppState(Settings(runs_dir=tmp_path_factory.mktemp("runs")))


def task(seed: int, number: int) -> Task:
    """One of the tasks that ask no model."""
    nobody: Any = None
    return task_of(seed, number, nobody)


def keys(of: Task) -> list[Any]:
    return [field.key for field in of.fields]


def chosen(field: Field) -> str:
    return str(field.options[int(field.key)])


def row(of: Task, number: int) -> list[str]:
    return [str(cell) for cell in of.table[number][1:]]


def numbers_in(texts: Sequence[object]) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\b", " ".join(map(str, texts)))]


@each_seed
def test_the_loss_of_the_example_is_torch_s(seed: int) -> None:
    of = task(seed, 1)
    tokens, chances = row(of, 1), torch.tensor([float(chance) for chance in row(of, 2)])
    masked, replaced, kept = numbers_in(of.prompt)[:3]
    read, labels, loss = keys(of)
    selected = [at for at, label in enumerate(labels.split()) if label != "-"]
    assert selected == sorted({masked, replaced, kept})
    assert [labels.split()[at] for at in selected] == [tokens[at] for at in selected]
    changed = {at for at, (one, other) in enumerate(zip(read.split(), tokens, strict=True)) if one != other}
    assert changed == {masked, replaced}
    assert read.split()[masked] == "[MASK]"
    logits = torch.stack([chances.log(), (1 - chances).log()], -1)  # what was there, and all else
    targets = torch.full((len(tokens),), -100)
    targets[selected] = 0
    assert loss == pytest.approx(float(torch.nn.functional.cross_entropy(logits, targets)), abs=1e-6)


@each_seed
def test_the_pair_is_laid_out_as_transformers_does(seed: int) -> None:
    of = task(seed, 2)
    text_a, text_b = (example[3:] for example in of.example)
    tokenizer = transformers.AutoTokenizer.from_pretrained(TOWN)
    (length,) = numbers_in(of.prompt)
    encoded = tokenizer(text_a, text_b, padding="max_length", max_length=length)
    tokens, segments, attention, last = keys(of)
    assert tokens.split() == tokenizer.convert_ids_to_tokens(encoded["input_ids"])
    assert segments == " ".join(map(str, encoded["token_type_ids"]))
    assert attention == " ".join(map(str, encoded["attention_mask"]))
    assert tokens.split()[last] == "[SEP]"


@each_seed
def test_the_row_of_attention_is_torch_s(seed: int) -> None:
    of = task(seed, 3)
    vectors = [[int(number) for number in re.findall(r"-?\d+", text)] for text in row(of, 1)]
    query = [int(number) for number in re.findall(r"\d+", str(of.prompt[0]).split("(")[1].split(")")[0])]
    q, k = torch.tensor([[query]]).double(), torch.tensor([[vectors]]).double().flatten(0, 1)
    seen = torch.tensor([[True, True, True, False]])
    identity, value = torch.eye(4).double()[None], torch.tensor([[float(cell)] for cell in row(of, 2)]).double()[None]
    weights = torch.nn.functional.scaled_dot_product_attention(q, k, identity, attn_mask=seen)
    read = torch.nn.functional.scaled_dot_product_attention(q, k, value, attn_mask=seen)
    assert keys(of) == pytest.approx([*weights.flatten().tolist(), float(read)])


@each_seed
def test_the_parameters_are_those_of_transformers_models(seed: int) -> None:
    of = task(seed, 4)
    hidden, layers, heads, vocabulary, positions, _ = numbers_in(of.prompt)
    config = transformers.BertConfig(
        vocab_size=vocabulary, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=4 * hidden, max_position_embeddings=positions,
    )  # fmt: skip

    def count(module: torch.nn.Module) -> int:
        return sum(parameter.numel() for parameter in module.parameters())

    with torch.device("meta"):
        model, with_head = transformers.BertModel(config), transformers.BertForMaskedLM(config)
        config.num_attention_heads *= 2
        more = transformers.BertModel(config)
    added = count(with_head) - count(with_head.bert)
    parts: list[Any] = [model.embeddings, model.encoder.layer[0], model]
    assert keys(of) == [*map(count, parts), added, count(more) - count(model)]


@each_seed
def test_the_parts_of_a_layer_run_in_that_order_in_transformers(seed: int) -> None:
    of = task(seed, 5)
    batch, tokens, heads, hidden = numbers_in(of.prompt[1:])
    config = transformers.BertConfig(hidden_size=hidden, num_attention_heads=heads, intermediate_size=4 * hidden)
    config._attn_implementation = "eager"
    layer: Any = transformers.models.bert.modeling_bert.BertLayer(config).eval()
    ran: list[str] = []
    shapes: dict[str, list[int]] = {}
    for name, module in layer.named_modules():
        module.register_forward_hook(lambda *_, name=name: ran.append(name))
    layer.attention.self.register_forward_hook(lambda *values: shapes.update(scores=[*values[-1][1].shape]))
    layer.intermediate.register_forward_hook(lambda *values: shapes.update(wide=[*values[-1].shape]))
    layer(torch.zeros(batch, tokens, hidden))
    named = {"attention.self.query": "queries, keys and values", "attention.output.dense": "through the output matrix",
             "attention.output.LayerNorm": "Add x, then LayerNorm", "intermediate.dense": "W₁", "output.dense": "W₂",
             "output.LayerNorm": "Add a, then LayerNorm"}  # fmt: skip
    order = [chosen(field) for field in of.fields if field.options]
    places = [next(at for at, part in enumerate(order) if words in part) for words in named.values()]
    assert places == sorted(places, key=lambda at: ran.index([*named][places.index(at)]))
    assert order[1].startswith("Scores")
    assert order[2] == "Softmax over the keys"
    assert keys(of)[-2:] == [" ".join(map(str, shapes[name])) for name in ("scores", "wide")]


@each_seed
def test_heads_have_the_outputs_and_losses_of_transformers_models(seed: int) -> None:
    of = task(seed, 6)
    tokens, hidden = numbers_in(of.prompt)[:2]
    config = transformers.BertConfig(hidden_size=hidden, num_hidden_layers=1, num_attention_heads=4, vocab_size=10)
    losses: dict[str, Any] = {
        "classes": "single_label_classification", "sigmoid": "multi_label_classification", "mean": "regression"
    }  # fmt: skip
    for at in range(0, 9, 3):
        reads, loss, logits = of.fields[at : at + 3]
        name = str(reads.label)
        found = re.search(r"of (?:any )?(\d+)|any of (\d+)|entities of (\d+)", name)
        classes = int(next(filter(None, found.groups()))) if found else 1
        config.num_labels = 2 * classes + 1 if "entities" in name else 2 if "question" in name else classes
        if "[CLS]" in chosen(reads):
            config.problem_type = next(kind for words, kind in losses.items() if words in chosen(loss))
            model: Any = transformers.BertForSequenceClassification(config)
            expected = {"Topic": "single_label_classification", "Emotions": "multi_label_classification"}
            assert config.problem_type == expected.get(name.split()[0], "regression")
        else:
            asks = "question" in name
            assert ("start" in chosen(loss)) == asks
            assert "every token" in chosen(reads)
            model = (transformers.BertForQuestionAnswering if asks else transformers.BertForTokenClassification)(config)
        out = model(torch.zeros(1, tokens, dtype=torch.long))
        made = [out.start_logits, out.end_logits] if "start_logits" in out else [out.logits]
        assert logits.key == sum(value.numel() for value in made), name
    head = model.qa_outputs if hasattr(model, "qa_outputs") else model.classifier
    assert of.fields[-1].key == sum(parameter.numel() for parameter in head.parameters())


@pytest.mark.parametrize("seed", range(1, 25))
def test_what_is_seen_in_curves_is_in_their_numbers(seed: int) -> None:
    of = task(seed, 7)
    train, held = (np.array([float(cell) for cell in row(of, number)]) for number in (1, 2))
    uniform, kept, seen, done = of.fields
    counts = [number for number in numbers_in(of.prompt) if number > 1]
    assert uniform.key == pytest.approx(np.log(counts[0]))
    assert kept.key == held.argmin() + 1
    assert (held == held.min()).sum() == 1
    first = {"overfitting": held[-1] > held.min() * 1.02 and train[-1] < 0.5 * train[0],
             "not trained long enough": bool((np.diff(held) < 0).all()),
             "the learning rate is too high": held.argmin() == 0,
             "stuck at the unigram baseline": bool(np.ptp(held[1:]) < 0.1) and held[1] < held[0]}  # fmt: skip
    assert [name for name, holds in first.items() if holds] == [chosen(seen)]
    words = {"overfitting": "Keep", "not trained long enough": "more steps", "the learning rate is too high": "lower",
             "stuck at the unigram baseline": "context"}  # fmt: skip
    assert words[chosen(seen)] in chosen(done)


@each_seed
def test_what_follows_from_a_control_is_the_difference(seed: int) -> None:
    of = task(seed, 8)
    words = {"parts of speech": "at random", "Pretraining": "random weights", "reviews": "largest class",
             "meaning": "weights are random", "Head": "other heads", "token": "same kind"}  # fmt: skip
    for (_, claim, control), at in zip(of.table[1:], (0, 3), strict=True):
        (found,), (reached,) = re.findall(r"(\d+)%", str(claim)), re.findall(r"(\d+)%", str(control))
        which, difference, verdict = of.fields[at : at + 3]
        assert next(words[name] for name in words if name in str(claim)) in chosen(which)
        left = int(found) - int(reached)
        assert difference.key == left
        follows = "is supported" if left >= 5 else "refutes" if left <= -5 else "not supported"
        assert follows in chosen(verdict)


@each_seed
def test_the_corrupted_text_and_its_target_come_together_again(seed: int) -> None:
    of = task(seed, 9)
    source, target = (field.key for field in of.fields[-2:])
    spans = re.split(r"<\d>", str(target))
    assert re.findall(r"<\d>", str(target)) == ["<1>", "<2>", "<3>"]
    assert spans[-1] == ""
    assert str(source).replace("<1>", spans[1].strip()).replace("<2>", spans[2].strip()) == of.example[0]
    assert " / ".join(span.strip() for span in spans[1:3]) in str(of.prompt[1])
    assert {chosen(field) for field in of.fields[:4]} == {"BERT", "GPT", "T5"}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_attribution_is_what_transformers_computes(town: Checkpoint, seed: int) -> None:
    of = task_of(seed, 10, town)
    model = transformers.BertForMaskedLM.from_pretrained(TOWN, attn_implementation="eager").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(TOWN)

    def forward(text: str) -> tuple[float, torch.Tensor]:
        encoded = tokenizer(text, return_tensors="pt")
        at = encoded["input_ids"][0].tolist().index(tokenizer.mask_token_id)
        with torch.no_grad():
            out = model(**encoded, output_attentions=True)
        chances = out.logits[0, at].softmax(-1)
        return float(chances[tokenizer.convert_tokens_to_ids("cost")]), torch.stack(out.attentions).mean((0, 1, 2))[at]

    (text,), words, others = of.example, [str(word) for word in of.table[0][1:]], row(of, 2)
    whole, attention = forward(text)
    tokens = tokenizer.tokenize(text, add_special_tokens=True)
    read = [float(attention[tokens.index(word)]) for word in words]
    effects = [
        math.log(whole / forward(text.replace(word, other))[0]) for word, other in zip(words, others, strict=True)
    ]
    first, needed, effect, says = of.fields
    assert chosen(first) == words[int(np.argmax(read))]
    assert chosen(needed) == words[int(np.argmax(effects))]
    assert effect.key == pytest.approx(max(effects), abs=0.01)
    assert f"“{chosen(needed)}”" in chosen(says)


def test_a_seed_makes_the_same_exam_and_another_seed_another_one(town: Checkpoint) -> None:
    for number in range(1, COUNT + 1):
        assert task_of(7, number, town) == task_of(7, number, town)
        assert len({json.dumps([*keys(task_of(seed, number, town)), task_of(seed, number, town).example])
                    for seed in range(1, 7)}) > 4  # fmt: skip


def test_the_right_answers_have_all_points_and_one_mistake_half(town: Checkpoint) -> None:
    for number in range(1, COUNT + 1):
        of = task_of(11, number, town)
        right = [str(key) for key in keys(of)]
        assert mark(of, right).points == POINTS
        assert mark(of, ["", *right[1:]]).points == POINTS // 2
        assert mark(of, right, hints=2).points == POINTS - 4
        assert mark(of, ["", "", *right[2:]], hints=2).points == 0
        assert mark(of, []).points == 0


@pytest.mark.parametrize(
    ("answer", "key", "tolerance", "right"),
    [("1,024", 1024, 0, True), ("1.024", 1024, 0, True), ("1 024", 1024, 0, True), ("1025", 1024, 0, False),
     ("0,25", 0.25, 0.01, True), ("0.255", 0.25, 0.01, True), ("0.27", 0.25, 0.01, False), ("−7", -7, 0, True),
     ("", 0, 0, False), ("nan", 0.0, 0.1, False), ("x", 0, 0, False)],
)  # fmt: skip
def test_a_number_is_read_as_either_language_writes_it(answer: str, key: float, tolerance: float, right: bool) -> None:
    assert Field(TITLES[0], key, tolerance=tolerance).is_right(answer) is right


def test_tokens_are_compared_whatever_is_between_them() -> None:
    field = Field(TITLES[0], "[CLS] the [MASK]")
    assert field.is_right("  [cls]  THE, [Mask] ")
    assert not field.is_right("[CLS] the")


def test_who_only_guesses_does_not_pass(town: Checkpoint) -> None:
    """A guess is any option, any number that the task shows, or tokens that it shows."""
    draw, totals = Random(1), []
    for seed in range(1, 61):
        total = 0
        for number in range(1, COUNT + 1):
            of = task_of(seed, number, town)
            shown = " ".join(map(str, [*of.prompt, *of.example, *(cell for cells in of.table for cell in cells)]))
            numbers, words = [*re.findall(r"-?\d+(?:\.\d+)?", shown), "0", "1"], [*shown.split(), "0", "1"]
            answers = [
                str(draw.randrange(len(field.options))) if field.options
                else " ".join(draw.choices(words, k=len(field.key.split()))) if isinstance(field.key, str)
                else draw.choice(numbers)
                for field in of.fields
            ]  # fmt: skip
            total += mark(of, answers).points
        totals.append(total)
    assert np.mean(totals) < 0.2 * COUNT * POINTS
    assert max(totals) < PASSING


def asked(state: AppState, question: str, visitor: Visitor | None = None, **arguments: Any) -> Any:
    return QUESTIONS[question].ask(state, arguments, **({"visitor": visitor} if visitor else {}))


def test_no_key_is_sent_before_the_answers(state: AppState, town: Checkpoint) -> None:
    pages = asked(state, "exam", seed=5, answers={}, hints={n: 2 for n in range(1, COUNT + 1)})
    for number, page in enumerate(pages, 1):
        of = task_of(5, number, town)
        texts = [str(field.solution) for field in of.fields if not field.options and len(str(field.solution)) > 4]
        assert [text for text in texts if text in page] == []
        assert "The answer" not in page
        assert " selected>" not in page
        told = asked(state, "exam_task", seed=5, number=number, hints=0, answers=["?"])
        assert "The answer" in told
        assert 'data-points="0"' in told


def test_each_task_leads_to_a_lesson_that_there_is(town: Checkpoint) -> None:
    assert {task_of(1, number, town).lesson for number in range(1, COUNT + 1)} <= {each.number for each in LESSONS}


def test_a_certificate_marks_the_answers_again(state: AppState, town: Checkpoint) -> None:
    right = {n: [str(key) for key in keys(task_of(9, n, town))] for n in range(1, COUNT + 1)}
    page = asked(state, "certificate", seed=9, name="<b>Ada</b>", answers=right, hints={1: 1})
    assert "98 of 100 points" in page
    assert "passed" in page
    assert "&lt;b&gt;Ada" in page
    failed = asked(state, "certificate", seed=9, name="", answers={1: right[1]}, hints={})
    assert "10 of 100 points" in failed
    assert "passed</h1>" not in failed
    assert "Exam number 9." in failed


def test_without_its_model_there_is_no_exam(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="so there is no exam"):
        asked(AppState(little_settings(tmp_path)), "exam", seed=1, answers={}, hints={})


def test_a_room_sees_the_points_before_and_after_the_lessons(tmp_path: Path, town: Checkpoint) -> None:
    people = [Visitor(f"192.0.2.{n}", owner_of(f"{n:043}")) for n in range(3)]
    workshop, room = AppState(Settings(runs_dir=tmp_path)), Room(40)
    workshop.room = room
    right = [str(key) for key in keys(task_of(3, 4, town))]
    arguments: dict[str, Any] = {"seed": 3, "number": 4, "hints": 0}
    for person in people:
        room.report(person, room.id, 0, (), {})
        asked(workshop, "exam_task", person, **arguments, answers=right)  # before the leader has called: not counted
    assert room.exam_points("before", 4) == []
    room.call(exam="before")
    assert room.news()["call"]["exam"] == "before"
    assert screen(room)["texts"]["title"] == "Final exam"
    asked(workshop, "exam_task", people[0], **arguments, answers=[])
    asked(workshop, "exam_task", people[0], **arguments, answers=right)  # a second time
    asked(workshop, "exam_task", people[1], **arguments)  # no answers
    asked(workshop, "exam_task", people[2], **arguments, answers=right)
    room.call(1)
    asked(workshop, "exam_task", people[1], **arguments, answers=right)
    room.call(exam="after")
    for person in people:
        asked(workshop, "exam_task", person, **arguments, answers=right)
    texts = board(room, RunsNow())["texts"]
    assert (texts["exam-before-4"], texts["exam-after-4"], texts["exam-after-5"]) == ("50% of 2", "100% of 3", "")
    assert "Call to the exam, after them" in leader_page(workshop.settings, "http://x/", room)
