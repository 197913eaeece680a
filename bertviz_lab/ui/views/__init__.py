"""The views of the page, in the order of their panels. A view is a folder of this one and a line in `VIEWS`.

`view.py` answers the view's questions, `view.js` draws it with what `client/panel.js` gives it, `view.css` has its
rules, `explanation.html` says how it is computed. `explore` is the input bar that the views of that workspace share,
`lessons` the workspace Learn.

Answers ask the analyses through `ui/lazy`, which imports them when the first one is asked.
"""

from bertviz_lab.ui.view import View
from bertviz_lab.ui.views.ablation.view import ABLATION
from bertviz_lab.ui.views.attention.view import ATTENTION
from bertviz_lab.ui.views.attribution.view import ATTRIBUTION
from bertviz_lab.ui.views.batch.view import BATCH
from bertviz_lab.ui.views.causes.view import CAUSES
from bertviz_lab.ui.views.compare.view import COMPARE
from bertviz_lab.ui.views.dynamics.view import DYNAMICS
from bertviz_lab.ui.views.embeddings.view import EMBEDDINGS
from bertviz_lab.ui.views.evaluate.view import EVALUATE
from bertviz_lab.ui.views.explore.view import EXPLORE
from bertviz_lab.ui.views.finetune.view import FINETUNE
from bertviz_lab.ui.views.labels.view import LABELS
from bertviz_lab.ui.views.layers.view import LAYERS
from bertviz_lab.ui.views.lessons.view import LEARN
from bertviz_lab.ui.views.predictions.view import PREDICTIONS
from bertviz_lab.ui.views.pretrain.view import PRETRAIN
from bertviz_lab.ui.views.run.view import RUN
from bertviz_lab.ui.views.runs.view import RUNS
from bertviz_lab.ui.views.tokens.view import TOKENS

VIEWS: tuple[View, ...] = (
    EXPLORE, TOKENS, PREDICTIONS, ATTENTION, ATTRIBUTION, CAUSES, EMBEDDINGS, LAYERS, BATCH,
    PRETRAIN, FINETUNE,
    RUNS, RUN, LABELS, EVALUATE, DYNAMICS, COMPARE, ABLATION,
    LEARN,
)  # fmt: skip
