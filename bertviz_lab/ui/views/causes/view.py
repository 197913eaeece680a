"""What Causes asks: which activations carry a prediction, what adds to its logit, and which tokens reach it."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from bertviz_lab.errors import InputError
from bertviz_lab.figures.findings import findings_payload
from bertviz_lab.figures.payload import Payload, figure
from bertviz_lab.figures.results import decomposition_body, flow_body, flow_graph_body, patching_body, runs_body
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Index, Text, Word, questions
from bertviz_lab.ui.views.attribution.view import Explained, most_probable, targets
from bertviz_lab.ui.views.layers.view import kept_lens

Component = Literal["residual", "attention", "feed_forward", "head"]


@dataclass(frozen=True)
class Traced(Explained):
    """A prediction, as Attribution has it, and how the corrupted text is made."""

    corruption: Literal["word", "mask", "noise", "text"]  # another token, [MASK], noise, or a text that was typed
    changed: Index | None  # the position of the token that is changed; None for the one that is proposed
    replacement: Text  # the token that replaces it, or the corrupted text A
    direction: Literal["denoising", "noising"]


def patching(state: AppState, asked: Traced, component: Component) -> dict[str, Any]:
    """Return both texts' predictions (`facts`), the effect of each patch (`map`), and the `tokens` to choose from."""
    effects = _patching(state, asked)
    encoding = effects.encoding
    at = encoding.unmasked_positions(asked.checkpoint(state).tokenizer.mask_id)
    tokens = [["", "proposed by occlusion"], *([place, f"{encoding.tokens[place]} ({place})"] for place in at)]
    changed = {"positions": effects.corruption.positions, "names": effects.corruption.names}
    facts = figure("corrupted", corruption=changed, **runs_body(effects))
    return {"facts": facts, "map": figure("activation_patching", **patching_body(effects, component)), "tokens": tokens}


def patched(state: AppState, asked: Traced, component: Component, layer: Index, index: Index) -> Payload:
    """Return the prediction for both texts and with one activation patched: that of a token, or of a head."""
    effects = _patching(state, asked)
    checkpoint, cell, texts = asked.checkpoint(state), interpret.Cell(component, layer, index), effects.encoding.texts
    given = {"target": effects.target, "corruption": effects.corruption, "direction": asked.direction}
    runs = interpret.predict_patched(checkpoint, *texts, cell=cell, **given)
    classes = list(dict.fromkeys([effects.target.index, *most_probable(runs)]))
    inputs = interpret.encode_inputs(checkpoint, *texts)
    names = [interpret.class_name(checkpoint, inputs, effects.target, place) for place in classes]
    drawn = {"cell": cell, "rows": len(effects.scores[component]), "names": names}
    return figure("patched", runs=[run[classes] for run in runs], **drawn, **runs_body(effects))


def decomposition(state: AppState, asked: Traced) -> Payload:
    """Return what each component adds to the logit, next to the effect of patching it."""
    effects = _patching(state, asked)
    parts = interpret.decompose_logit(asked.checkpoint(state), *effects.encoding.texts, target=effects.target)
    return figure("logit_decomposition", **decomposition_body(parts, effects))


def flow(
    state: AppState, asked: Traced, method: Word, threshold: Annotated[float, Field(ge=0.001, le=1)]
) -> dict[str, Payload]:
    """Return each token's contribution to the position that is predicted: by all `methods`, by one in `layers`, and its
    paths through the layers, without edges under a threshold (`graph`)."""
    if method not in interpret.FLOW_METHODS:
        raise InputError(f"Choose one of {', '.join(interpret.FLOW_METHODS)}.")
    checkpoint, inputs, target = asked.opened(state)
    texts = inputs.encoding.texts
    contributions = state.remembered(
        ("information flow", state.models.version(asked.model), texts),
        lambda: interpret.information_flow(checkpoint, *texts, on_progress=report_progress),
    )
    by_layer = {"method": method, "layers": contributions.contributions[method][:, target.position]}
    about = {"encoding": contributions.encoding, "position": target.position}
    return {
        "methods": figure("information_flow", **flow_body(contributions, target.position)),
        "layers": figure("flow_by_layer", **about, **by_layer),
        "graph": figure("flow_graph", **flow_graph_body(contributions, method, target.position, threshold)),
    }


def findings(state: AppState, visitor: Visitor, asked: Traced) -> Payload:
    """Return the findings report on a prediction; of the corpus what its index says, where there is one."""
    patching, checkpoint = _patching(state, asked), asked.checkpoint(state)
    index = state.corpora.known(asked.name(state), visitor)
    (tuned,) = kept_lens(state, asked)
    given = {"target": patching.target, "patching": patching, "index": index, "tuned": tuned}
    report = state.remembered(
        ("findings", state.models.version(asked.model), asked, index and index.name, tuned is None),
        lambda: interpret.measure_findings(checkpoint, *patching.encoding.texts, **given, on_progress=report_progress),
    )
    return findings_payload(report)


def _patching(state: AppState, asked: Traced) -> Any:
    """Return the `ActivationPatching` of a prediction, computed once for all that is shown of it."""
    checkpoint, inputs, target = asked.opened(state)
    texts: tuple[str, str | None] = inputs.encoding.texts
    kind = asked.corruption

    def compute() -> Any:
        if kind == "text":
            corruption = interpret.corruption_of(checkpoint, *texts, asked.replacement, texts[1])
        else:
            word = asked.replacement.strip() or None
            corruption = interpret.propose_corruption(
                checkpoint, *texts, target=target, position=asked.changed, kind=kind, word=word
            )
        given = {"target": target, "corruption": corruption, "direction": asked.direction}
        return interpret.patch_activations(checkpoint, *texts, **given, on_progress=report_progress)

    return state.remembered(("patching", state.models.version(asked.model), asked), compute)


QUESTIONS = questions(targets, slow=[patching, patched, decomposition, flow, findings])
