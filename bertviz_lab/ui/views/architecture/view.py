"""What Architecture asks: what a model consists of, and the code of each part.

The numbers in the picture are answers of Tokens, Layers, Attention and Predictions (`view.js`).
"""

from bertviz_lab.figures.payload import Payload, figure
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import ModelName, questions


def architecture(state: AppState, model: ModelName) -> Payload:
    """Return the parts of a model, their sizes and their code."""
    return figure("architecture", **vars(interpret.describe_architecture(state.models.open(model))))


QUESTIONS = questions(architecture)
