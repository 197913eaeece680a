"""Publish a model on the Hugging Face hub, its folder with the hub's metadata in its card, or its page; when asked.

Source of the metadata: huggingface.co/docs/hub/model-cards; `model-index` carries the scores that the card reports.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from bertviz_lab.errors import InputError
from bertviz_lab.metrics.names import NAMES
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, write_checkpoint
from bertviz_lab.training.checkpoints.onnx_export import FOLDER as ONNX

#: Scores of a card's tables -> the hub's names of metrics; others are not sent.
_METRICS = {name: name for name in ("accuracy", "f1", "exact_match", "mrr", "recall_at_10")}
_METRICS |= {"macro_f1": "f1_macro", "micro_f1": "f1_micro", "mcc": "matthews_correlation"}
_METRICS |= {"spearman": "spearmanr", "pearson": "pearsonr"}
_METRICS |= {"mlm_accuracy": "accuracy", "mlm_loss": "loss", "nsp_accuracy": "accuracy"}
#: The same by what cards call them; those of earlier runs have the names above.
_METRICS |= {NAMES[name]: metric for name, metric in _METRICS.items()}
#: What a page is sent to: a Space of static files, or the repository of a model.
RepoKind = Literal["space", "model"]
_PAGE = "Explore this model in your browser: nothing to install, and what you type stays with you. Made by BertViz Lab."
_VALUE = re.compile(r"(-?\d+\.\d+)(%?)")


@dataclass(frozen=True)
class Publication:
    """What is sent, or was sent, to the hub."""

    repo: str
    private: bool
    card: str
    bytes: Mapping[str, int]  # of each file
    url: str = ""  # where it is; "" where nothing was sent


def push_to_hub(
    checkpoint: Checkpoint, repo: str, *, private: bool = True, dry_run: bool = False, **metadata: Any
) -> Publication:
    """Upload a model to `repo` ("user/name"), which is made where there is none; `metadata` as in `card_for_hub`.

    With `dry_run` nothing is sent. The token is that of `hf auth login`, or of $HF_TOKEN. Raises `InputError` for a
    name that the hub does not take, without a token, and with what the hub answers.
    """
    check_name(repo)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_checkpoint(checkpoint, folder)
        source = checkpoint.path or folder
        for pattern in (f"{ONNX}/*.onnx*", "*.svg"):  # graphs, and the pictures of a card
            for path in sorted(source.glob(pattern)):
                copy = folder / path.relative_to(source)
                copy.parent.mkdir(exist_ok=True)
                copy.write_bytes(path.read_bytes())
        return _publish(folder, repo, card_for_hub(checkpoint, repo, **metadata), "model", private, dry_run)


def push_page(
    page: Path, repo: str, *, title: str, kind: RepoKind = "space", private: bool = True, dry_run: bool = False
) -> Publication:
    """Upload a published page, a folder, to a static Space, or as the folder `page` of a model's repository.

    Otherwise as `push_to_hub`. A Space gets a README that names its `title`.
    """
    check_name(repo)
    with tempfile.TemporaryDirectory() as place:
        card, folder = "", Path(place)
        shutil.copytree(page, folder if kind == "space" else folder / "page", dirs_exist_ok=True)
        if kind == "space":
            card = f"---\ntitle: {json.dumps(title)}\nsdk: static\n---\n\n# {title}\n\n{_PAGE}\n"
        return _publish(folder, repo, card, kind, private, dry_run)


def check_name(repo: str) -> None:
    """Raise `InputError` for a name that the hub does not take."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(repo)
    except HFValidationError as error:
        raise InputError(f"{repo!r} is no name of a model on the hub: {str(error).splitlines()[0]}") from None
    if "/" not in repo:
        raise InputError(f"Name the owner too, as in your-name/{repo}.")


def _publish(folder: Path, repo: str, card: str, kind: RepoKind, private: bool, dry_run: bool) -> Publication:
    """Upload a folder with its card, "" for none, to a repository, which is made where there is none."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    if card:
        (folder / "README.md").write_text(card, encoding="utf-8")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
    publication = Publication(repo, private, card, sizes)
    if dry_run:
        return publication
    api, sdk = HfApi(), "static" if kind == "space" else None
    try:
        api.create_repo(repo, repo_type=kind, private=private, space_sdk=sdk, exist_ok=True)
        message = "Upload of BertViz Lab"
        commit = api.upload_folder(repo_id=repo, repo_type=kind, folder_path=folder, commit_message=message)
    except OfflineModeIsEnabled:
        raise InputError("Nothing was sent: this process works offline (HF_HUB_OFFLINE).") from None
    except HfHubHTTPError as error:
        message = str(error.server_message or str(error).splitlines()[0])
        if getattr(error.response, "status_code", "") in (401, 403):
            message += " Log in with `hf auth login`, or set HF_TOKEN to a token that may write."
        raise InputError(f"The hub refused: {message}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"Nothing was sent: {str(error).splitlines()[0]}") from None
    except Exception as error:  # of the network; its text may quote a header, and with it the token
        raise InputError(f"The hub could not be reached ({type(error).__name__}).") from None
    return replace(publication, url=str(commit.commit_url))


def card_for_hub(
    checkpoint: Checkpoint,
    repo: str,
    *,
    license: str | None = None,
    language: Sequence[str] = (),
    datasets: Sequence[str] = (),
    base_model: str | None = None,
) -> str:
    """Return the model's card with the hub's metadata; `model-index` has the scores of the card's tables.

    What the card says already stays unless it is given. Raises `InputError` for metadata that the hub does not take.
    """
    from huggingface_hub import EvalResult, ModelCard

    text = checkpoint.card or f"# {repo.split('/')[-1]}\n"
    if not text.startswith("---"):
        text = f"---\nlibrary_name: transformers\n---\n\n{text}"
    try:
        card = ModelCard(text, ignore_metadata_errors=True)
        data: Any = card.data
        languages = language[0] if len(language) == 1 else list(language)
        given = {"license": license, "language": languages, "datasets": list(datasets), "base_model": base_model}
        for name, value in given.items():
            if value:
                setattr(data, name, value)
        data.library_name = "transformers"
        task = str(data.get("pipeline_tag") or "fill-mask")
        scores = scores_of(card.text)
        if scores:
            data.model_name = repo.split("/")[-1]
            data.eval_results = [
                EvalResult(
                    task_type=task,
                    dataset_type="custom",
                    dataset_name=heading,
                    dataset_config=heading,  # results of one type and configuration are taken together
                    metric_type=_METRICS[name],
                    metric_name=name,
                    metric_value=value,
                )
                for heading, rows in scores.items()
                for name, value in rows.items()
            ]
        return str(card)
    except (ValueError, TypeError) as error:
        raise InputError(f"The card cannot have this metadata: {str(error).splitlines()[0]}") from None


def scores_of(card: str) -> dict[str, dict[str, float]]:
    """Return the measured values in the tables of a card, by data set, of metrics that the hub knows.

    A table has a metric in each row ("| score | value |") or a data set in each row ("| text | MLM loss (nats) |").
    """
    scores: dict[str, dict[str, float]] = {}
    for section in re.split(r"^## ", card, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        if "scores" not in heading.lower():
            continue
        for table in re.findall(r"(?:^\|.*\n?)+", body, flags=re.MULTILINE):
            head, *rows = ([cell.strip() for cell in line.strip("| ").split("|")] for line in table.splitlines())
            for first, *values in rows:
                for column, value in zip(head[1:], values, strict=False):
                    metric, data = (first, column) if head[0] == "score" else (column, first)
                    number = _VALUE.match(value)
                    if metric in _METRICS and number:
                        data = re.sub(r"^.*?scores( on )?", "", heading, flags=re.I) if data == "value" else data
                        share = float(number[1]) / 100 if number[2] else float(number[1])
                        scores.setdefault(data or heading, {})[metric] = share
    return scores
