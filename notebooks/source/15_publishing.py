# %% [markdown]
# # Publishing
#
# A model that you trained can be handed on in three ways: as a folder that `transformers` opens, as an ONNX file for
# other programs, and as a web page on which others explore it, which computes in their browser and needs no server.
#
# *On the page*: Explore, More, Publish. *In the code*: `bertviz_lab/browser/`; *in the documentation*:
# `docs/publishing.md`. The page and ONNX need the extra `onnx`: `pip install 'bertviz-lab[onnx]'`.

# %%
import base64
import html
import re
import tempfile
from pathlib import Path

import numpy as np
import torch

from bertviz_lab import Checkpoint, interpret, load_checkpoint, save_checkpoint, show
from bertviz_lab.exercise import check

town = load_checkpoint("tiny-town")
folder = Path(tempfile.mkdtemp(prefix="bertviz-lab-"))
text = "The black kite is new. Ben likes the [MASK] kite."

# %% [markdown]
# ## A folder
#
# What the lab saves is a Hugging Face folder: configuration, weights, tokenizer, and a *model card*, which says what
# the model was trained on and how well it does. A model without a card is hard to trust; write where its limits are.

# %%
card = (
    "---\nlicense: apache-2.0\n---\n\n# A model of Tiny Town\n\nTrained on generated stories. It knows no other text.\n"
)
mine = Checkpoint(town.model, town.tokenizer, town.config, card=card, trained_length=town.trained_length)
save_checkpoint(mine, folder / "mine")
for path in sorted((folder / "mine").iterdir()):
    print(f"{path.stat().st_size:>10,}  {path.name}")

# %% [markdown]
# `bertviz-lab push` and the page send such a folder to the Hugging Face hub; nothing in it is code, so that opening it
# runs none. Is anything lost on the way? Compare the predictions before and after:

# %%
again = load_checkpoint(folder / "mine")
before, after = (interpret.fill_mask(model, text, top_k=3).masks[0].candidates for model in (town, again))
print([(c.token, round(c.probability, 4)) for c in after])
assert [c.token for c in before] == [c.token for c in after]

# %% [markdown]
# ### Exercise 1
#
# How large is the file of weights? Each parameter is a number of 32 bits. Compute the bytes from the model; tied
# weights are saved once.

# %%
bytes_of_weights = ...

# %% tags=["check"]
_header = 50_000  # names and shapes
_file = (folder / "mine" / "model.safetensors").stat().st_size
check(
    None if bytes_of_weights is ... else 0 <= _file - bytes_of_weights < _header,
    True,
    "Count the parameters, and multiply.",
    "sum(p.numel() for p in town.model.parameters()); a byte has 8 bits.",
)

# %% tags=["solution"]
bytes_of_weights = 4 * sum(parameter.numel() for parameter in town.model.parameters())

# %% [markdown]
# ## Half the bits
#
# A published page has the weights in 16 bits, half the download. What does that change? Round the weights, and compare
# all probabilities of one prediction:

# %%
rounded = load_checkpoint(folder / "mine")
with torch.no_grad():
    for parameter in rounded.model.parameters():
        parameter.copy_(parameter.half().float())
ids = torch.tensor([town.tokenizer.encode(text).ids])
with torch.no_grad():
    exact, half = (model.model(ids).prediction_logits.softmax(-1) for model in (town, rounded))
print(f"largest change of a probability: {float((exact - half).abs().max()):.1e}")

# %% [markdown]
# ## A page
#
# `show.page` puts the whole view of a model into this notebook: click a token, change the text, choose another panel.
# It answers without the kernel, also for readers of the saved notebook. (A page of its own is written by `bertviz-lab
# publish --model tiny-town --out town.html`.)

# %%
page = show.page(mine, "attention", text)
page

# %% [markdown]
# ### Exercise 2
#
# The page loads no model from anywhere, so the weights must be in it. Files in a page are text, *base64*: 3 bytes
# become 4 characters. How many characters are the weights of this model in 16 bits?

# %%
characters = ...

# %% tags=["check"]
_weights = sum(parameter.numel() for parameter in town.model.parameters())
check(
    characters,
    len(base64.b64encode(bytes(2 * _weights))),
    "First the bytes, then the characters.",
    "2 bytes for each parameter, and 4 characters for each 3 bytes.",
    tolerance=0.01,
)

# %% tags=["solution"]
characters = 2 * sum(parameter.numel() for parameter in town.model.parameters()) * 4 / 3

# %% [markdown]
# Does the page keep to itself? Its content security policy, the browser's own rule of what a page may load, is in its
# head:

# %%
page.save(folder / "page.html")
policy = re.search(r"Content-Security-Policy[^>]*content=\"([^\"]*)\"", (folder / "page.html").read_text("utf-8"))
print(html.unescape(policy[1]) if policy else "none")

# %% [markdown]
# ## ONNX
#
# Other programs (in C++, Java, JavaScript, on a phone) run models as ONNX graphs. The same numbers come out:

# %%
import onnxruntime

from bertviz_lab.training.checkpoints.onnx_export import export_onnx

report = export_onnx(again, folder / "onnx")
print({name: f"{size / 1e6:.1f} MB" for name, size in report.bytes.items()})
session = onnxruntime.InferenceSession(report.path / "model.onnx")
inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}
needed = {each.name for each in session.get_inputs()}
logits = session.run(None, {name: value.numpy() for name, value in inputs.items() if name in needed})[0]
print("largest difference:", np.abs(logits[0] - town.model(ids).prediction_logits[0].detach().numpy()).max())

# %% [markdown]
# ## Before you publish
#
# - May the text be passed on? A model can repeat what it was trained on; its vocabulary alone may hold names.
# - Does the card say on what the scores were measured, and what the model is not for?
# - Would somebody else get the same from your command and seed?
#
# ## Where to go on
#
# - `docs/publishing.md`: hosting, a Space, a page in another page.
