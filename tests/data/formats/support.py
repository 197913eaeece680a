"""Small tables, records and SQuAD files to read."""

import json

from bertviz_lab.data.examples import TaskData


def rows_of(data: TaskData) -> list[tuple]:
    return [(e.text_a, e.text_b, e.label) for e in data.examples]


def table(count: int = 20, header: str = "text,label\n", labels: tuple[str, ...] = ("neg", "pos")) -> str:
    return header + "".join(f"good film number {n},{labels[n % len(labels)]}\n" for n in range(count))


PASSAGE = "The bridge was built in 1890. It was painted in 1890 and closed in 1950."


def squad(*questions: dict, passage: str = PASSAGE, title: str = "Bridge") -> str:
    return json.dumps(
        {"version": "v2.0", "data": [{"title": title, "paragraphs": [{"context": passage, "qas": list(questions)}]}]}
    )


def question(name: str, text: str, start: int, **more) -> dict:
    return {"id": name, "question": f"When {name}?", "answers": [{"text": text, "answer_start": start}], **more}


RECORDS = [{"idx": n, "text": f"film {n} was good", "label": n % 2, "extra": None} for n in range(20)]
