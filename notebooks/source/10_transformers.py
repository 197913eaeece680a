# %% [markdown]
# # The same weights in `transformers`
#
# The lab's BERT was written from scratch, to be read. Is it BERT? The test is simple: put the same weights into
# Hugging Face's implementation and compare everything, from token ids to gradients. And since a checkpoint of the lab
# *is* a Hugging Face folder, nothing has to be converted.
#
# *On the page*: Explore, panel Predictions. *In the code*: `bertviz_lab/model/weights.py`, `weight_names.py`;
# `tests/model/test_families.py` is this notebook as a test.

# %%
import tempfile
from pathlib import Path

import torch
import transformers

from bertviz_lab import BertConfig, BertForMaskedLM, Checkpoint, interpret, load_checkpoint, save_checkpoint, show
from bertviz_lab.exercise import check

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
ours = load_checkpoint("wiki-mini")
# "eager" is their written-out attention, which returns its weights.
theirs = transformers.BertForPreTraining.from_pretrained(ours.path, attn_implementation="eager").eval()
their_tokenizer = transformers.AutoTokenizer.from_pretrained(ours.path)
print(f"lab {type(ours.model).__name__}, transformers {transformers.__version__} {type(theirs).__name__}")

# %% [markdown]
# ## Tokens

# %%
text_a, text_b = "The river flows through the [MASK].", "It reaches the sea near Odessa."
encoding = ours.tokenizer.encode(text_a, text_b)
inputs = their_tokenizer(text_a, text_b, return_tensors="pt")

assert list(encoding.ids) == inputs["input_ids"][0].tolist()
assert list(encoding.token_type_ids) == inputs["token_type_ids"][0].tolist()
print("the same ids and segment ids:", " ".join(encoding.tokens))

# %% [markdown]
# ## Outputs, layer by layer
#
# Both compute in 32 bits. Where they do so in the same order they agree to the last bit; elsewhere, as with the fused
# attention kernel, expect differences in the sixth digit.

# %%
with torch.no_grad():
    a = ours.model(**inputs, output_hidden_states=True, output_attentions=True)
    b = theirs(**inputs, output_hidden_states=True, output_attentions=True)


def difference(x: torch.Tensor, y: torch.Tensor) -> float:
    """The largest difference of two tensors of one shape."""
    assert x.shape == y.shape
    return float((x - y).abs().max())


rows = [("embeddings", a.hidden_states[0], b.hidden_states[0])]
for number, (x, y) in enumerate(zip(a.hidden_states[1:], b.hidden_states[1:], strict=True), 1):
    rows.append((f"layer {number}", x, y))
rows += [
    ("pooled [CLS]", a.pooler_output, theirs.bert(**inputs).pooler_output.detach()),
    ("MLM logits", a.prediction_logits, b.prediction_logits),
    ("NSP logits", a.seq_relationship_logits, b.seq_relationship_logits),
]
rows += [(f"attention {n}", x, y) for n, (x, y) in enumerate(zip(a.attentions, b.attentions, strict=True), 1)]
for name, x, y in rows:
    print(f"{name:<14}{tuple(x.shape)!s:<22}largest difference {difference(x, y):.1e}")
    assert difference(x, y) < 1e-3

# %% [markdown]
# ### Exercise 1
#
# Hugging Face has names of its own for the parts of `encoder.layer.0.attention`. Here is one layer of their state
# dict. In which of them is the matrix that *mixes the heads* (our `attention.output`)? Give the full name.

# %%
state = theirs.state_dict()
for name, tensor in state.items():
    if name.startswith("bert.encoder.layer.0."):
        print(f"{name:<62}{tuple(tensor.shape)}")

# %%
name_of_mixing_matrix = ...

# %% tags=["check"]
check(
    state.get(name_of_mixing_matrix, name_of_mixing_matrix),
    ours.model.bert.encoder.layers[0].attention.output.weight,
    "It belongs to attention, not to the feed-forward network, and has as many rows as columns.",
    "Query, key and value come before the softmax; this one comes after it.",
)

# %% tags=["solution"]
name_of_mixing_matrix = "bert.encoder.layer.0.attention.output.dense.weight"

# %% [markdown]
# The check compares numbers, not names: of all their tensors, one equals our mixing matrix bit for bit.

# %%
mixing = ours.model.bert.encoder.layers[0].attention.output.weight
print(sum(tensor.shape == mixing.shape and torch.equal(tensor, mixing) for tensor in state.values()), "tensor is equal")

# %% [markdown]
# ## Their code, file by file
#
# All of BERT in `transformers` is in one file, `models/bert/modeling_bert.py`. The cells below print the *installed*
# source of both, theirs first, so that what you read is what runs. It is the same computation under other names:
#
# | `transformers` | here | what it computes |
# |---|---|---|
# | `BertEmbeddings` | `model/embeddings.py` | token + segment + position, LayerNorm, dropout |
# | `BertSelfAttention`, `eager_attention_forward` | `model/attention.py` | scores, softmax, context |
# | `BertSelfOutput`, `BertIntermediate`, `BertOutput` | `model/encoder.py` | residuals, LayerNorm, feed-forward |
# | `BertEncoder` | `Encoder` in `model/encoder.py` | the stack |
# | `BertPooler`, `BertModel` | `model/bert.py` | masks, the stack, the pooled [CLS] |
# | `BertForSequenceClassification`, `BertLMPredictionHead` | `model/heads.py` | a task's head and its loss |

# %%
import inspect
import textwrap

from transformers.models.bert import modeling_bert

from bertviz_lab.model import attention, bert, embeddings, encoder, heads


def compare_source(*functions) -> None:
    """Print the source of functions, without their docstrings, one after the other."""
    for function in functions:
        source = textwrap.dedent(inspect.getsource(function))
        if function.__doc__:
            source = source.replace(inspect.getdoc(function).split("\n")[0], "...")
        print(f"# {function.__module__}.{function.__qualname__}\n{source}")


compare_source(modeling_bert.BertEmbeddings.forward, embeddings.Embeddings.forward)

# %% [markdown]
# Three lookups, a sum, LayerNorm, dropout. Theirs adds the segments before the positions; floating-point sums depend on
# the order, which is one of the places where the last bit may differ. Their buffers `position_ids` and `token_type_ids`
# are what is taken where the caller gives none.

# %%
compare_source(modeling_bert.BertSelfAttention.forward, modeling_bert.eager_attention_forward)
compare_source(attention.SelfAttention.forward)

# %% [markdown]
# Both have the formula (`eager` there, `explicit` here) next to a fused kernel, which they choose by
# `attn_implementation`. Their mask is a number that is *added* to the scores, 0 or the smallest there is; ours is
# boolean and replaces them. After the softmax both give hidden tokens the weight 0. The cache of keys and values is
# for decoders.

# %%
part = modeling_bert
compare_source(part.BertSelfOutput.forward, part.BertIntermediate.forward, part.BertOutput.forward)
compare_source(part.BertLayer.feed_forward_chunk, encoder.EncoderLayer.forward)

# %% [markdown]
# What is one class here is four there, by the names of Google's checkpoint: `attention.output.dense` mixes the heads,
# `intermediate.dense` widens, `output.dense` narrows. Post-norm is the line `LayerNorm(hidden_states + input_tensor)`,
# twice. Chunking computes the feed-forward network for a part of the tokens at a time, which it may, since it looks at
# one token.

# %%
compare_source(modeling_bert.BertModel.forward, bert.BertModel.forward)

# %% [markdown]
# Embeddings, mask, encoder, pooler: four calls. The decorators above theirs collect hidden states and attention weights
# through hooks; ours are returned by each layer.

# %%
compare_source(modeling_bert.BertPooler.forward, bert.BertModel.pool)
compare_source(modeling_bert.BertForSequenceClassification.forward)
compare_source(heads.BertForSequenceClassification.classify, heads.LabelHead.forward)

# %% [markdown]
# `outputs[1]` is the pooled `[CLS]`; dropout, one linear layer, and a loss that the configuration's `problem_type`
# chooses, or, where it is not set, the type of the labels. Both classifiers, from one file:

# %%
classifier = load_checkpoint("sentiment-mini")
their_classifier = transformers.BertForSequenceClassification.from_pretrained(classifier.path).eval()
film = transformers.AutoTokenizer.from_pretrained(classifier.path)("A slow film, and I loved it.", return_tensors="pt")
label = torch.tensor([1])
with torch.no_grad():
    x, y = (model(**film, labels=label) for model in (classifier.model, their_classifier))
print("logits", x.logits.tolist(), y.logits.tolist(), f"losses {x.loss:.6f} and {y.loss:.6f}")
assert difference(x.logits, y.logits) < 1e-3

# %% [markdown]
# ### Exercise 2
#
# Their `BertModel` can be taken apart: call its parts in order, and get its `pooler_output`. Fill in the dots, with
# `theirs.bert.embeddings`, `.encoder` and `.pooler`. (There is no padding in one text, so no mask is needed.)

# %%
pooled = ...

# %% tags=["check"]
check(
    pooled,
    theirs.bert(**inputs).pooler_output,
    "The output of each part is the input of the next.",
    "embeddings takes input_ids= and token_type_ids=; the encoder's result has last_hidden_state.",
)

# %% tags=["solution"]
embedded = theirs.bert.embeddings(input_ids=inputs["input_ids"], token_type_ids=inputs["token_type_ids"])
pooled = theirs.bert.pooler(theirs.bert.encoder(embedded).last_hidden_state)

# %% [markdown]
# ## Loss and gradients
#
# Equal outputs could hide different training. So both get labels, and we compare the gradients of *all* parameters.

# %%
labels = torch.full_like(inputs["input_ids"], -100)
mask = encoding.tokens.index("[MASK]")
labels[0, mask] = ours.tokenizer.id("city")
is_next = torch.tensor([0])

for model in (ours.model, theirs):
    model.zero_grad()
    loss = model(**inputs, labels=labels, next_sentence_label=is_next).loss
    loss.backward()
    print(f"{type(model).__module__.split('.')[0]:<14}loss {loss.item():.6f}")

# %%
from bertviz_lab.model.weight_names import place_of

# Their backbone's names begin with "bert.", which `place_of` leaves out.
their_parameters = {name.removeprefix("bert."): parameter for name, parameter in theirs.named_parameters()}
worst = 0.0
for name, parameter in ours.model.named_parameters():
    their_name = place_of(name, "bert", "BertForPreTraining").name
    worst = max(worst, difference(parameter.grad, their_parameters[their_name].grad))
print(f"gradients of {len(their_parameters)} parameters; largest difference {worst:.1e}")
assert worst < 1e-3

# %% [markdown]
# ## Our predictions, and their pipeline's

# %%
fill = transformers.pipeline("fill-mask", model=str(ours.path), top_k=5)
said = interpret.fill_mask(ours, text_a, top_k=5).masks[0].candidates
print(f"{'lab':<22}transformers")
for candidate, answer in zip(said, fill(text_a), strict=True):
    print(f"{candidate.token:<12}{candidate.probability:>7.3%}   {answer['token_str']:<12}{answer['score']:>7.3%}")
    assert candidate.token == answer["token_str"]

# %% [markdown]
# ## From the lab to `transformers`, and back
#
# A new model of ours, saved; their class opens it without a missing or an unexpected tensor.

# %%
folder = Path(tempfile.mkdtemp(prefix="bertviz-lab-"))
config = BertConfig.preset("tiny", vocab_size=ours.tokenizer.vocab_size)
fresh = Checkpoint(BertForMaskedLM(config, generator=torch.Generator().manual_seed(0)), ours.tokenizer, config)
save_checkpoint(fresh, folder / "ours")
opened, report = transformers.BertForMaskedLM.from_pretrained(folder / "ours", output_loading_info=True)
print(sorted(path.name for path in (folder / "ours").iterdir()))
print("missing:", list(report["missing_keys"]), "unexpected:", list(report["unexpected_keys"]))

# %% [markdown]
# And a model of theirs, which could as well be `bert-base-uncased` from the hub (with internet:
# `load_checkpoint("bert-base-uncased")`):

# %%
their_config = transformers.BertConfig(
    vocab_size=ours.tokenizer.vocab_size,
    hidden_size=64,
    num_hidden_layers=3,
    num_attention_heads=4,
    intermediate_size=128,
)
torch.manual_seed(0)
made_by_them = transformers.BertForMaskedLM(their_config).eval()
made_by_them.save_pretrained(folder / "theirs")
their_tokenizer.save_pretrained(folder / "theirs")
read_by_us = load_checkpoint(folder / "theirs")
with torch.no_grad():
    print(
        "largest difference of the logits:",
        difference(read_by_us.model(**inputs).logits, made_by_them(**inputs).logits),
    )

# %% [markdown]
# ### Exercise 3
#
# BERT-base has V = 30,522 entries, P = 512 positions, 2 segments, D = 768, 12 layers of 7,087,872 parameters, and a
# pooler (D² + D). How many parameters has the bare model? (LayerNorm after the embeddings: 2 D.)

# %%
bert_base = ...

# %% tags=["check"]
with torch.device("meta"):  # shapes without memory
    _bert_base = transformers.BertModel(transformers.BertConfig())
check(
    bert_base,
    sum(p.numel() for p in _bert_base.parameters()),
    "Three tables, a LayerNorm, the layers, the pooler.",
    "Each row of a table has D numbers; how many rows have the three together?",
    tolerance=0,
)

# %% tags=["solution"]
V, P, D = 30_522, 512, 768
bert_base = (V + P + 2) * D + 2 * D + 12 * 7_087_872 + D * D + D

# %% [markdown]
# That is the "110M" of the paper. The page's picture, of a model that `transformers` made:

# %%
show.attention(interpret.trace_text(read_by_us, text_a), "random weights, made by transformers")

# %% [markdown]
# ## Where to go on
#
# - `docs/families.md`: RoBERTa, ALBERT, DistilBERT, ELECTRA, DeBERTa, MPNet and ModernBERT, compared in the same way.
# - `11_distillation`: a small model learns from a larger one.
