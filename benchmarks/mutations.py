"""Break the package in sixty places, one at a time, and count how many of the breaks the tests catch.

    python -m benchmarks.mutations [--tree DIR] [--only NAME] [--keep]

Each mutation is found by its code, wherever the file has moved, in a copy of the tree; its tests run until the first
failure. A mutation whose code is gone, or is there twice, is reported as stale: write it again. Results are written
after each mutation, so that an interrupted run continues.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "mutations.json"
_SECONDS = 240  # of one mutation's tests


@dataclass(frozen=True)
class Mutation:
    """One break: code that occurs once in the package, what replaces it, and the tests that should fail.

    `tests` are files and folders below `tests/`; those of another version of the tree may be listed too.
    """

    name: str
    code: str
    replacement: str
    tests: tuple[str, ...]


def _m(name: str, code: str, replacement: str, *tests: str) -> Mutation:
    return Mutation(name, code, replacement, tests)


MUTATIONS = (
    # model
    _m(
        "scale of scores", "math.sqrt(q_BHQK.shape[-1])) @", "math.sqrt(k_BHLK.shape[-2])) @", "model/test_attention.py"
    ),
    _m("mask inverted", "masked_fill(~attn_mask,", "masked_fill(attn_mask,", "model/test_attention.py"),
    _m("softmax over queries", "scores_BHQL.softmax(dim=-1)", "scores_BHQL.softmax(dim=-2)", "model/test_attention.py"),
    _m("causal triangle", "device=device).tril()", "device=device).triu()", "model/test_attention.py"),
    _m(
        "labels of -100 counted",
        "(labels != IGNORE_INDEX).sum().clamp(min=1)",
        "labels.numel()",
        "model/test_losses.py",
    ),
    _m(
        "gradient at the label",
        "scatter_add_(-1, label, -weight)",
        "scatter_add_(-1, label, weight)",
        "model/test_losses.py",
    ),
    _m(
        "span loss unaveraged",
        "cross_entropy(end_logits, ends)) / 2",
        "cross_entropy(end_logits, ends))",
        "model/test_families.py",
        "model/test_losses.py",
        "model/test_heads.py",
    ),
    _m(
        "biases start at 1",
        "nn.init.zeros_(bias)",
        "nn.init.ones_(bias)",
        "model/test_attention.py",
        "model/test_weights.py",
        "model/test_bert.py",
    ),
    _m("head mask ignored", "context_BHQK * head_mask_H[..., None, None]", "context_BHQK", "model/test_attention.py"),
    # tokenization
    _m(
        "truncate A only",
        "length_a - excess // 2, length_b - (excess - excess // 2)",
        "length_a - excess, length_b",
        "tokenization/test_tokenizer.py",
        "tokenization/test_encoding.py",
    ),
    _m(
        "word of a token",
        "(self.token_type_ids[position], self.word_ids[position])",
        "self.word_ids[position]",
        "tokenization/test_tokenizer.py",
        "tokenization/test_encoding.py",
    ),
    # pretraining data
    _m(
        "80% becomes 70%",
        "mask_share: float = 0.8\n    random_share: float = 0.1\n    whole",
        "mask_share: float = 0.7\n    random_share: float = 0.1\n    whole",
        "data/pretraining/test_masking.py",
    ),
    _m(
        "specials are masked",
        "candidates = real & ~rule.special[ids]",
        "candidates = real",
        "data/pretraining/test_masking.py",
    ),
    _m(
        "padding is masked",
        "real = np.arange(ids.shape[1]) < lengths[:, None]\n    candidates",
        "real = np.ones(ids.shape, dtype=bool)\n    candidates",
        "data/pretraining/test_masking.py",
    ),
    _m(
        "two draws give 9%",
        "replaced = chosen & ~masked & (draw < rule.mask_share + rule.random_share)",
        "replaced = chosen & ~masked & (rng.random(ids.shape) < rule.random_share / 2)",
        "data/pretraining/test_masking.py",
    ),
    _m(
        "at least no prediction",
        "np.maximum(1, np.rint(shares * lengths))",
        "np.maximum(0, np.rint(shares * lengths))",
        "data/pretraining/test_masking.py",
    ),
    _m("B from the same document", "other += other >= index", "other += 0", "data/pretraining/test_sentence_pairs.py"),
    _m(
        "labels of pairs swapped",
        "IS_NEXT, IS_RANDOM, NO_LABEL = 0, 1, -100",
        "IS_NEXT, IS_RANDOM, NO_LABEL = 1, 0, -100",
        "data/pretraining/test_sentence_pairs.py",
    ),
    _m(
        "unused sentences lost",
        "last = first + a_sentences - 1",
        "last = last",
        "data/pretraining/test_sentence_pairs.py",
    ),
    _m(
        "truncate at the front only",
        "a[0] + front_a, a[1] - (cut_a - front_a)",
        "a[0] + cut_a, a[1]",
        "data/pretraining/test_sentence_pairs.py",
    ),
    _m(
        "segment of [SEP]",
        "((columns > a_end) & (columns < lengths[:, None]))",
        "((columns >= a_end) & (columns < lengths[:, None]))",
        "data/pretraining/test_batches.py",
    ),
    _m(
        "an epoch like the last",
        "return np.random.default_rng((self.seed, version, stream))",
        "return np.random.default_rng((self.seed, stream))",
        "data/pretraining/test_batches.py",
    ),
    _m(
        "held-out text is trained on",
        "np.setdiff1d(np.arange(corpus.documents), held_out)",
        "np.arange(corpus.documents)",
        "data/pretraining/test_split.py",
    ),
    _m("SOP never swaps", "swapped = rng.random() < 0.5", "swapped = False", "data/pretraining/test_sentence_pairs.py"),
    # labeled data
    _m(
        "label of every subword",
        "targets[-1][word_starts[-1]] = [label for _, label in words]",
        "targets[-1][1:-1] = words[0][1]",
        "data/tasks/test_features.py",
    ),
    _m(
        "answer half in a window",
        "window_range.first <= answer[0] and answer[1] < window_range.end",
        "window_range.first <= answer[0]",
        "data/tasks/test_qa_windows.py",
    ),
    _m(
        "windows without overlap",
        "firsts[-1] + capacity - stride",
        "firsts[-1] + capacity",
        "data/tasks/test_qa_windows.py",
    ),
    _m(
        "max context reversed",
        "(in_earlier >= in_later).sum(axis=1)",
        "(in_earlier < in_later).sum(axis=1)",
        "data/tasks/test_qa_windows.py",
        "data/tasks/test_answer_spans.py",
    ),
    _m(
        "null score is the maximum",
        "null_score = float(min(",
        "null_score = float(max(",
        "data/tasks/test_answer_spans.py",
    ),
    _m(
        "answer token off by one",
        "key=lambda span: span[0]) - 1",
        "key=lambda span: span[0])",
        "data/tasks/test_qa_windows.py",
        "data/tasks/test_answer_spans.py",
    ),
    # training
    _m(
        "no warm-up",
        "return progress / warmup",
        "return 1.0",
        "training/loop/test_optim.py",
        "training/loop/test_schedule.py",
    ),
    _m(
        "decay to one half",
        "max(0.0, (1.0 - progress) / (1.0 - warmup))",
        "max(0.5, (1.0 - progress) / (1.0 - warmup))",
        "training/loop/test_optim.py",
        "training/loop/test_schedule.py",
    ),
    _m(
        "biases decay",
        'if id(p) not in decayed], "weight_decay": 0.0}',
        'if id(p) not in decayed], "weight_decay": weight_decay}',
        "training/loop/test_optim.py",
    ),
    _m("beta2 ignored", "betas=(0.9, settings.adam_beta2)", "betas=(0.9, 0.999)", "training/loop/test_optim.py"),
    _m(
        "layer decay reversed",
        "settings.layerwise_lr_decay ** (layers + 1 - depth)",
        "settings.layerwise_lr_decay**depth",
        "training/loop/test_optim.py",
    ),
    _m(
        "micro-batches overlap",
        "value[index::parts] for name",
        "value[index:] for name",
        "training/loop/test_loop.py",
        "data/pretraining/test_batches.py",
    ),
    _m(
        "checksums not compared",
        'if _sha256(path) != expected["sha256"]',
        'if not expected["sha256"]',
        "training/checkpoints/test_checkpoint_manager.py",
    ),
    _m("all checkpoints kept", "intact[-self.keep :]", "intact", "training/checkpoints/test_checkpoint_manager.py"),
    _m(
        "damaged is newest",
        "            if not reason:\n                return SavedCheckpoint",
        "            if reason:\n                return SavedCheckpoint",
        "training/checkpoints/test_checkpoint_manager.py",
    ),
    _m("formula in a cell", '_FORMULA.sub("\'", cell)', "cell", "training/finetuning/test_predict.py"),
    # metrics
    _m(
        "F1 without the two",
        "2 * true_positives / max(1, predicted + true)",
        "true_positives / max(1, predicted + true)",
        "metrics",
    ),
    _m("I- never begins an entity", 'prefix != "O" and not kind', 'prefix in "BS" and not kind', "metrics"),
    _m("articles count", 'r"\\b(a|an|the)\\b"', 'r"\\b(an|the)\\b"', "metrics"),
    _m(
        "calibration bins",
        "np.digitize(confidence, edges, right=True) - 1",
        "np.digitize(confidence, edges, right=False) - 2",
        "metrics",
    ),
    _m("threshold from below", "if refusal > threshold:", "if refusal < threshold:", "metrics"),
    _m(
        "subset accuracy of any",
        "(truth == predicted).all(axis=1).mean()",
        "(truth == predicted).any(axis=1).mean()",
        "metrics",
    ),
    # interpret
    _m(
        "ablation's sign",
        "return self.baseline - self.without_head",
        "return self.without_head - self.baseline",
        "interpret/attention/test_trace.py",
    ),
    _m(
        "ablates the others",
        "head_masks_NLH[:heads, layer] -= torch.eye(heads)",
        "head_masks_NLH[:heads, layer] = torch.eye(heads)",
        "interpret/attention/test_trace.py",
    ),
    _m(
        "word's later pieces seen",
        "encoding.word_at(position) if at >= position",
        "encoding.word_at(position) if at == position",
        "interpret/predictions/test_minimal_pairs.py",
    ),
    _m(
        "perplexity of the sum",
        "np.exp(-np.nanmean(self.log_probabilities))",
        "np.exp(-np.nansum(self.log_probabilities))",
        "interpret/predictions/test_minimal_pairs.py",
    ),
    # jobs, confinement, server
    _m(
        "workers outlive the server",
        "orphaned = os.getppid() != parent or not psutil.pid_exists(parent)",
        "orphaned = False",
        "jobs/test_retention.py",
        "jobs/test_runs.py",
    ),
    _m(
        "old runs stay",
        "now - states[run_id].updated > limits.run_age",
        "now - states[run_id].updated > 10**12",
        "jobs/test_retention.py",
    ),
    _m(
        "foreign origin accepted",
        "_without_port(authority) == _without_port(public_host(headers))",
        "bool(authority)",
        "ui/guard",
    ),
    _m(
        "cross-site accepted",
        'not in ("same-origin", "none"):\n        return False',
        'not in ("same-origin", "none"):\n        return True',
        "ui/guard",
    ),
    _m("any host is known", "return bool(name) and ((self._shared", "return True or ((self._shared", "ui/guard"),
    _m("websockets accepted", '{"type": "websocket.close", "code": 1008}', '{"type": "websocket.accept"}', "ui/guard"),
    _m(
        "unknown arguments pass",
        "unknown = arguments.keys() - self.arguments",
        "unknown = set()",
        "ui/server/test_questions.py",
    ),
    _m("visitor from the browser", '- {"visitor"}, arrays', ", arrays", "ui/server/test_questions.py"),
    # configuration and command line
    _m("bounds unchecked", "not low <= value <= high", "False", "test_config.py"),
    _m("minutes are seconds", '"m": 60.0', '"m": 1.0', "test_config.py"),
    _m("bad input exits 0", "_BAD_INPUT = 2", "_BAD_INPUT = 0", "test_command_line.py"),
    _m(
        "base has 11 layers",
        '"base": (12, 768, 12)',
        '"base": (11, 768, 12)',
        "model/test_bert.py",
        "model/test_heads.py",
    ),
)


def run(tree: Path, mutations: tuple[Mutation, ...], results: Path) -> dict[str, str]:
    """Return by name "caught", "missed", "slow" or "stale" of each mutation, as far as known from earlier runs too."""
    outcomes: dict[str, str] = json.loads(results.read_text(encoding="utf-8")) if results.is_file() else {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "lab" / "tree"
        _copy(tree, copy)
        for mutation in mutations:
            if outcomes.get(mutation.name, "stale") in ("stale", "slow"):
                outcomes[mutation.name] = _try(copy, mutation)
                print(f"{outcomes[mutation.name]:>7}  {mutation.name}", flush=True)
                results.write_text(json.dumps(outcomes, indent=2) + "\n", encoding="utf-8")
    return outcomes


def _copy(tree: Path, copy: Path) -> None:
    """Copy what tests need; the models, which no mutation changes, are links."""
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", "checkpoints", ".*_cache", "runs")
    shutil.copytree(tree, copy, ignore=lambda path, names: ignored(path, names) if Path(path) == tree else [])
    (copy / "checkpoints").symlink_to(tree / "checkpoints")
    if (shared := tree.resolve().parent / "shared").is_dir():
        (copy.parent / "shared").symlink_to(shared)


def _try(copy: Path, mutation: Mutation) -> str:
    files = sorted((copy / "bertviz_lab").rglob("*.py"))
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    places = [path for path, text in texts.items() if mutation.code in text]
    tests = [f"tests/{name}" for name in mutation.tests if (copy / "tests" / name).exists()]
    if len(places) != 1 or not tests:
        return "stale"
    (place,) = places
    place.write_text(texts[place].replace(mutation.code, mutation.replacement), encoding="utf-8")
    try:
        options = "-x -q -p no:cacheprovider --hypothesis-profile quick".split()
        command = [sys.executable, "-m", "pytest", *options]
        environment = {**os.environ, "PYTHONPATH": str(copy), "HF_HUB_OFFLINE": "1"}
        selected = ["-m", "not browser and not thorough", *tests]
        done = subprocess.run(
            [*command, *selected], cwd=copy, env=environment, capture_output=True, timeout=_SECONDS, check=False
        )
        return {0: "missed", 1: "caught", 2: "caught"}.get(done.returncode, "stale")
    except subprocess.TimeoutExpired:
        return "slow"
    finally:
        place.write_text(texts[place], encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=ROOT, help="checkout to break (default: this one)")
    parser.add_argument("--only", default="", help="run the mutations whose names contain this text")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file that the outcomes are written to")
    options = parser.parse_args()
    chosen = tuple(mutation for mutation in MUTATIONS if options.only in mutation.name)
    outcomes = run(options.tree.resolve(), chosen, options.results)
    caught = sum(outcomes[mutation.name] == "caught" for mutation in chosen)
    print(f"{caught} of {len(chosen)} caught")


if __name__ == "__main__":
    main()
