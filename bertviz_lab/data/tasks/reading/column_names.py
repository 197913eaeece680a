"""Names that columns of labelled data sets have, in small letters, the surest first."""

from bertviz_lab.data.corpora.formats.fields import TEXT_NAMES

#: The first and the second text of a pair.
PAIR_NAMES = (
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("#1 string", "#2 string"),
    ("question", "passage"),
    ("question", "sentence"),
    ("question", "context"),
    ("query", "passage"),
    ("query", "document"),
    ("claim", "evidence"),
    ("text_a", "text_b"),
    ("text1", "text2"),
    ("text_1", "text_2"),
    ("sentence_a", "sentence_b"),
    ("sentence_1", "sentence_2"),
    ("string1", "string2"),
    ("s1", "s2"),
)
#: A text, where there is one; the first of these that a table has.
ONE_TEXT_NAMES = (*TEXT_NAMES, "text_a", "sentence1", "question", "query", "utterance", "headline", "title", "phrase")
#: The label; the first of these that a table has.
LABEL_NAMES = (
    "label",
    "labels",
    "gold_label",
    "class",
    "category",
    "sentiment",
    "target",
    "score",
    "quality",
    "is_duplicate",
    "coarse_label",
    "intent",
    "emotion",
    "topic",
    "stars",
    "rating",
    "similarity",
    "similarity_score",
    "relatedness_score",
    "polarity",
    "airline_sentiment",
    "label-coarse",
    "fine_label",
    "tag",
    "answer",
    "type",
    "y",
)
#: What comes with examples and is neither text nor label.
ASIDE = frozenset({"id", "idx", "index", "split", "fold", "lang", "language", "source", "genre", "date", "url", "user"})
