"""BERT in 150 lines: pretraining, filling gaps and fine-tuning, with PyTorch and nothing else.

Run `python bert_in_150_lines.py stories.txt`; a line of the file is a story. The notebook 00_bert_in_150_lines explains
it. Shapes are suffixes: B sequences, L tokens, D hidden size, H heads, K head size, N masked tokens, V vocabulary.
Source: Devlin et al. 2018, arXiv 1810.04805.
"""

import math
import random
import re
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

HIDDEN, LAYERS, HEADS, LONGEST = 128, 2, 2, 256
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PAD, UNK, CLS, SEP, MASK = range(5)
GIRLS = "emma zoe nina yuki sara lucy anna ella leila amara mia".split()
BOYS = "leo tom ravi ivan ben kofi jack hugo finn omar noah".split()
GAP = "The black kite is new.", "Ben likes the [MASK] kite."


class Vocabulary:
    """Every word of the text is a token."""

    def __init__(self, stories):
        counts = Counter(word for story in stories for sentence in story for word in self.split(sentence))
        self.tokens = [*SPECIAL, *sorted(counts)]
        self.ids = {token: number for number, token in enumerate(self.tokens)}
        shares = torch.tensor([*counts.values()]) / counts.total()
        self.unigram_entropy = -float(shares @ shares.log())

    def split(self, text):
        return [word if word in SPECIAL else word.lower() for word in re.findall(r"\[\w+\]|\w+|[^\w\s]", text)]

    def encode(self, text):
        return [self.ids.get(word, UNK) for word in self.split(text)]


def pack(pairs):
    """Return token ids and segment ids of pairs, both (B, L)."""
    ids = [torch.tensor([CLS, *a, SEP, *b, SEP]) for a, b in pairs]
    segments = [torch.tensor([0] * (len(a) + 2) + [1] * (len(b) + 1)) for a, b in pairs]
    return nn.utils.rnn.pad_sequence(ids, batch_first=True), nn.utils.rnn.pad_sequence(segments, batch_first=True)


def sample_pairs(stories, count):
    """Return ids, segment ids, and labels: a story cut in two (0), by turns with the end of another (1)."""
    pairs = []
    for label in range(count):
        story, other = random.choices(stories, k=2)
        cut, place = random.randrange(1, len(story)), random.randrange(len(other))
        b = other[place:] if label % 2 else story[cut:]
        pairs.append((list(chain(*story[:cut])), list(chain(*b))))
    return *pack(pairs), torch.arange(count) % 2


def mask_tokens(ids_BL, vocabulary_size):
    """Return the input with masks, and the labels."""
    selected, draw = (torch.rand(ids_BL.shape) < 0.3) & (ids_BL >= len(SPECIAL)), torch.rand(ids_BL.shape)
    inputs = torch.where(selected & (draw < 0.8), MASK, ids_BL)
    random_ids = torch.randint(len(SPECIAL), vocabulary_size, ids_BL.shape)
    return torch.where(selected & (draw >= 0.9), random_ids, inputs), torch.where(selected, ids_BL, -100)


class Layer(nn.Module):
    """Self-attention and a feed-forward network, each added to its input and normalized."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.mix = (nn.Linear(HIDDEN, HIDDEN) for _ in range(4))
        self.widen, self.narrow = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)
        self.norm_1, self.norm_2 = nn.LayerNorm(HIDDEN, eps=1e-12), nn.LayerNorm(HIDDEN, eps=1e-12)

    def forward(self, x_BLD, allowed_B1LL):
        projected = [part(x_BLD).unflatten(-1, (HEADS, -1)) for part in (self.query, self.key, self.value)]
        q_BHLK, k_BHLK, v_BHLK = (part.transpose(1, 2) for part in projected)
        scores_BHLL = q_BHLK @ k_BHLK.transpose(2, 3) / math.sqrt(HIDDEN // HEADS)
        weights_BHLL = scores_BHLL.masked_fill(~allowed_B1LL, -math.inf).softmax(-1)
        x_BLD = self.norm_1(x_BLD + self.mix((weights_BHLL @ v_BHLK).transpose(1, 2).flatten(2)))
        return self.norm_2(x_BLD + self.narrow(F.gelu(self.widen(x_BLD))))


class Bert(nn.Module):
    """Embeddings, layers, and four heads: MLM, pooler, NSP, classifier."""

    def __init__(self, vocabulary_size):
        super().__init__()
        self.word, self.position, self.segment = (nn.Embedding(n, HIDDEN) for n in (vocabulary_size, LONGEST, 2))
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.mlm_norm = nn.LayerNorm(HIDDEN, eps=1e-12), nn.LayerNorm(HIDDEN, eps=1e-12)
        self.mlm_bias = nn.Parameter(torch.zeros(vocabulary_size))
        self.transform, self.pooler, self.nsp, self.classifier = (nn.Linear(HIDDEN, n) for n in (HIDDEN, HIDDEN, 2, 2))
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.trunc_normal_(module.weight, std=0.07, a=-0.14, b=0.14)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, ids_BL, segments_BL, causal=False):
        x_BLD = self.norm(self.word(ids_BL) + self.position.weight[: ids_BL.shape[1]] + self.segment(segments_BL))
        allowed_B1LL = (ids_BL != PAD)[:, None, None].expand(-1, -1, ids_BL.shape[1], -1)
        for layer in self.layers:
            x_BLD = layer(x_BLD, allowed_B1LL.tril() if causal else allowed_B1LL)
        return x_BLD

    def mlm(self, x_ND):
        return F.linear(self.mlm_norm(F.gelu(self.transform(x_ND))), self.word.weight, self.mlm_bias)

    def pool(self, x_BLD):
        return torch.tanh(self.pooler(x_BLD[:, 0]))


def train(model, steps, peak, batch_loss):
    """Minimize `batch_loss()`; yields the number of each step."""
    matrices = [parameter for parameter in model.layers.parameters() if parameter.dim() == 2]
    muon = torch.optim.Muon(matrices, lr=peak, weight_decay=0.01, adjust_lr_fn="match_rms_adamw")
    adam = torch.optim.AdamW(set(model.parameters()) - set(matrices), lr=peak, betas=(0.9, 0.98), weight_decay=0.01)
    for step in range(steps):
        for group in muon.param_groups + adam.param_groups:
            group["lr"] = peak * min((step + 1) / (0.1 * steps), (steps - step) / (0.9 * steps))
        model.zero_grad()
        batch_loss().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        muon.step()
        adam.step()
        yield step + 1


def losses(model, stories, vocabulary, count):
    """Return MLM loss and NSP loss of newly drawn and masked pairs."""
    ids_BL, segments_BL, is_random_B = sample_pairs(stories, count)
    inputs_BL, labels_BL = mask_tokens(ids_BL, len(vocabulary.tokens))
    x_BLD, selected_BL = model(inputs_BL, segments_BL), labels_BL != -100
    mlm_loss = F.cross_entropy(model.mlm(x_BLD[selected_BL]), labels_BL[selected_BL])
    return mlm_loss, F.cross_entropy(model.nsp(model.pool(x_BLD)), is_random_B)


def next_token_loss(model, stories, count):
    """Return the loss of predicting each token from those before it, as GPT does."""
    ids_BL, segments_BL, _ = sample_pairs(stories, count)
    logits_BLV = model.mlm(model(ids_BL, segments_BL, causal=True)[:, :-1])
    return F.cross_entropy(logits_BLV.flatten(0, 1), ids_BL[:, 1:].flatten(), ignore_index=PAD)


def pretrain(model, vocabulary, stories, held_out, steps):
    """Return rows of (step, MLM loss, NSP loss) on held-out stories; print them with a filled gap."""
    rows = []

    def batch_loss():
        return next_token_loss(model, stories, 16) + sum(losses(model, stories, vocabulary, 16))

    for step in train(model, steps, 4e-3, batch_loss):
        if step % max(1, steps // 20) == 0:
            rows.append((step, *(loss.item() for loss in losses(model, held_out, vocabulary, 200))))
            print("{:>5}: MLM {:.2f}, NSP {:.2f};".format(*rows[-1]), fill(model, vocabulary, *GAP), flush=True)
    return rows


@torch.no_grad()
def fill(model, vocabulary, a, b, count=3):
    """Return the most probable tokens for the [MASK] in a pair, with their probabilities."""
    ids_BL, segments_BL = pack([(vocabulary.encode(a), vocabulary.encode(b))])
    best = model.mlm(model(ids_BL, segments_BL)[ids_BL == MASK]).softmax(-1)[0].topk(count)
    return {vocabulary.tokens[i]: round(p, 2) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)}


def named(stories, vocabulary, part):
    """Return ids, segment ids and labels of sentences with one name, and that in `part`: of a girl (1) or boy (0)."""
    labels = {vocabulary.ids.get(name): label for label, names in enumerate((BOYS, GIRLS)) for name in names[part]}
    names = set(vocabulary.encode(" ".join(GIRLS + BOYS)))
    named_in = [(sentence, names.intersection(sentence)) for sentence in chain.from_iterable(stories)]
    rows = [(sentence, labels[min(name)]) for sentence, name in named_in if len(name) == 1 and name <= labels.keys()]
    return *pack([(sentence, []) for sentence, _ in rows]), torch.tensor([label for _, label in rows])


def finetune(model, examples, tests, steps):
    """Train the whole model on labeled pairs; return its accuracy on others."""

    def logits(ids_BL, segments_BL):
        return model.classifier(model.pool(model(ids_BL, segments_BL)))

    def batch_loss():
        rows = torch.randint(len(examples[2]), (32,))
        ids_BL, segments_BL, labels_B = (part[rows] for part in examples)
        return F.cross_entropy(logits(ids_BL, segments_BL), labels_B)

    list(train(model, steps, 5e-4, batch_loss))
    return (logits(*tests[:2]).argmax(-1) == tests[2]).float().mean().item()


def read_stories(path):
    """Return the vocabulary of a file with a story a line, and the stories as ids; a tenth is held out."""
    texts = [re.split(r"(?<=[.!?]) ", line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    vocabulary = Vocabulary(texts)
    stories = [[vocabulary.encode(sentence) for sentence in text] for text in texts]
    return vocabulary, stories[len(stories) // 10 :], stories[: len(stories) // 10]


def main(path, steps=2400):
    """Pretrain on a file of stories, fill a gap, and train a classifier with and without the pretraining."""
    vocabulary, stories, held_out = read_stories(path)
    print(f"baselines: MLM loss {vocabulary.unigram_entropy:.2f}, NSP loss {math.log(2):.2f}")
    model = Bert(len(vocabulary.tokens))
    pretrain(model, vocabulary, stories, held_out, steps)
    examples, tests = named(stories[:300], vocabulary, slice(6)), named(held_out, vocabulary, slice(6, None))
    for name, start in ("pretrained", model), ("random weights", Bert(len(vocabulary.tokens))):
        print(f"classifier from {name}: {finetune(start, examples, tests, 150):.1%} right")


if __name__ == "__main__":
    torch.manual_seed(0)
    random.seed(0)
    main(sys.argv[1])
