"""The commands that show what a model makes of a text.

`fill-mask`, `next-sentence`, `attention`, `corpus-search`, `probe-layers`, `findings`, `influence` and `tokenize`.
"""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import bertviz_lab as lab
from bertviz_lab import strict_json
from bertviz_lab.cli.options import AddCommand
from bertviz_lab.cli.result import Result, notes_of, write_file
from bertviz_lab.errors import InputError


def add_commands(command: AddCommand) -> None:
    """Add the commands of this module."""
    fill = command("fill-mask", fill_mask_command)
    fill.add_argument("--top-k", type=int, default=5, help="Predictions for each masked token (default: 5)")
    fill.add_argument("text", help="A text with one or more masked tokens, [MASK]")

    next_sentence = command("next-sentence", next_sentence_command)
    next_sentence.add_argument("--text-a", required=True, help="Sentence A")
    next_sentence.add_argument("--text-b", required=True, help="Sentence B")

    attention = command("attention", attention_command)
    attention.add_argument("--text-a", required=True, help="Sentence A")
    attention.add_argument("--text-b", help="Sentence B")
    attention.add_argument("--out", required=True, help="File to write: .html, .png or .json")

    search = command("corpus-search", corpus_search_command)
    search.add_argument("--corpus", nargs="+", metavar="FILE", help="Texts; by default a sample that suits the model")
    search.add_argument("--texts", type=int, default=5000, help="Texts to index, up to 5,000 (default)")
    search.add_argument("--head", help="Print where a head attends most, such as 3.2: layer 3, head 2")
    search.add_argument("--neuron", help="Print where a feed-forward neuron fires, such as 2.517, and what it promotes")

    probes = command("probe-layers", probe_layers_command)
    asked = probes.add_mutually_exclusive_group()
    asked.add_argument("--task", default="pos", help="pos (default), number, subject, gender or entities")
    asked.add_argument("--data", metavar="FILE", help="Words with labels of your own, such as CoNLL")

    findings = command("findings", findings_command)
    findings.add_argument(
        "--text-a", required=True, help="Sentence A, with a masked token, [MASK], if one is predicted"
    )
    findings.add_argument("--text-b", help="Sentence B")
    findings.add_argument("--out", help="File to write, with the pictures: .html")

    tokenize = command("tokenize", tokenize_command)
    tokenize.add_argument("text", help="Sentence A")
    tokenize.add_argument("--text-b", help="Sentence B")

    influence = command("influence", influence_command)
    influence.add_argument("--top-k", type=int, default=10, help="Sentences of each ranking (default: 10)")
    influence.add_argument("--choice", help="Predicted token, by default the most probable")
    influence.add_argument("text", help="A text with a masked token, [MASK]")


def fill_mask_command(options: argparse.Namespace) -> Result:
    """Predict the masked tokens of a text."""
    checkpoint = lab.load_checkpoint(options.model)
    predictions = lab.interpret.fill_mask(checkpoint, options.text, options.top_k)
    lines = [
        f"{'[MASK]' if n == 0 else '':8} {c.probability:7.2%}  {c.token}"
        for mask in predictions.masks
        for n, c in enumerate(mask.candidates)
    ]
    body = {"tokens": predictions.encoding.tokens, "masks": [dataclasses.asdict(mask) for mask in predictions.masks]}
    return Result(body, "\n".join(lines), notes=notes_of(checkpoint.encoding_warning(predictions.encoding)))


def next_sentence_command(options: argparse.Namespace) -> Result:
    """Predict whether sentence B follows sentence A (NSP)."""
    checkpoint = lab.load_checkpoint(options.model)
    prediction = lab.interpret.next_sentence(checkpoint, options.text_a, options.text_b)
    notes = notes_of(checkpoint.encoding_warning(prediction.encoding))
    body = {"is_next": prediction.is_next, "is_random": prediction.is_random}
    text = f"B follows A: {prediction.is_next:.1%}; B comes from elsewhere: {prediction.is_random:.1%}"
    return Result(body, text, notes=notes)


def attention_command(options: argparse.Namespace) -> Result:
    """Write the attention weights of every head for a text as HTML, PNG or JSON."""
    from bertviz_lab.figures.attention import attention_document, attention_png

    path = Path(options.out)
    if path.suffix not in (".html", ".png", ".json"):
        raise InputError(f"--out must end in .html, .png or .json, not {path.name!r}.")
    checkpoint = lab.load_checkpoint(options.model)
    trace = lab.interpret.trace_text(checkpoint, options.text_a, options.text_b)
    notes = notes_of(checkpoint.encoding_warning(trace.encoding))
    title = f"{options.model}: {options.text_a}"
    if path.suffix == ".html":
        content = lab.show.attention(trace, title).page.encode()
    elif path.suffix == ".png":
        content = attention_png(trace.attentions, title)
    else:
        document = attention_document(trace.encoding, trace.attentions)
        content = strict_json.dumps(document, ensure_ascii=False).encode()
    write_file(path, content)
    layers, heads, tokens, _ = trace.attentions.shape
    body = {"path": str(path), "layers": layers, "heads": heads, "tokens": trace.tokens}
    return Result(body, f"{layers} x {heads} heads over {tokens} tokens, written to {path}", notes=notes)


def corpus_search_command(options: argparse.Namespace) -> Result:
    """Index a corpus: what each head does on average, and where a head or neuron does it most."""
    from bertviz_lab.data.corpora.read import read_documents
    from bertviz_lab.data.samples.corpus_texts import CORPORA, corpus_texts, sample_texts, suited_corpus
    from bertviz_lab.figures import corpus

    most = lab.interpret.MOST_TEXTS
    if not 1 <= options.texts <= most:
        raise InputError(f"--texts must lie between 1 and {most:,}, not {options.texts:,}.")
    checkpoint = lab.load_checkpoint(options.model)
    tokenizer = checkpoint.tokenizer
    if options.corpus:
        name, texts = ", ".join(options.corpus), corpus_texts(read_documents(options.corpus), options.texts)
    else:
        suited = suited_corpus(tokenizer)
        name, texts = CORPORA[suited], sample_texts(suited, options.texts)
    index = lab.interpret.index_corpus(checkpoint, texts, name=name, neurons=bool(options.neuron))
    layers, heads = index.metrics["content"].shape
    chosen: dict[str, Any] = {}
    text: list[str] = []
    if options.head:
        chosen = corpus.head_examples_body(index, tokenizer, *corpus.place_of(options.head, layers, heads))
        text = ["The strongest attention of each text:", *corpus.examples_text(chosen["strongest"])]
        for low, high, share, group in chosen["intervals"]:
            text += ["", f"{low} to {min(1, high):g}, {share:.0%} of tokens:", *corpus.examples_text(group)]
    if options.neuron:
        place = corpus.place_of(options.neuron, *index.neurons.shape[:2])
        chosen = corpus.neuron_examples_body(index, tokenizer, *place)
        text = [f"Active (above 0) at {chosen['active']:.0%} of tokens:", *corpus.examples_text(chosen["examples"])]
        if promoted := lab.interpret.promoted_tokens(checkpoint, index, *place):
            changes = {"promoted": promoted.promoted, "suppressed": promoted.suppressed}
            chosen |= changes
            for side, tokens in changes.items():
                text += ["", f"{side}: " + ", ".join(f"{token} {change:+.3f}" for token, change in tokens)]
    roles = lab.interpret.head_roles(index)
    metrics = {name: values.round(5).tolist() for name, values in index.metrics.items()}
    body = {"corpus": name, "texts": len(index.texts), "tokens": index.tokens, "roles": roles, "metrics": metrics}
    if chosen:
        return Result(body | {"found": chosen}, "\n".join(text))
    lines = [f"{len(index.texts):,} texts, {index.tokens:,} tokens: {name}", f"head {'role':16} {'  '.join(metrics)}"]
    for layer in range(layers):
        for head, role in enumerate(roles[layer]):
            values = [f"{of_heads[layer][head]:{len(name)}.2f}" for name, of_heads in metrics.items()]
            lines.append(f"{corpus.head_name(layer, head):4} {role or '-':16} {'  '.join(values)}")
    return Result(body, "\n".join(lines))


def probe_layers_command(options: argparse.Namespace) -> Result:
    """Read labels off each layer by linear probes, next to control labels and to random weights."""
    from bertviz_lab.data.probes.probing_tasks import PROBING_TASKS, sentences_of_file

    if options.task not in PROBING_TASKS:
        raise InputError(f"--task is one of {', '.join(PROBING_TASKS)}, not {options.task!r}.")
    sentences = sentences_of_file(options.data) if options.data else PROBING_TASKS[options.task].read()
    checkpoint = lab.load_checkpoint(options.model)
    models = (checkpoint, lab.interpret.untrained(checkpoint))
    probes, random = (lab.interpret.probe_layers(each, sentences) for each in models)
    columns = {
        "accuracy": probes.accuracy,
        "control": probes.control,
        "selectivity": probes.selectivity,
        "random_accuracy": random.accuracy,
        "random_selectivity": random.selectivity,
    }
    layers = [dict(zip(columns, map(float, row), strict=True)) for row in zip(*columns.values(), strict=True)]
    body = {"task": options.data or options.task, "labels": probes.labels, "layers": layers}
    body |= {
        "majority": probes.majority,
        "word_type": probes.by_type,
        "trained": probes.trained,
        "tested": probes.tested,
    }
    lines = [
        f"{body['task']}: {len(probes.labels)} labels, {probes.trained:,} words to train on, {probes.tested:,} held out"
        f"; the most frequent label is right for {probes.majority:.1%}, that of the word type for {probes.by_type:.1%}",
        f"{'layer':10} {'  '.join(columns)}",
    ]
    for at, layer in enumerate(layers):
        values = "  ".join(f"{value:{len(name)}.1%}" for name, value in layer.items())
        lines.append(f"{at or 'embeddings':<10} {values}")
    note = "What a probe reads need not be what the model uses (Belinkov 2022)."
    return Result(body, "\n".join(lines), notes=(note,))


def findings_command(options: argparse.Namespace) -> Result:
    """Explain one prediction in five sentences, each with what it does not show."""
    from bertviz_lab.data.samples.corpus_texts import CORPORA, sample_texts, suited_corpus
    from bertviz_lab.figures.findings import findings_payload, findings_text
    from bertviz_lab.training.checkpoints.checkpoint import checkpoint_folder

    checkpoint = lab.load_checkpoint(options.model)
    suited = suited_corpus(checkpoint.tokenizer)
    texts = sample_texts(suited, lab.interpret.MOST_TEXTS)
    index = lab.interpret.index_corpus(checkpoint, texts, name=CORPORA[suited], neurons=False, operations=5e11)
    tuned = lab.interpret.TunedLens.load(checkpoint_folder(options.model), checkpoint)
    report = lab.interpret.measure_findings(checkpoint, options.text_a, options.text_b, index=index, tuned=tuned)
    payload = findings_payload(report)
    if options.out:
        write_file(Path(options.out), lab.show.findings(report).page.encode())
    body = json.loads(payload)
    short = [{name: item[name] for name in ("sentence", "caveat")} for item in body["items"]]
    return Result({"title": body["title"], "text": body["sentence"], "findings": short}, findings_text(body))


def tokenize_command(options: argparse.Namespace) -> Result:
    """Tokenize a text: tokens, ids and segment ids."""
    from bertviz_lab.tokenization import Tokenizer
    from bertviz_lab.training.checkpoints.checkpoint import checkpoint_folder

    encoding = Tokenizer.load(checkpoint_folder(options.model)).encode(options.text, options.text_b)
    columns = zip(encoding.tokens, encoding.ids, encoding.token_type_ids, strict=True)
    lines = [f"{'token':20} {'id':>6} segment", *(f"{t:20} {i:6} {s:7}" for t, i, s in columns)]
    body = {"tokens": encoding.tokens, "ids": encoding.ids, "token_type_ids": encoding.token_type_ids}
    return Result(body | {"attention_mask": encoding.attention_mask, "offsets": encoding.offsets}, "\n".join(lines))


def influence_command(options: argparse.Namespace) -> Result:
    """Rank the training sentences that taught a prediction, by TracIn over snapshots and by BM25."""
    from bertviz_lab.training.checkpoints.checkpoint import checkpoint_folder
    from bertviz_lab.training.runs.snapshot_reader import open_snapshots
    from bertviz_lab.training.runs.training_text import read_training_text

    folder = Path(options.model) if (Path(options.model) / "snapshots").is_dir() else checkpoint_folder(options.model)
    snapshots = open_snapshots(folder)
    text = read_training_text(folder, snapshots.tokenizer)
    last = snapshots.open(snapshots.steps()[-1])
    inputs = lab.interpret.encode_inputs(last, options.text)
    target = lab.interpret.choose_target(last, inputs, choice=options.choice)
    ranking = lab.interpret.training_influence(
        snapshots.open,
        snapshots.steps(),
        text.sentences,
        options.text,
        counts=text.counts,
        learning_rate=text.learning_rate,
        target=target,
    )
    rankings = {
        "helpful": (ranking.helpful(options.top_k), ranking.tracin),
        "harmful": (ranking.harmful(options.top_k), ranking.tracin),
        "bm25": (ranking.nearest(options.top_k), ranking.bm25),
    }
    body = {"prediction": ranking.target.name, "snapshots": ranking.steps, "compared": len(ranking.sentences)} | {
        name: [{"sentence": ranking.sentences[at], "score": float(scores[at])} for at in places]
        for name, (places, scores) in rankings.items()
    }
    lines = [
        f"{name if n == 0 else '':8} {scores[at]:+10.3g}  {ranking.sentences[at]}"
        for name, (places, scores) in rankings.items()
        for n, at in enumerate(places)
    ]
    return Result(body, "\n".join([f"Prediction: {ranking.target.name}", *lines]))
