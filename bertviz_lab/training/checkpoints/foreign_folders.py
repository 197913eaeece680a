"""Folders that hold a model in a form that is not opened: what each is, and the command that turns it into one."""

import re
import tomllib
from pathlib import Path

from bertviz_lab.errors import InputError
from bertviz_lab.model.weights import read_tensors
from bertviz_lab.tokenization.tokenizer_files import holds_tokenizer
from bertviz_lab.training.checkpoints.atomic_io import read_object

#: File -> what it makes of its folder, and the command; the file with the highest number where there are several.
_FORMS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_TASKS = {"SEQ_CLS": "ForSequenceClassification", "TOKEN_CLS": "ForTokenClassification"}
_TASKS |= {"QUESTION_ANS": "ForQuestionAnswering", "FEATURE_EXTRACTION": "ForFeatureExtraction"}


def refuse_foreign(folder: Path) -> None:
    """Raise `InputError`, with the command that helps, for a folder that holds a model in another form."""
    weights = (*folder.glob("model*.safetensors*"), *folder.glob("pytorch_model*.bin*"))
    if (folder / "config.json").is_file() and weights:
        return
    for pattern, form in _FORMS.items():
        files = [path for path in folder.glob(pattern) if re.fullmatch(r"[\w.=+-]+", path.name)]
        if files := sorted(files, key=lambda path: [*map(int, re.findall(r"\d+", path.name))]):
            command = form["command"].format(folder=folder, file=files[-1], **_values(folder))
            raise InputError(f"{folder} holds {form['what']}: {command}")


def _values(folder: Path) -> dict[str, str]:
    """Return what commands name, from the folder's files: nothing of these that could be more than a name."""

    def named(file: str, key: str, default: str) -> str:
        value = re.search(r"[\w./-]+", str(read_object(folder / file).get(key) or ""))
        return value[0] if value else default

    shapes = read_tensors(folder.glob("adapter_model.safetensors"), shapes_only=True)
    heads = [shapes[name].shape for name in shapes if re.search(r"classifier(\.out_proj)?\.weight$", name)]
    base = named("adapter_config.json", "base_model_name_or_path", "BASE_MODEL")
    return {
        "kind": named("config.json", "architectures", "AutoModelForPreTraining"),
        "task": _TASKS.get(named("adapter_config.json", "task_type", ""), ""),
        "labels": f", num_labels={heads[0][0]}" if heads and heads[0] else "",
        "tokenizer": str(folder) if holds_tokenizer(folder) else base,
    }
