"""Records of annotation tools, chats and treebanks as plain objects: texts with a `label`, `entities` or answers.

Label Studio, Prodigy, Argilla, spaCy, OpenAI's and Google's chats, ShareGPT, intents with their patterns; and the
intents of Rasa as YAML or Markdown, with examples in which entities are marked; and the trees of the Stanford
Sentiment Treebank (Socher et al. 2013), a sentence each: `(3 (2 A) (3 (4 fine) (2 film)))`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from bertviz_lab.data.formats.raw import DropReport, RawFile

_DIFFERENT = "record<s> <has|have> annotations that differ: the most frequent was read"
_TIED = "record<s> <has|have> annotations that tie: the first was read"
_REJECTED = 'answer<s> "reject" <was|were> read as "not" and the label'
_PATTERNS = ("patterns", "examples", "utterances", "phrases", "text", "texts", "questions")
_INTENTS = ("tag", "intent", "label", "name")
_MOST_LEAVES = 100  # of an object in a record that becomes columns
_HEADING = re.compile(r"\s*(?:- ?|## ?)(intent|synonym|regex|lookup|story|rule)\s*:\s*(.+)")
_EXAMPLE = re.compile(r"\s*[-*+] (?:text: *)?(.+)")
_TREE = re.compile(r"\s*\((\d+) \S.*\)\s*")
_LEAF = re.compile(r"\(\d+ ([^()\s]+)\)")
#: How trees escape brackets among the words.
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_ENTITY = re.compile(r"\[([^\]\n]+)\](?:\(([^)\n]+)\)|(\{[^}\n]*\}))")


def plain_records(record: Any, number: int, file: RawFile, report: DropReport) -> Iterator[Any]:
    """Yield what a record of a tool says as objects; a record of no tool, or one that only looks like it, as it is."""
    if isinstance(record, list) and len(record) == 2 and isinstance(record[0], str) and isinstance(record[1], dict):
        record = {"text": record[0], **record[1]}  # spaCy
    if isinstance(record, list) and record and all(map(_is_tagged_word, record)):
        record = {"tokens": [word for word, _ in record], "tags": [tag for _, tag in record]}
    if not isinstance(record, dict):
        yield record
    elif patterns := _patterns(record):
        yield from patterns
    else:
        with suppress(AttributeError, KeyError, TypeError):  # of a tool its parts have these types
            record = _plain(record, number, file, report)
        yield record


def _is_tagged_word(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2 and all(isinstance(part, str) and " " not in part for part in item)


def _patterns(record: dict[str, Any]) -> list[dict[str, str]]:
    """Return the texts of a record that lists them for one intent."""
    intent = next((record[name] for name in _INTENTS if isinstance(record.get(name), str)), None)
    texts: list[Any] = next((record[name] for name in _PATTERNS if isinstance(record.get(name), list)), [])
    listed = [text for text in texts if isinstance(text, str)]
    are_texts = intent is not None and len(listed) == len(texts) and any(" " in text for text in listed)
    return [{"text": text, "label": intent} for text in listed] if are_texts and intent else []


def _plain(record: dict[str, Any], number: int, file: RawFile, report: DropReport) -> dict[str, Any]:
    if isinstance(record.get("data"), dict) and isinstance(record.get("annotations"), list):  # Label Studio
        annotations = [a for a in record["annotations"] if not a.get("was_cancelled")]
        answers = [_label_studio(a.get("result") or ()) for a in annotations] or [{}]
        texts = {key: value for key, value in record["data"].items() if isinstance(value, str)}
        return texts | _most_frequent(answers, number, file, report)
    if isinstance(record.get("fields"), dict) and isinstance(record.get("responses"), dict):  # Argilla 2
        users = [
            {name: given[n].get("value") for name, given in record["responses"].items() if n < len(given or ())}
            for n in range(max((len(given or ()) for given in record["responses"].values()), default=0))
        ]
        return record["fields"] | _most_frequent(users or [{}], number, file, report)
    if "annotation" in record and "prediction" in record:  # Argilla 1
        text = record["text"] if isinstance(record.get("text"), str) else record.get("inputs")
        return {"text": text, "annotation": record["annotation"]}
    if isinstance(record.get("cats"), dict) and isinstance(record.get("text"), str) and record["cats"]:
        return {"text": record["text"], "label": [name for name, share in record["cats"].items() if share >= 0.5]}
    if isinstance(record.get("accept"), list) and "options" in record:  # choices of Prodigy
        return {"text": record.get("text"), "label": record["accept"] if record.get("answer") == "accept" else []}
    if isinstance(record.get("label"), str) and record.get("answer") in ("accept", "reject", "ignore"):
        if record["answer"] == "reject":
            report.repair(_REJECTED, file, number)
        labels = {"accept": record["label"], "reject": f"not {record['label']}", "ignore": ""}
        return {"text": record.get("text"), "label": labels[record["answer"]]}
    for field in ("annotations", "labels"):  # doccano of old, and issues of GitHub
        classes = record.get(field)
        if classes and isinstance(classes, list) and all(map(_is_class, classes)):
            return record | {field: [annotation.get("label", annotation.get("name")) for annotation in classes]}
    return _chat(record) or record


def _is_class(annotation: Any) -> bool:
    """Return whether an object names a class, and no span of characters."""
    is_named = isinstance(annotation, dict) and not annotation.keys().isdisjoint(("label", "name"))
    return is_named and annotation.keys().isdisjoint(("start", "start_offset"))


def _label_studio(results: Any) -> dict[str, Any]:
    """Return the answers of one annotation by the names of their questions; spans of characters as entities."""
    answers: dict[str, Any] = {}
    for result in results:
        value = result.get("value") or {}  # without one it relates two others
        if "start" in value:
            answers.setdefault("entities", []).append(value)
        elif value:
            chosen = value.get("choices") or value.get("taxonomy") or value.get("rating") or value.get("number")
            chosen = chosen[0] if isinstance(chosen, list) and len(chosen) == 1 else chosen
            answers[str(result.get("from_name") or "label")] = chosen
    if len(answers) == 1 and "entities" not in answers:
        return {"label": next(iter(answers.values()))}
    return answers or {"entities": []}


def _most_frequent(answers: list[dict[str, Any]], number: int, file: RawFile, report: DropReport) -> dict[str, Any]:
    counts = Counter(map(str, answers))
    if len(counts) > 1:
        (_, most), (_, second), *_ = counts.most_common()
        report.repair(_TIED if most == second else _DIFFERENT, file, number)
    return max(answers, key=lambda answer: counts[str(answer)])


def _chat(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the first question of a chat with its answer, or None if the record is not a chat."""
    messages = next((record[name] for name in ("messages", "conversations", "contents") if name in record), ())
    said = [
        (str(m.get("role") or m.get("from")), _said(m.get("content") or m.get("value") or m.get("parts")))
        for m in messages
    ]
    question = next((text for role, text in said if role in ("user", "human")), "")
    answer = next((text for role, text in said if role in ("assistant", "gpt", "model")), "")
    return {"text": question, "label": answer} if question and answer else None


def _said(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in content)
    return content if isinstance(content, str) else ""


def flat(record: dict[str, Any], depth: int = 3) -> dict[str, Any]:
    """Return a record with what its inner objects hold under the names there; metadata is left out."""
    if depth == 0 or not any(isinstance(value, dict) for value in record.values()):
        return record
    leaves: dict[str, Any] = {}
    for name, value in record.items():
        if not isinstance(value, dict) or len(value) > _MOST_LEAVES:
            leaves[f"{name}"] = value
        elif name not in ("meta", "metadata"):
            leaves |= {
                (f"{name}.{inner}" if inner in record or inner in leaves else str(inner)): v
                for inner, v in flat(value, depth - 1).items()
            }
    return leaves


def is_rasa(lines: Sequence[str]) -> bool:
    """Return whether two lines or more name an intent, and examples follow."""
    return sum((match := _HEADING.match(line)) is not None and match[1] == "intent" for line in lines) > 1


def rasa_records(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Yield the examples of all intents, with their entities as spans."""
    intent = ""
    for line in lines:
        if heading := _HEADING.match(line):
            intent = heading[2].strip().strip("'\"") if heading[1] == "intent" else ""
        elif intent and (example := _EXAMPLE.match(line)) and not example[1].endswith(":"):
            text, entities, rest = "", [], example[1].strip()
            while match := _ENTITY.search(rest):
                text += rest[: match.start()]
                entities.append({"start": len(text), "end": len(text) + len(match[1]), "entity": _rasa_entity(match)})
                text, rest = text + match[1], rest[match.end() :]
            yield {"text": text + rest, "intent": intent, "entities": entities}


def _rasa_entity(match: re.Match[str]) -> str:
    try:
        return match[2].split(":")[0] if match[2] else str(json.loads(match[3])["entity"])
    except (ValueError, KeyError, TypeError):
        return match[3]


def are_trees(lines: Sequence[str]) -> bool:
    """Return whether nearly every line is a tree of numbered phrases."""
    trees = [line for line in lines if _TREE.fullmatch(line) and line.count("(") == line.count(")")]
    return len(trees) > 0.9 * len(lines) > 0


def tree_records(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Yield the sentence of each tree with the label of its root; the labels of its phrases are left out."""
    for line in lines:
        if line.strip():
            root, leaves = _TREE.fullmatch(line), _LEAF.findall(line)
            yield {"label": root and root[1], "text": " ".join(_BRACKETS.get(leaf, leaf) for leaf in leaves)}
