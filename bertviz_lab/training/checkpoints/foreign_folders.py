"""Folders that hold a model in a form that is not opened: what each is, and the command that turns it into one."""

import re
from pathlib import Path

from bertviz_lab.errors import InputError
from bertviz_lab.model.weights import read_tensors
from bertviz_lab.tokenization.tokenizer_files import holds_tokenizer
from bertviz_lab.training.checkpoints.sentence_transformers_files import read_json

_CONVERT = "python -c \"from transformers import {kind} as M; M.from_pretrained('{folder}', {option}=True)"
_CONVERT += ".save_pretrained('{folder}')\""
_PICKLED = (
    "weights under another name; save them as pytorch_model.bin",
    "python -c \"import torch; s = torch.load('{file}', map_location='cpu'); "
    "torch.save(s.get('state_dict', s.get('model_state_dict', s)), '{folder}/pytorch_model.bin')\"",
)
#: File -> what it makes of its folder, and the command; the file with the highest number where there are several.
_FORMS = {
    "adapter_config.json": (
        "a PEFT adapter without the model that it adapts; merge the two",
        'python -c "from peft import AutoPeftModel{task} as M; from transformers import AutoTokenizer as T; '
        "M.from_pretrained('{folder}'{labels}).merge_and_unload().save_pretrained('{folder}/merged'); "
        "T.from_pretrained('{tokenizer}').save_pretrained('{folder}/merged')\"",
    ),
    "*model*/*.distcp": ("the shards of FSDP; merge them", "accelerate merge-weights {file.parent} {folder}"),
    "zero_to_fp32.py": ("the shards of DeepSpeed; merge them", "python {file} {folder} {folder}"),
    "checkpoint-*/": ("the checkpoints of a training, not a model; name one of them", "--model {file}"),
    "*.ckpt*.index": (
        "a checkpoint of Google's BERT; convert it, with transformers 4 and TensorFlow",
        "python -c \"from transformers import BertConfig as C, BertForPreTraining as M; M.from_pretrained('{file}', "
        "from_tf=True, config=C.from_json_file('{folder}/bert_config.json')).save_pretrained('{folder}')\"",
    ),
    "tf_model.h5": ("the weights of TensorFlow; convert them, with transformers 4 and TensorFlow", _CONVERT),
    "flax_model.msgpack": ("the weights of Flax; convert them, with transformers 4 and Flax", _CONVERT),
    "*.pt": _PICKLED,
    "*.ckpt": _PICKLED,
    "*/config.json": ("a folder with a model; name that", "--model {file.parent}"),
    "bert_config.json": ("a model with an old name of config.json; rename it", "mv {file} {folder}/config.json"),
}
_TASKS = {"SEQ_CLS": "ForSequenceClassification", "TOKEN_CLS": "ForTokenClassification"}
_TASKS |= {"QUESTION_ANS": "ForQuestionAnswering", "FEATURE_EXTRACTION": "ForFeatureExtraction"}


def refuse_foreign(folder: Path) -> None:
    """Raise `InputError`, with the command that helps, for a folder that holds a model in another form."""
    weights = (*folder.glob("model*.safetensors*"), *folder.glob("pytorch_model*.bin*"))
    if (folder / "config.json").is_file() and weights:
        return
    for pattern, (what, command) in _FORMS.items():
        files = [path for path in folder.glob(pattern) if re.fullmatch(r"[\w.=+-]+", path.name)]
        if files := sorted(files, key=lambda path: [*map(int, re.findall(r"\d+", path.name))]):
            values = _values(folder) | {"option": "from_flax" if pattern.startswith("flax") else "from_tf"}
            raise InputError(f"{folder} holds {what}: {command.format(folder=folder, file=files[-1], **values)}")


def _values(folder: Path) -> dict[str, str]:
    """Return what commands name, from the folder's files: nothing of these that could be more than a name."""

    def named(file: str, key: str, default: str) -> str:
        body = read_json(folder / file)
        value = re.search(r"[\w./-]+", str(body.get(key) or "")) if isinstance(body, dict) else None
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
