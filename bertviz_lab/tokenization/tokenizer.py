"""The tokenizer: text to token ids and back, over the Rust library `tokenizers`."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer as Backend
from tokenizers import decoders

from bertviz_lab.config import SHIPPED, shipped_models
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import tokenizer_files
from bertviz_lab.tokenization.encoding import Encoding, kept_positions, split_at_punctuation, token_span
from bertviz_lab.tokenization.pipeline import SpecialTokens, check_several, replace_surrogates, wordpiece_backend
from bertviz_lab.tokenization.trainers import train_bpe, train_wordpiece

Algorithm = Literal["wordpiece", "bpe", "unigram"]
_ALGORITHMS: dict[str, Algorithm] = {"WordPiece": "wordpiece", "BPE": "bpe", "Unigram": "unigram"}
# Texts per call of the library: enough for every core, few enough that their encodings fit in memory.
_BATCH = 1024
#: The files of a tokenizer on the Hugging Face hub.
TOKENIZER_FILES = (
    *("tokenizer*.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.txt", "vocab.json", "merges.txt", "spm.model"),
)
_TRIED_CHARACTERS = 50_000
#: Repeated to texts of that length: one word, words, punctuation, accents, scripts without spaces, spaces, emoji.
_TRIED = (
    *("a", "ab ", ".", "e\u0301", "\u5b57", " ", "\U0001f469\u200d"),
    *("The cat sat. 12,000 \u00e9t\u00e9 ", "\ufdfa", "Aa!1\n"),
)


class Tokenizer:
    """Converts text to token ids and back; created by `train`, `load` or `from_vocab`, and immutable.

    Source: WordPiece as in Devlin et al. 2018, section 3, and google-research/bert, tokenization.py;
    byte-level BPE as in Radford et al. 2019.
    """

    def __init__(self, backend: Backend, special: SpecialTokens | None = None) -> None:
        self.special = special or SpecialTokens()
        #: The wrapped `tokenizers.Tokenizer`, for what this class does not offer. Do not modify it.
        self.backend = tokenizer_files.settled(backend, self.special)
        # In a corpus "[MASK]" is ordinary text: this copy does not recognize special tokens.
        self._corpus_backend = Backend.from_str(self.backend.to_str())
        self._corpus_backend.encode_special_tokens = True

        vocab = self.backend.get_vocab(with_added_tokens=True)
        names = {token_id: token for token, token_id in vocab.items()}
        #: The vocabulary in the order of the ids.
        self.tokens = tuple(names.get(token_id, "") for token_id in range(max(names) + 1))
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = (vocab[token] for token in self.special.all)
        #: The ids of the five special tokens.
        self.special_ids = frozenset(vocab[token] for token in self.special.all)

    # Construction

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        *,
        vocab_size: int = 8192,
        algorithm: Algorithm = "wordpiece",
        lowercase: bool = True,
        min_frequency: int = 2,
        on_progress: Callable[[int], None] = lambda read: None,
    ) -> "Tokenizer":
        """Train a vocabulary of at most `vocab_size` tokens, deterministically.

        `[PAD]`, `[UNK]`, `[CLS]`, `[SEP]`, `[MASK]` have the ids 0 to 4. A small text gives a smaller vocabulary.
        WordPiece includes every character that makes up a millionth of the text, or the most frequent ones if there is
        no room for all, so only words with rarer ones are `[UNK]`. Byte-level BPE includes all 256 bytes instead, and
        never gives `[UNK]`.

        Args:
            texts: Sentences, paragraphs or whole files; read once, as a stream.
            vocab_size: Maximum number of tokens, including special ones.
            algorithm: "wordpiece" or "bpe"; Unigram is read from others' files, and not trained here.
            lowercase: Lowercase the text (WordPiece also strips accents).
            min_frequency: Minimum number of occurrences of a pair of pieces to be merged.
            on_progress: Called now and then with the number of characters read; an exception ends training.

        Raises `InputError` where there is no text, or the vocabulary is too small for the algorithm.
        """
        check_several(texts)
        train = {"wordpiece": train_wordpiece, "bpe": train_bpe}[algorithm]
        return cls(train(texts, vocab_size, lowercase, min_frequency, on_progress))

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> "Tokenizer":
        """Return the tokenizer saved in a folder by the lab or by Hugging Face: tokenizer.json, else vocab.txt.

        With vocab.txt, `do_lower_case` of tokenizer_config.json decides about lowercasing; without it, a vocabulary
        without capitals is taken to be lowercased. Raises `InputError` naming what is missing or damaged.
        """
        return cls(*tokenizer_files.read_folder(Path(folder)))

    @classmethod
    def from_pretrained(cls, name: str | PathLike[str]) -> "Tokenizer":
        """Load the tokenizer of a model: the name of a shipped one, a folder (also a run's), or a hub id.

        Raises `InputError` where there is no such model, or as `load`.
        """
        folder = Path(name).expanduser()
        if folder.is_dir():
            of_run = folder / "model"
            return cls.load(of_run if of_run.is_dir() and not tokenizer_files.holds_tokenizer(folder) else folder)
        if re.fullmatch(r"[\w-]+", str(name)) and (SHIPPED / str(name)).is_dir():
            return cls.load(SHIPPED / str(name))
        from huggingface_hub import snapshot_download

        try:
            return cls.load(snapshot_download(str(name), allow_patterns=list(TOKENIZER_FILES)))
        except (OSError, ValueError) as error:  # no such repository, not a name, no network
            shipped = ", ".join(shipped_models())
            raise InputError(
                f"There is no model {str(name)[:80]!r}: give a folder, a hub id, or a shipped model ({shipped})."
            ) from error

    @classmethod
    def from_vocab(cls, vocab_txt: str | PathLike[str], lowercase: bool = True) -> "Tokenizer":
        """BERT's tokenizer from a vocab.txt, one token per line.

        Raises `InputError` where the file is missing or empty, names a token twice, or lacks a special token.
        """
        vocab = tokenizer_files.read_vocab(Path(vocab_txt))
        special = tokenizer_files.special_tokens(vocab, {}, Path(vocab_txt))
        return cls(wordpiece_backend(vocab, lowercase=lowercase, special=special), special)

    def save(self, folder: str | PathLike[str], *, max_length: int | None = None, token_types: bool = True) -> None:
        """Write the files that `load` and `transformers.AutoTokenizer` read.

        They are tokenizer.json, vocab.txt, tokenizer_config.json and special_tokens_map.json. `max_length` is the
        maximum length of the model, and `token_types` whether it takes segment ids, for `transformers`.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        named = {f"{role}_token": token for role, token in asdict(self.special).items()}
        config: dict[str, Any] = {
            # The class that uses tokenizer.json unchanged, in transformers 4 and 5. "BertTokenizer" would build its own
            # pipeline around the vocabulary, which is wrong for BPE.
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_input_names": ["input_ids", *(["token_type_ids"] if token_types else []), "attention_mask"],
            "do_lower_case": self.lowercase,
            "clean_up_tokenization_spaces": False,
            **named,
        }
        added = sorted(self.backend.get_added_tokens_decoder().items())
        if extra := [token.content for _, token in added if token.special and token.content not in self.special.all]:
            config["additional_special_tokens"] = extra
        if max_length is not None:
            config["model_max_length"] = max_length
        for name, text in {
            "tokenizer.json": self.backend.to_str(pretty=True),
            "vocab.txt": "".join(f"{token}\n" for token in self.tokens if token),
            "tokenizer_config.json": json.dumps(config, indent=2, ensure_ascii=False) + "\n",
            "special_tokens_map.json": json.dumps(named, indent=2, ensure_ascii=False) + "\n",
        }.items():
            (folder / name).write_bytes(text.encode("utf-8"))  # the same bytes on every system

    # Text to ids and back

    def encode(
        self, text_a: str, text_b: str | None = None, *, max_length: int | None = None, pad_to: int | None = None
    ) -> Encoding:
        """Encode one text or a pair, with `[CLS]` and `[SEP]`.

        "[MASK]" in the text is the mask token, and an empty `text_b` counts as none, as in `transformers`. Inputs of
        more than `max_length` positions are truncated from the end of the longer text (`truncated_lengths`); those of
        fewer than `pad_to` are padded. Raises `InputError` where `max_length` has no room for `[CLS]` and `[SEP]`.
        """
        text_b = text_b or None
        full = self.backend.encode(replace_surrogates(text_a), text_b and replace_surrogates(text_b))
        segments = full.sequence_ids
        added = segments.count(None)
        if max_length is not None and max_length < added:
            raise InputError(
                f"A length of {max_length} has no room for the {added} special tokens around the text: "
                f"choose {added + 1} or more."
            )
        room = len(segments) if max_length is None else max_length - added
        kept, cut_a, cut_b = kept_positions(segments, room)
        padding = max(0, (pad_to or 0) - len(kept))

        ids = full.ids
        types = full.type_ids
        if text_b and 1 not in types:  # of a family whose own segment ids are all 0
            last_of_a = max((index for index, segment in enumerate(segments) if segment == 0), default=0)
            types = [int(index > last_of_a + 1) for index in range(len(segments))]
        tokens = [self.tokens[token_id] for token_id in ids]
        texts = (text_a, text_b or "")

        spans = [
            (0, 0) if segment is None else token_span(texts[segment], token, *offsets)
            for segment, token, offsets in zip(segments, tokens, full.offsets, strict=True)
        ]
        words = full.word_ids
        if self.algorithm == "unigram":
            words = split_at_punctuation(texts, segments, words, spans)

        return Encoding(
            text_a=text_a,
            text_b=text_b,
            ids=(*(ids[i] for i in kept), *[self.pad_id] * padding),
            tokens=(*(tokens[i] for i in kept), *[self.special.pad] * padding),
            token_type_ids=(*(types[i] for i in kept), *[0] * padding),
            attention_mask=(*[1] * len(kept), *[0] * padding),
            special_tokens_mask=(*(int(segments[i] is None) for i in kept), *[1] * padding),
            offsets=(*(spans[i] for i in kept), *[(0, 0)] * padding),
            word_ids=(*(words[i] for i in kept), *[None] * padding),
            dropped_a=tuple(tokens[i] for i in cut_a),
            dropped_b=tuple(tokens[i] for i in cut_b),
        )

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many texts without added tokens, on all cores: for corpora.

        Special tokens are not recognized in the text: a corpus cannot inject `[MASK]` or `[SEP]`.
        """
        check_several(texts)
        result: list[list[int]] = []
        for start in range(0, len(texts), _BATCH):
            batch = [replace_surrogates(text) for text in texts[start : start + _BATCH]]
            encodings = self._corpus_backend.encode_batch_fast(batch, add_special_tokens=False)
            result += [encoding.ids for encoding in encodings]
        return result

    def ids_of_words(self, words: Sequence[str], mask: str | None = None) -> list[list[int]]:
        """Return the ids of words, each by itself as after a space; a word without any (a control character) is [UNK].

        A word that is `mask` becomes the mask token.
        """
        pieces = zip(words, self.ids([f" {word}" for word in words]), strict=True)
        return [[self.mask_id] if word == mask else ids or [self.unk_id] for word, ids in pieces]

    def ids_and_spans(self, texts: Sequence[str]) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """Return of each text its ids, as `ids` does, and each token's start and end in characters, (tokens, 2).

        Characters are counted as in `encode`.
        """
        result = []
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            encodings = self._corpus_backend.encode_batch([*map(replace_surrogates, batch)], add_special_tokens=False)
            for text, encoding in zip(batch, encodings, strict=True):
                spans = encoding.offsets
                if self.algorithm != "wordpiece":  # others' tokens have the space before a word
                    spans = [token_span(text, token, *span) for token, span in zip(encoding.tokens, spans, strict=True)]
                as_array = np.array(spans, dtype=np.int32).reshape(-1, 2)
                result.append((np.array(encoding.ids, dtype=np.int32), as_array))
        return result

    def decode(self, ids: Iterable[SupportsIndex], skip_special: bool = True) -> str:
        """Return the text of the ids; case and unknown characters cannot be restored."""
        return self.backend.decode([int(token_id) for token_id in ids], skip_special_tokens=skip_special)

    # The vocabulary

    def token(self, token_id: SupportsIndex) -> str:
        """Return the token of an id; `[id N]` beyond the vocabulary, where some models have padding rows.

        Raises IndexError for a negative id.
        """
        if int(token_id) < 0:
            raise IndexError(f"token ids begin at 0, not {int(token_id)}")
        return self.tokens[token_id] if int(token_id) < len(self.tokens) else f"[id {int(token_id)}]"

    def id(self, token: str) -> int | None:
        """Return a token's id, or None where the vocabulary has no such token."""
        return self.backend.token_to_id(token)

    @property
    def vocab_size(self) -> int:
        """The highest id plus one: the minimum number of rows of a model's embedding."""
        return len(self.tokens)

    @cached_property
    def algorithm(self) -> Algorithm:
        """The algorithm, "wordpiece", "bpe" or "unigram" (SentencePiece)."""
        return _ALGORITHMS[self._model["type"]]

    @cached_property
    def lowercase(self) -> bool:
        """Whether the tokenizer lowercases text."""
        normalizer = self.backend.normalizer
        return normalizer is not None and normalizer.normalize_str("A") == "a"

    @cached_property
    def continuation(self) -> np.ndarray:
        """Bool, shape (vocab_size,): True where a token continues the word before it.

        In WordPiece these begin with "##". In byte-level BPE a word begins with a space ("Ġ"), white space or
        punctuation, and all other tokens continue one: a heuristic, wrong at the start of a text or after a bracket.
        In Unigram likewise, with "▁" for the space.
        """
        special = {*self.special.all, ""}
        array = np.array([token not in special and self._continues(token) for token in self.tokens])
        array.setflags(write=False)
        return array

    def _continues(self, token: str) -> bool:
        if self.algorithm == "wordpiece":
            return token.startswith(self.continuation_prefix) and token != self.continuation_prefix
        first = token[:1] if self.algorithm == "unigram" else decoders.ByteLevel().decode([token])[:1]
        return not (first == "▁" or first.isspace() or unicodedata.category(first or "a")[0] == "P")

    # How words are split, for `explain`

    @cached_property
    def _model(self) -> dict:
        state: dict = json.loads(self.backend.to_str())["model"]
        state.setdefault("type", "BPE" if "merges" in state else "WordPiece")
        return state

    @property
    def continuation_prefix(self) -> str:
        """The prefix of WordPiece continuations, "##"; empty for BPE."""
        return self._model.get("continuing_subword_prefix") or ""

    @property
    def max_word_length(self) -> int | None:
        """The length in characters above which WordPiece gives `[UNK]` for a word; None for BPE."""
        return self._model.get("max_input_chars_per_word")

    @cached_property
    def merge_ranks(self) -> Mapping[tuple[str, str], int]:
        """The merges of BPE with their ranks, from 0; empty for WordPiece."""
        pairs = (pair.split(" ") if isinstance(pair, str) else pair for pair in self._model.get("merges", ()))
        return {(left, right): rank for rank, (left, right) in enumerate(pairs)}

    @cached_property
    def piece_scores(self) -> Mapping[str, float]:
        """The log-probability of each piece of Unigram; empty for the others."""
        return dict(self._model["vocab"]) if self.algorithm == "unigram" else {}

    @cached_property
    def pair_separators(self) -> int:
        """How many separators stand between the texts of a pair: one in BERT, two in RoBERTa."""
        segments = self.backend.encode("a", "a").sequence_ids
        return segments.index(1) - max(index for index, segment in enumerate(segments) if segment == 0) - 1

    # Identity

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits, equal exactly for equal tokenizers."""
        return hashlib.sha256(self.backend.to_str().encode("utf-8")).hexdigest()[:16]

    def __reduce__(self) -> tuple:
        # The library's pickling loses `encode_special_tokens` of the corpus backend.
        return type(self), (self.backend, self.special)

    def __repr__(self) -> str:
        case = "lowercased" if self.lowercase else "cased"
        return f"Tokenizer({self.algorithm}, {case}, {self.vocab_size:,} tokens, {self.fingerprint})"


def try_tokenizer(folder: Path) -> int:
    """Tokenize texts of the worst shapes with the tokenizer in a folder and return the size of its vocabulary.

    To be run confined. Raises `InputError` as `Tokenizer.load`.
    """
    tokenizer = Tokenizer.load(folder)
    for part in _TRIED:
        tokenizer.encode((part * _TRIED_CHARACTERS)[:_TRIED_CHARACTERS], max_length=512)
    return tokenizer.vocab_size
