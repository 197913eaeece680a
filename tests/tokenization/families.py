"""A small tokenizer of each family, as transformers saves it: BPE, WordPiece and Unigram learnt from a little text."""

import functools
import json
from pathlib import Path

import transformers
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers, trainers

from tests.little import little_text

FAMILIES = ("roberta", "xlm-roberta", "camembert", "albert", "deberta-v2", "modernbert", "mpnet", "electra")


@functools.cache
def unigram_pieces() -> tuple[tuple[str, float], ...]:
    """Pieces and their log-probabilities, without special tokens."""
    backend = Backend(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False)
    backend.train_from_iterator(little_text().splitlines(), trainer)
    return tuple((piece, score) for piece, score in json.loads(backend.to_str())["model"]["vocab"] if piece != "<unk>")


@functools.cache
def bpe_files() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The vocabulary and merges of byte-level BPE, with RoBERTa's special tokens in front."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=340, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(little_text().splitlines(), trainer)
    model = json.loads(backend.to_str())["model"]
    return model["vocab"], [tuple(pair) for pair in model["merges"]]


def _pieces(*special: str) -> list[tuple[str, float]]:
    return [*((token, 0.0) for token in special), *unigram_pieces()]


@functools.cache
def their_tokenizer(model_type: str) -> transformers.PreTrainedTokenizerBase:
    """The tokenizer that transformers has for a family."""
    match model_type:
        case "roberta":
            vocab, merges = bpe_files()
            return transformers.RobertaTokenizer(vocab=dict(vocab), merges=list(merges))
        case "xlm-roberta" | "camembert":
            kind = "XLMRobertaTokenizer" if model_type == "xlm-roberta" else "CamembertTokenizer"
            pieces = [*_pieces("<s>", "<pad>", "</s>", "<unk>"), ("<mask>", 0.0)]
            return getattr(transformers, kind)(vocab=pieces)
        case "albert":
            return transformers.AlbertTokenizer(vocab=_pieces("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"))
        case "deberta-v2":
            return transformers.DebertaV2Tokenizer(vocab=_pieces("[PAD]", "[CLS]", "[SEP]", "[UNK]"))
        case "modernbert":
            from bertviz_lab import Tokenizer

            ours = Tokenizer.train(little_text().splitlines(), vocab_size=340, algorithm="bpe", lowercase=False)
            names = {f"{role}_token": f"[{role.upper()}]" for role in ("pad", "unk", "cls", "sep", "mask")}
            return transformers.PreTrainedTokenizerFast(tokenizer_object=ours.backend, **names)
        case "mpnet" | "electra":
            from tests.little import little_tokenizer

            vocab = {token: number for number, token in enumerate(little_tokenizer().tokens)}
            if model_type == "electra":
                return transformers.BertTokenizer(vocab=vocab)
            spelling = {"[PAD]": "<pad>", "[CLS]": "<s>", "[SEP]": "</s>", "[MASK]": "<mask>"}
            return transformers.MPNetTokenizer(vocab={spelling.get(t, t): number for t, number in vocab.items()})
    raise ValueError(model_type)


def tokenizer_folder(model_type: str, folder: Path) -> Path:
    their_tokenizer(model_type).save_pretrained(folder)
    return folder
