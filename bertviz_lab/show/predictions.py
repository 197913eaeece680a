"""What a model predicts, and what its predictions rest on: the panels Predictions and Attribution."""

from collections.abc import Mapping, Sequence

from bertviz_lab.figures.interpret.attribution import attribution_payload, change_payload, head_ablation_payload
from bertviz_lab.figures.interpret.layers import surprisal_payload
from bertviz_lab.figures.interpret.predictions import (
    answer_payload,
    comparison_payload,
    entities_payload,
    fill_mask_payload,
    follows_payload,
    joint_payload,
    labels_payload,
    next_sentence_payload,
)
from bertviz_lab.interpret import (
    Attribution,
    Classification,
    FillComparison,
    FillMask,
    HeadAblation,
    JointFill,
    NextSentence,
    PassageAnswer,
    PseudoLogLikelihood,
    WordLabels,
)
from bertviz_lab.show.view import View, chart, view


def fill_mask(filled: FillMask) -> View:
    """Show the predictions for each masked token."""
    return view("fill", "Predictions for the masked tokens", fill_mask_payload(filled), 420)


def fill_comparison(compared: FillComparison) -> View:
    """Show the predictions of several models for the same masked tokens."""
    return chart("Predictions of several models", comparison_payload(compared), 480)


def joint_fill(joint: JointFill) -> View:
    """Show all masked tokens filled jointly, next to the independent predictions."""
    return chart("Masked tokens filled together", joint_payload(joint))


def pseudo_log_likelihood(scored: PseudoLogLikelihood) -> View:
    """Show surprisal of each token (pseudo-log-likelihood)."""
    payload = surprisal_payload(
        scored.encoding, scored.log_probabilities, scored.expected, scored.total, scored.perplexity
    )
    return view("tokens", "Surprisal of each token", payload, 360)


def next_sentence(prediction: NextSentence) -> View:
    """Show the NSP prediction."""
    return chart("Next sentence", next_sentence_payload(prediction.is_next, prediction.is_random), 320)


def next_sentences(predictions: Mapping[str, NextSentence]) -> View:
    """Show the NSP prediction of several models, or for several pairs, by their names."""
    shares = [prediction.is_next for prediction in predictions.values()]
    return chart("Next sentence", follows_payload(list(predictions), shares))


def classification(prediction: Classification) -> View:
    """Show the probability of each label of a text; of a regression the predicted number."""
    return chart("Labels", labels_payload(prediction))


def entities(labelled: WordLabels) -> View:
    """Show the entities of a text, or the labels of its words, marked in it."""
    return view("marked", "Entities", entities_payload(labelled), 300)


def answer(answer: PassageAnswer) -> View:
    """Show the answer to a question marked in its passage, and the next best ones."""
    return view("marked", "Answer", answer_payload(answer), 420)


def attribution(attributions: Attribution | Sequence[Attribution]) -> View:
    """Show attribution of a prediction to its tokens, by one method or several."""
    several = [attributions] if isinstance(attributions, Attribution) else list(attributions)
    return view("tokens", "Attribution", attribution_payload(several), 360)


def head_ablation(ablation: HeadAblation) -> View:
    """Show effect of each head on a prediction (head ablation)."""
    payload = head_ablation_payload(ablation.effects, ablation.baseline - ablation.without_layer, ablation.target)
    return chart("Head ablation", payload, 640)


def intervention(before: FillMask, after: FillMask, what: str) -> View:
    """Show the likeliest tokens for the first [MASK] before and after an intervention, in words such as "causal mask".

    A token that one of the two does not list counts as 0 there: ask both for enough.
    """
    shares = [{c.token: c.probability for c in filled.masks[0].candidates} for filled in (before, after)]
    names = list(dict.fromkeys([*list(shares[0])[:6], *list(shares[1])[:6]]))
    values = [[share.get(name, 0.0) for name in names] for share in shares]
    return chart("Before and after", change_payload(names, values[0], values[1], what))
