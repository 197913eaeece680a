# %% [markdown]
# # Embeddings
#
# A token id is only the number of a row. The *embedding layer* turns each id into a vector, and adds what the id does
# not say: the position of the token, and which of two texts it belongs to. This notebook adds the three vectors by
# hand, then looks at what the vectors have learned, and at how context changes them.
#
# *In the paper*: Devlin et al. 2018, section 3 and figure 2. *On the page*: Learn, lessons 4 and 6; Explore, panels
# Layers and Embeddings. *In the code*: `bertviz_lab/model/embeddings.py`.

# %%
import torch
import torch.nn.functional as F

from bertviz_lab import interpret, load_checkpoint, show
from bertviz_lab.exercise import check

checkpoint = load_checkpoint("wiki-mini")
tokenizer = checkpoint.tokenizer
embeddings = checkpoint.model.bert.embeddings
for name in ("word", "position", "token_type"):
    print(f"{name:<10}", tuple(getattr(embeddings, name).weight.shape))

# %% [markdown]
# ## Token + position + segment
#
# Three tables, all learned. Row *i* of the first is the vector of token *i*; row *p* of the second that of position
# *p*; the third has two rows, for the *segments* A and B. What enters the encoder is their sum, brought to a common
# scale by LayerNorm.

# %%
encoding = tokenizer.encode("The cat sat.", "It slept.")
ids, segments = torch.tensor(encoding.ids), torch.tensor(encoding.token_type_ids)
positions = torch.arange(len(ids))

with torch.no_grad():
    token_LD = embeddings.word.weight[ids]
    position_LD = embeddings.position.weight[positions]
    segment_LD = embeddings.token_type.weight[segments]
    sum_LD = token_LD + position_LD + segment_LD

print("the first four numbers of “cat”:")
for name, vectors in [("token", token_LD), ("+ position 2", position_LD), ("+ segment A", segment_LD), ("=", sum_LD)]:
    print(f"{name:<14}", "  ".join(f"{value:+.3f}" for value in vectors[2, :4].tolist()))

# %% [markdown]
# The lab's names carry the shape as a suffix: L is tokens, D the hidden size. How large are the three parts? Their
# norms, and how much each part points in the direction of the sum:

# %%
show.embedding_sum(interpret.embedding_sum(checkpoint, "The cat sat.", "It slept."))

# %% [markdown]
# ### Exercise 1: LayerNorm
#
# LayerNorm looks at each vector alone: subtract its mean, divide by its standard deviation (the variance *without*
# Bessel's correction, plus a small epsilon under the root; BERT's is 1e-12), then scale and shift each dimension by
# learned amounts. Fill in the dots.

# %%
scale_D, shift_D, epsilon = embeddings.norm.weight, embeddings.norm.bias, embeddings.norm.eps
mean_L1 = sum_LD.mean(-1, keepdim=True)
variance_L1 = sum_LD.var(-1, keepdim=True, unbiased=False)

normed_LD = ...

# %% tags=["check"]
check(
    normed_LD,
    embeddings(ids[None], segments[None])[0],
    "Four steps: subtract, divide, scale, shift.",
    "The epsilon is added to the variance, under the root.",
)

# %% tags=["solution"]
normed_LD = (sum_LD - mean_L1) / torch.sqrt(variance_L1 + epsilon) * scale_D + shift_D

# %% [markdown]
# ## Positions: attention alone does not see order
#
# Self-attention compares every token with every other, whatever their order. Without the position table a text is a
# bag of words: shuffle it, and each token gets exactly the vector that it had before.


# %%
@torch.no_grad()
def vector(model: torch.nn.Module, text: str, token: str) -> torch.Tensor:
    """The final hidden state of a token of a text."""
    encoding = tokenizer.encode(text)
    return model(torch.tensor([encoding.ids])).last_hidden_state[0, encoding.tokens.index(token)]


def dogs(model: torch.nn.Module) -> tuple[torch.Tensor, torch.Tensor]:
    return vector(model, "dog saw man", "dog"), vector(model, "man saw dog", "dog")


bag = load_checkpoint("wiki-mini").model.bert
bag.embeddings.position.weight.data.zero_()
for name, model in (("without positions", bag), ("with positions", checkpoint.model.bert)):
    one, other = dogs(model)
    print(f"{name:<18} cosine of the two “dog”: {F.cosine_similarity(one, other, dim=0):.4f}")

assert torch.allclose(*dogs(bag), atol=1e-4)

# %% [markdown]
# Nothing in the architecture says that position 5 lies between 4 and 6. The model has learned it: neighboring rows of
# the table are similar, distant ones are not.

# %%
table = embeddings.position.weight[:128].detach()  # it was trained on up to 128 tokens
cosines = F.cosine_similarity(table[:, None], table[None], dim=-1)
for distance in (1, 2, 4, 8, 16, 32, 64):
    print(f"{distance:>3} apart: mean cosine {cosines.diagonal(distance).mean():+.2f}")

# %% [markdown]
# ## What a vector knows: nearest tokens
#
# Words that can occur in the same places get similar vectors, since predicting masked words rewards that.

# %%
show.neighbours("river", interpret.nearest_tokens(checkpoint, "river"))

# %% [markdown]
# ### Exercise 2: cosine similarity
#
# The chart above compares by the *cosine*: the dot product of two vectors over the product of their lengths. Compute
# it for “river” and “lake”, without `F.cosine_similarity`.

# %%
river_D = embeddings.word.weight[tokenizer.id("river")]
lake_D = embeddings.word.weight[tokenizer.id("lake")]

cosine = ...

# %% tags=["check"]
check(
    cosine,
    F.cosine_similarity(river_D, lake_D, dim=0),
    "`@` is the dot product of two vectors.",
    "`vector.norm()` is a vector's length; divide by both.",
)

# %% tags=["solution"]
cosine = river_D @ lake_D / (river_D.norm() * lake_D.norm())

# %% [markdown]
# ## Contextual embeddings
#
# In the table the word “play” has one vector, whatever the sentence. Layer by layer the vector moves away from that
# common start and comes to depend on its context. Static word vectors (word2vec, GloVe) stay at the left end of this
# chart. Contextual vectors existed before BERT: CoVe (McCann et al. 2017), ELMo (Peters et al. 2018) and GPT (Radford
# et al. 2018). New in BERT was that every layer attends to both sides at once, which masked language modeling makes
# possible (Devlin et al. 2018, section 2).

# %%
contexts = interpret.compare_contexts(
    checkpoint, "The children play in the garden.", "He wrote a play for the theatre.", "play"
)
show.context_similarity(contexts)

# %%
show.context_paths(contexts)

# %% [markdown]
# ## One vector for a whole text
#
# Sentences are compared by one vector each. Two usual ways to get it: that of `[CLS]`, or the mean over all tokens
# (*mean pooling*). A model that was only pretrained was not trained to produce sentence vectors, so to it all
# sentences are about equally similar; `embed-mini` is the same kind of model, fine-tuned so that similar meanings are
# close to each other.

# %%
sentences = ["A man is playing a guitar.", "Someone plays an instrument.", "A chef cooks some soup."]
pretrained = load_checkpoint("wiki-tiny")
sentence_model = load_checkpoint("embed-mini")
print(f"{'model and pooling':<24}{'same meaning':>14}{'another':>10}{'apart':>8}")
for name, model, pooling in [
    ("pretrained, [CLS]", pretrained, "cls"),
    ("pretrained, mean", pretrained, "mean"),
    ("embed-mini, mean", sentence_model, "mean"),
]:
    cosines = interpret.similarity(model, sentences, pooling=pooling).cosines
    same, other = float(cosines[0, 1]), float(cosines[0, 2])
    print(f"{name:<24}{same:>14.2f}{other:>10.2f}{same - other:>8.2f}")

# %%
show.similarity(interpret.similarity(sentence_model, [*sentences, "The cook prepares a meal.", "It rained all day."]))

# %% [markdown]
# ### Exercise 3: mean pooling with padding
#
# In a batch the shorter texts are padded, and padding must not count. Compute the mean of each row of `hidden_BLD`
# over the positions whose `mask_BL` is 1.

# %%
hidden_BLD = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]], [[1.0, 1.0], [2.0, 0.0], [3.0, 5.0]]])
mask_BL = torch.tensor([[1, 1, 0], [1, 1, 1]])

mean_BD = ...

# %% tags=["check"]
check(
    mean_BD,
    [[2.0, 3.0], [2.0, 2.0]],
    "A token that counts 0 must drop out of the sum, and out of the number that you divide by.",
    "mask_BL[..., None] has the shape (B, L, 1), which goes with hidden_BLD.",
)

# %% tags=["solution"]
mean_BD = (hidden_BLD * mask_BL[..., None]).sum(1) / mask_BL.sum(1, keepdim=True)

# %% [markdown]
# ## Where to go on
#
# - `03_attention`: how tokens read from each other.
# - Section 4 of Reimers and Gurevych 2019 (Sentence-BERT): why pooling needs fine-tuning.
