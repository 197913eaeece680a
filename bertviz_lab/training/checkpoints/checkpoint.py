"""A checkpoint is a Hugging Face folder: config.json, model.safetensors, tokenizer files and a card."""

import json
import math
import re
import shutil
import warnings
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from bertviz_lab import model as models
from bertviz_lab.config import SHIPPED, BertConfig, shipped_models
from bertviz_lab.config.limits import QuestionLimits, words_of
from bertviz_lab.data.corpora.reading_notes import pluralized
from bertviz_lab.errors import InputError
from bertviz_lab.model import weights
from bertviz_lab.model.weight_names import place_of
from bertviz_lab.tokenization import Encoding, Tokenizer
from bertviz_lab.tokenization.tokenizer import TOKENIZER_FILES
from bertviz_lab.training.checkpoints.atomic_io import atomic_folder, read_object
from bertviz_lab.training.checkpoints.foreign_folders import refuse_foreign
from bertviz_lab.training.checkpoints.pickled_weights import safetensors_of
from bertviz_lab.training.checkpoints.sentence_transformers_files import (
    LENGTH_FILE,
    Pooling,
    read_sentence_modules,
    write_sentence_transformers_files,
)

#: Models with a head for a task.
TASK_MODELS = (models.BertForSequenceClassification, models.BertForTokenClassification, models.BertForQuestionAnswering)

HUB_FILES = [
    *("config.json", "modules.json", "[0-9]_*/config.json", "sentence_bert_config.json", "adapter_config.json"),
    *("README.md", *TOKENIZER_FILES),
]
SAFETENSORS = ["*.safetensors", "*.safetensors.index.json"]
PICKLES = ["pytorch_model*.bin", "pytorch_model.bin.index.json"]
_MODEL_FILES = [*HUB_FILES, *SAFETENSORS, *PICKLES, "*_config.json", "config_*.json", "[0-9]_*", "onnx"]


@dataclass(frozen=True)
class Checkpoint:
    """A model with everything needed to use it."""

    model: nn.Module  # in evaluation mode
    tokenizer: Tokenizer
    config: BertConfig
    card: str = ""  # README.md: what it was trained on, how, and how well it does
    name: str = ""
    path: Path | None = None
    report: weights.LoadReport = field(default_factory=weights.LoadReport)  # tensors that were missing or left over
    #: Tokens of the longest inputs that it was trained on, None where unknown: the tokenizer's `model_max_length`.
    #: The position embeddings may be more; those beyond it are as they were initialized.
    trained_length: int | None = None
    pooling: Pooling | None = None  # how a sentence-transformers model makes one vector of a text's
    normalize: bool = False  # whether such a model divides that vector by its length
    unsupported_modules: str = ""  # what else such a model does to it; without that its vectors would be wrong
    limits: QuestionLimits = field(default_factory=QuestionLimits)  # of a page that others use too

    @property
    def max_length(self) -> int:
        """Tokens that a text is truncated to: the trained length of a model for a task, else its positions."""
        has_task = isinstance(self.model, TASK_MODELS) or self.pooling is not None
        longest = self.known_length if has_task else self.config.max_position_embeddings
        return int(min(longest, self.limits.tokens))

    @property
    def known_length(self) -> int:
        """Tokens of the longest inputs that it was trained on, where that is unknown all that it has positions for."""
        positions = self.config.max_position_embeddings
        return min(self.trained_length or positions, positions)

    def encoding_warning(self, encoding: Encoding) -> str:
        """Return a sentence for a text that was cut, is longer than the model was trained on, or has unknown words.

        The first that applies; "" for any other text.
        """
        name, unknown = self.name or "This model", self.tokenizer.token(self.tokenizer.unk_id)
        if encoding.dropped:
            reads = f"{name} reads up to {len(encoding):,} tokens"
            return f"{reads} and this text has {encoding.dropped:,} more, which are cut off."
        if warning := self.length_warning(len(encoding)):
            return warning
        words = sum(
            token == unknown and not added
            for token, added in zip(encoding.tokens, encoding.special_tokens_mask, strict=True)
        )
        if not words:
            return ""
        has = pluralized(words, "word<s>")
        return f"The vocabulary of {name} cannot represent {has} of this text: the model reads {unknown} there."

    def length_warning(self, tokens: int) -> str:
        """Return a sentence for an input of more tokens than the model was trained on; "" for any other."""
        name, trained = self.name or "This model", self.trained_length
        if trained is None or tokens <= trained:
            return ""
        unreliable = "its output is unreliable beyond that length"
        return f"{name} was trained on up to {trained} tokens and this input has {tokens}: {unreliable}."

    @property
    def random_head(self) -> str:
        """A sentence for a head whose weights are in no file, so that it predicts at random; "" for any other."""
        missing = self.report.missing
        unknown = [name for name in self.report.unexpected if not name.startswith("pooler.")]
        if not missing or self.kind == "BertModel":
            return ""
        others = f" and have {unknown[0]}, which that class does not know" if unknown else ""
        lacks = f"its files lack {missing[0]} of {self.architecture}{others}"
        return f"{self.name or 'This model'} predicts at random: {lacks}."

    @property
    def kind(self) -> str:
        """The lab's class, whatever the family: `BertForMaskedLM`."""
        return type(self.model).__name__

    @property
    def architecture(self) -> str:
        """The class in transformers: `RobertaForMaskedLM`."""
        return self.config.family.class_name(self.kind)


def model_name(source: str) -> str:
    """Return a shipped name or hub id as it is; of a folder its own name, or the run's whose folder `model` it is.

    Where a folder lies is private, and so is the end of a run's id: who knows it may query the model on a shared page.
    """
    path = Path(source)
    if re.fullmatch(r"[\w.-]+/[\w.-]+", source) and not path.exists():
        return source
    return re.sub(r"-[0-9a-f]{16}$", "", (path.parent.name if path.name == "model" else "") or path.name)


def load_checkpoint(
    source: str | Path, *, download: bool = True, most_bytes: float = math.inf, quiet: bool = False
) -> Checkpoint:
    """Open a model: its folder or a run's, the name of a shipped one, or a Hugging Face hub id (downloaded once).

    The model is fp32, on the CPU and in evaluation mode. Raises `InputError` with what is missing or wrong, and for a
    model of more than `most_bytes`, before it takes memory for any of it. Warns of a head that is random because
    its weights are missing, unless `quiet`.
    """
    folder = checkpoint_folder(str(source), download)
    refuse_foreign(folder)
    body = _read_config(folder)
    config = BertConfig.from_dict(body)
    tokenizer = Tokenizer.load(folder)
    if tokenizer.vocab_size > config.vocab_size:
        known = f"The tokenizer in {folder.name} knows {tokenizer.vocab_size} tokens"
        raise InputError(f"{known} but the model has {config.vocab_size} embeddings.")
    with safetensors_of(folder) as files:
        shapes = weights.normalize_names(weights.read_tensors(files, shapes_only=True), config.model_type)
        kind = architecture_of(body, shapes, config)
        report = _fit(kind, config, shapes, folder.name, most_bytes)
        # Missing tensors are initialized from a generator of their own: always the same, and without side effects.
        model = kind(config, generator=torch.Generator().manual_seed(0))
        weights.load_state(model, weights.read_tensors(files, leave_out=report.unexpected))
    card = folder / "README.md"
    checkpoint = Checkpoint(
        model=model.eval(),
        tokenizer=tokenizer,
        config=config,
        card=card.read_text(encoding="utf-8", errors="replace") if card.is_file() else "",
        name=model_name(str(source)),
        path=folder,
        report=report,
        trained_length=read_trained_length(folder, config),
        **vars(read_sentence_modules(folder)),
    )
    if checkpoint.random_head and not quiet:
        warnings.warn(checkpoint.random_head, stacklevel=2)
    return checkpoint


def save_checkpoint(checkpoint: Checkpoint, folder: str | Path) -> Path:
    """Write a Hugging Face folder atomically: it replaces `folder` only when every file is on disk.

    Of a model that is there, files that are no part of it stay, such as a repository's `.git`. Raises `InputError`
    where `folder` holds something other than a model.
    """
    folder = Path(folder)
    if folder.exists() and not (folder.is_dir() and (_is_model(folder) or not any(folder.iterdir()))):
        raise InputError(f"{folder} holds something other than a model; name a new folder.")
    with atomic_folder(folder) as fresh:
        write_checkpoint(checkpoint, fresh)
        for path in folder.glob("*"):
            if not any(fnmatch(path.name, pattern) for pattern in _MODEL_FILES):
                copy = partial(shutil.copytree, symlinks=True) if path.is_dir() else shutil.copy2
                copy(path, fresh / path.name)
    return folder


def write_checkpoint(checkpoint: Checkpoint, folder: Path) -> None:
    """Write the files of a model into an existing folder."""
    body = {"architectures": [checkpoint.architecture], **checkpoint.config.to_dict(), "dtype": "float32"}
    if checkpoint.config.model_type == "modernbert":  # unlike other families it has them in config.json
        body |= {"cls_token_id": checkpoint.tokenizer.cls_id, "sep_token_id": checkpoint.tokenizer.sep_id}
    (folder / "config.json").write_text(json.dumps(body, indent=2), encoding="utf-8")
    weights.write_tensors(weights.state_for_huggingface(checkpoint.model), folder / "model.safetensors")
    length = checkpoint.known_length
    checkpoint.tokenizer.save(folder, max_length=length, token_types=checkpoint.config.has_segments)
    if checkpoint.pooling:
        width, normalize = checkpoint.config.hidden_size, checkpoint.normalize
        write_sentence_transformers_files(folder, checkpoint.pooling, width, length, normalize=normalize)
    if checkpoint.card:
        (folder / "README.md").write_text(checkpoint.card, encoding="utf-8")


def _is_model(folder: Path) -> bool:
    return (folder / "config.json").is_file() and any(folder.glob("model*.safetensors"))


def checkpoint_folder(source: str, download: bool = True) -> Path:
    """Return where the files of a model are, of a run those of its newest; `source` as for `load_checkpoint`."""
    if not source.strip():
        raise InputError("Name a model: a folder, a shipped model, or a Hugging Face hub id.")
    folder = Path(source)
    try:
        folder = folder.expanduser()
        if folder.is_dir():
            of_run = folder / "model"
            return of_run if (of_run / "config.json").is_file() and not _is_model(folder) else folder
    except (OSError, RuntimeError, ValueError) as error:  # too long for a path, no such home, a null byte
        raise InputError(f"There is no model {source[:80]!r}.") from error
    if source in shipped_models():
        return SHIPPED / source
    if re.fullmatch(r"[\w.-]+(/[\w.-]+)?", source) and ".." not in source and not folder.exists():
        return hub_folder(source, download)
    raise InputError(f"There is no model folder {source[:200]!r}.")


def hub_folder(repo: str, download: bool = True, *, token: bool | None = None, revision: str | None = None) -> Path:
    """Return the folder of a hub model in the local cache, downloaded if it is not there and this machine is online.

    `token=False` keeps this user's Hugging Face token back: for a model that somebody else asks for. `revision` is a
    commit of the hub, the newest where it is None.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        options: dict = {"local_files_only": not download, "token": token, "revision": revision}
        folder = Path(snapshot_download(repo, allow_patterns=HUB_FILES + SAFETENSORS, **options))
        if not any(folder.glob("*.safetensors")):  # only then, because many repositories hold both
            folder = Path(snapshot_download(repo, allow_patterns=HUB_FILES + PICKLES, **options))
        return folder
    except HFValidationError as error:
        raise InputError(f"There is no model {repo!r}.") from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        missing = f"There is no folder or shipped model {repo!r}, and it could not be fetched from the hub"
        raise InputError(f"{missing}; shipped models are {', '.join(shipped_models()) or 'none'}.") from error


def read_trained_length(folder: Path, config: BertConfig) -> int | None:
    """Return the tokens that texts are truncated to, at most the position embeddings; None where no file says so.

    Of sentence embeddings it is `max_seq_length`, else `model_max_length` of the tokenizer, for which `transformers`
    writes 1e30 where there is no limit.
    """
    for file, name in ((LENGTH_FILE, "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        length = read_object(folder / file).get(name)
        if isinstance(length, int) and 8 <= length <= 1_000_000:
            return min(length, config.max_position_embeddings)
    return None


def _read_config(folder: Path) -> dict:
    path = folder / "config.json"
    if not path.is_file():
        raise InputError(f"The checkpoint {folder} lacks config.json.")
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"config.json in {folder} is not valid JSON: {error}.") from error
    if not isinstance(body, dict):
        raise InputError(f"config.json in {folder} does not hold a configuration.")
    return body


def _fit(kind: type, config: BertConfig, shapes: dict[str, Tensor], name: str, most_bytes: float) -> weights.LoadReport:
    """Return how the shapes in the files meet those of the model, found on the meta device. Raises `InputError`."""
    with torch.device("meta"):
        outline = kind(config)
    report = weights.load_state(outline, shapes)
    if report.missing_backbone:
        first, more = ", ".join(report.missing[:3]), len(report.missing) - 3
        raise InputError(f"The weights in {name} lack {first}{f' and {more} more' if more > 0 else ''}.")
    size = 4 * parameter_count(outline)
    if size > most_bytes:
        has, most = words_of("bytes", size), words_of("bytes", most_bytes)
        raise InputError(f"{name[:80]} has {has} of weights in 32 bits; this page opens models of up to {most}.")
    return report


def parameter_count(model: nn.Module) -> int:
    """Return the number of parameters; tied ones count once."""
    return sum(p.numel() for p in model.parameters())


#: The lab's classes by name; `Family.class_name` has that of transformers.
ARCHITECTURES: dict[str, type] = {
    name: kind for name, kind in vars(models).items() if name.startswith("BertFor") or name == "BertModel"
}


def architecture_of(body: dict, state: dict[str, Tensor], config: BertConfig) -> type:
    """Return the class with every head that the weights have; published models name one head and hold two."""
    family = config.family

    def has(name: str) -> bool:
        return place_of(name, family.model_type).name in state

    mlm, pairs = has("mlm.bias"), family.pretraining in ("nsp", "sop") and has("nsp.weight")
    if mlm or (pairs and config.has_nsp):
        named = "PreTraining" if mlm and pairs else "MaskedLM" if mlm else "NextSentencePrediction"
        return ARCHITECTURES[f"BertFor{named}"]
    if family.pretraining == "rtd" and has("detector.output.weight"):
        return ARCHITECTURES["BertForReplacedTokenDetection"]
    named = (body.get("architectures") or [family.class_name("BertModel")])[0]
    kind = family.kind_name(str(named))
    if kind is None:
        known = [family.class_name(name) for name in ARCHITECTURES if family.kind_name(family.class_name(name)) == name]
        raise InputError(f"The lab cannot open a {named}; of {family.title} it opens {', '.join(known)}.")
    return ARCHITECTURES[kind]
