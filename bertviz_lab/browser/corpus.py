"""Corpus search of a published model, recorded: what each head does on average on a sample that comes with the lab.

The model's own training text is never used: it may be private.
"""

import json
from typing import Any

from bertviz_lab.data.samples.corpus_texts import CORPORA, sample_texts, suited_corpus
from bertviz_lab.interpret.corpora.corpus_index import index_corpus
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.ui.views.corpus.view import head_answer

_TEXTS = 1000


def recorded_corpus(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return what the engine is asked of the heads of a model.

    `corpora` to choose from, [[name, title]]; `answers`, that of `heads` for each head, counted through all layers; the
    number of the `first` head that is shown; and the `metrics` of all heads by their names, for the axes of the map.
    """
    name = suited_corpus(checkpoint.tokenizer)
    index = index_corpus(checkpoint, sample_texts(name, _TEXTS), name=CORPORA[name], neurons=False)
    content = index.metrics["content"]
    places = [(layer, head) for layer in range(len(content)) for head in range(content.shape[1])]
    answers = [head_answer(index, checkpoint.tokenizer, (), *place) for place in places]
    return {
        "corpora": [[name, CORPORA[name]]],
        "first": int(content.argmax()),
        "answers": [{part: _plain(body) for part, body in answer.items()} for answer in answers],
        "metrics": {metric: values.tolist() for metric, values in index.metrics.items()},
    }


def _plain(part: Any) -> Any:
    return json.loads(part) if isinstance(part, str) else part
