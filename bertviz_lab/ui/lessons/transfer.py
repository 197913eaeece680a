"""Lessons 13 to 15: why pretrain once, the family, and a whole task.

No number about a model is written here: names in braces are measured on demand.
"""

from bertviz_lab.ui.lessons import second_hour_claims as claims
from bertviz_lab.ui.lessons.cases import IRONY, RIGHT_CONTEXT
from bertviz_lab.ui.lessons.lesson import ENGLISH, REVIEWS, Choice, Lesson, Place, Step

_TEAM, _ = RIGHT_CONTEXT[0]

TRANSFER = (
    Lesson(
        number=13,
        title="Pretrain once, fine-tune often",
        minutes=5,
        model=REVIEWS,
        idea="Labels are scarce, plain text is not. So a model is pretrained once on plain text, on tasks that need no "
        "labels, and then fine-tuned again and again, each time on the few labeled examples of one task.",
        look=(Step("The curves of a fine-tuning: how many steps?", Place("run", settings={"id": REVIEWS})),),
        example="",
        question="Pretraining wiki-mini took hours on two processor cores. How long did one fine-tuning of a model of "
        "that size on film reviews take?",
        choices=(
            Choice("Less than a tenth of that."),
            Choice(
                "About half: the whole model is trained again.",
                "All parameters are trained, but on far fewer tokens: a labeled set is small.",
            ),
            Choice(
                "About as long: there are as many parameters.",
                "The time is the tokens read, times the cost of one. The cost is the same, the tokens are far fewer.",
            ),
        ),
        claim=claims.pretrain_once,
        cases="fine-tuning runs of models of its size that come with the lab: less than a tenth of that time",
        reveal=(
            "Pretraining took {pretraining}, for {tokens} million tokens; one fine-tuning on reviews {tuning}, which "
            "is {share} (the log has three, one for each seed). This is how {models} were made, all of them from an "
            "earlier wiki-mini: pretrained once, fine-tuned often.",
            "You can measure what pretraining is worth: tick “Random-weights baseline” when you fine-tune, and the "
            "same architecture is also trained on your examples from random weights.",
        ),
        proof=(Step("Fine-tune on a sample: minutes, not hours.", Place("finetune")),),
        formula="time ≈ 6 · parameters · tokens / speed",
        formula_says="Forward and backward need about 6 operations for each parameter and token, embeddings not "
        "counted (Kaplan et al. 2020); speed in operations a second.",
        source="Devlin et al. 2018, sections 1 and 4; Howard and Ruder 2018",
        measured_by="Share of the pretraining time",
        code="training.loop.loop:_forward_backward",
        hour=2,
    ),
    Lesson(
        number=14,
        title="The family",
        minutes=6,
        model=ENGLISH,
        idea="What came after BERT kept its encoder and changed a few settings: RoBERTa the data and the sentence "
        "pairs, ALBERT and DistilBERT the size, ELECTRA and MPNet the objective, DeBERTa the positions, ModernBERT "
        "nearly all of them. The lab reads all of these as settings of one backbone.",
        look=(
            Step(
                "The architecture, size and vocabulary of the model are above the panels, under its name: scroll up.",
                Place("tokens", _TEAM),
            ),
        ),
        example="",
        question="ALBERT-base is as deep and as wide as BERT-base. How many parameters does it have?",
        choices=(
            Choice(
                "About as many.",
                "It computes as much. But all of its twelve layers are one and the same set of weights.",
            ),
            Choice("About a tenth."),
            Choice(
                "About half, like DistilBERT.",
                "DistilBERT leaves out half of the layers. ALBERT keeps the depth, and shares one layer's weights.",
            ),
        ),
        claim=claims.family,
        cases="families, each built from its settings: within three percent of the published size",
        reveal=(
            "Built from their settings, without the heads: {sizes} (millions of parameters).",
            "ALBERT shares one layer among twelve, and factorizes the embedding matrix: smaller to store, but hardly "
            "faster. DistilBERT is faster: it has half of the layers, and learned from BERT, its teacher "
            "(distillation).",
        ),
        proof=(
            Step("Share the layers yourself: in the ablation study tick only “Shared parameters”.", Place("ablation")),
        ),
        formula="BERT: V·D + 12 · (12·D²)      ALBERT: V·E + E·D + 12·D²",
        formula_says="V vocabulary, D width, E = 128 the factorized embedding size; 12·D² is one layer without biases.",
        source="Liu et al. 2019; Lan et al. 2019; Sanh et al. 2019; Clark et al. 2020; Song et al. 2020; He et al. "
        "2021; Warner et al. 2024",
        measured_by="Parameters, relative to the largest",
        code="model.encoder:Encoder.__init__",
        hour=2,
    ),
    Lesson(
        number=15,
        title="A task from file to errors",
        minutes=8,
        model=REVIEWS,
        idea="Fine-tuning begins with a file of examples and does not end with a score. A part of the file is held "
        "out; the score on it is compared with that of guessing; then the errors are read, slice by slice.",
        look=(
            Step("Fine-tune a model: choose the sample “Sentiment”, and press “Fine-tune”.", Place("finetune")),
            Step(
                "A finished run: its accuracy and the majority-class baseline. Yours also has a confusion matrix "
                "and a list of its errors.",
                Place("run", settings={"id": REVIEWS}),
            ),
        ),
        example=IRONY,
        question="Of the plain sentences of the sample “Sentiment” the model labels nearly all correctly. And of the "
        "ironic ones, such as this?",
        choices=(
            Choice(
                "About as many.",
                "Irony says with good words that something is bad; in reviews good words mostly mean a good film.",
            ),
            Choice(
                "About half: it can only guess.",
                "A random guess is right half of the time. To be wrong more often, a model must be misled.",
            ),
            Choice("Few: it does worse than guessing."),
        ),
        claim=claims.kinds_of_error,
        cases="slices (negation, irony, comparison and so on): a smaller share is labeled correctly than of the plain "
        "ones",
        reveal=(
            "Of {sentences} sentences, none of which it was trained on, {together} are correct: {plain} of the plain "
            "ones, and {right} of the {ironic} ironic ones, which is {irony}. The sample has few ironic sentences, so "
            "{added} more were added for this measurement. The classifier follows the words, and those of an ironic "
            "sentence point the other way.",
            "A test set of plain sentences would not have shown it. So read the errors before you call a task done: "
            "what comes next is more examples of the slice that fails, or a larger model.",
        ),
        proof=(
            Step("Which words decided? Look at “wonderful”.", Place("attribution", IRONY)),
            Step("Write a sentence of your own that misleads it.", Place("predictions", IRONY)),
        ),
        formula="accuracy = correct / all      accuracy of a slice = correct in it / all in it",
        formula_says="Compare each with guessing, and with the same model trained from random weights.",
        source="Devlin et al. 2018, section 4.1; Ribeiro et al. 2020 (CheckList), section 2",
        measured_by="Accuracy by slice (kind of sentence)",
        code="training.finetuning.finetune:_score_test_set",
        hour=2,
    ),
)
