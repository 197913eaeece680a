"""The settings of a training as the page names and groups them; values, bounds and further help are the config's."""

#: A folder of the server, how many of its cores are used and what it keeps are not a visitor's to choose.
NOT_ON_THE_PAGE = ("corpus", "tokenizer", "threads", "tracker", "keep_checkpoints", "snapshot_room")

IN_VIEW = ("preset", "init_from", "time_budget", "recipe")

#: Of what is folded away: (id, title, settings).
GROUPS = (
    (
        "text",
        "What it learns from",
        ("objective", "documents", "text_field", "algorithm", "vocab_size", "lowercase"),
    ),
    (
        "reading",
        "How it is read and masked",
        (
            "causal_share",
            "mask_probability",
            "masking",
            "whole_word",
            "span_masking",
            "seq_len",
            "short_seq_len",
            "short_share",
            "short_seq_probability",
        ),
    ),
    (
        "optimising",
        "How it is optimised",
        (
            "batch_size",
            "learning_rate",
            "optimizer",
            "warmup",
            "dropout",
            "weight_decay",
            "beta2",
            "clip_norm",
            "accumulate",
            "precision",
            "share_layers",
        ),
    ),
    ("reporting", "Keeping and reporting", ("steps", "eval_every", "checkpoint_every", "seed")),
)

LABELS = {
    "recipe": "Recipe",
    "preset": "Model size",
    "init_from": "Start from",
    "time_budget": "Time to train",
    "steps": "Steps instead of a time",
    "objective": "Questions asked",
    "documents": "End of a document",
    "text_field": "Column that holds the text",
    "algorithm": "Word splitting",
    "vocab_size": "Size of the vocabulary",
    "lowercase": "Ignore capitals and accents",
    "causal_share": "Share of the run that reads forwards",
    "mask_probability": "Share of masked tokens",
    "masking": "Masks",
    "whole_word": "Mask whole words",
    "span_masking": "Mask neighbouring words",
    "seq_len": "Tokens in one example",
    "short_seq_len": "Tokens in one example at first",
    "short_share": "Share of the run with the shorter examples",
    "short_seq_probability": "Share of examples cut short",
    "batch_size": "Examples in one step",
    "learning_rate": "Peak learning rate",
    "optimizer": "Update rule",
    "warmup": "Warm-up",
    "dropout": "Dropout",
    "weight_decay": "Weight decay",
    "beta2": "Memory for past gradients",
    "clip_norm": "Longest gradient",
    "accumulate": "Parts of a step",
    "precision": "Number format",
    "share_layers": "Same weights in every layer",
    "eval_every": "Seconds between scores",
    "checkpoint_every": "Seconds between checkpoints",
    "seed": "Seed",
}

#: In place of the config's help, where that says no more than the label, or speaks of the command line.
HELP = {
    "recipe": "Each fills in the settings below, which can still be changed.",
    "preset": "Layers x hidden size. A larger model can learn more and takes longer to.",
    "init_from": "Continue a model that already reads English: better on a small text.",
    "time_budget": "Such as 90s, 10m or 2h.",
    "steps": "Leave empty to train for the time above.",
    "objective": "Masked words (mlm), and whether B follows A (nsp) or which sentence came first (sop).",
    "documents": "At a blank line or at the end of a file; auto looks at the text.",
    "text_field": "Of a table, such as a .csv or .jsonl; leave empty to have it guessed.",
    "algorithm": "WordPiece as in BERT, or byte pairs (bpe) as in RoBERTa.",
    "vocab_size": "Words and pieces of words, learnt from the text.",
    "lowercase": "Fewer different words to learn.",
    "causal_share": "At first it guesses each next word from those before it; 0 to mask words from the first step.",
    "mask_probability": "How many are asked for.",
    "masking": "Dynamic: fresh in every pass over the text. Static: ten passes that repeat, as in Google's code.",
    "whole_word": "All pieces of a word, not single ones.",
    "span_masking": "Up to ten in a row, as SpanBERT does.",
    "seq_len": "Longer ones show more context and take more time.",
    "short_seq_len": "Shorter examples are learnt from faster; 0 for the same length throughout.",
    "short_share": "The rest has the full length.",
    "short_seq_probability": "At random, so that short texts are met too.",
    "batch_size": "More make a step steadier and slower.",
    "learning_rate": "Leave empty for one that suits the size of the model.",
    "optimizer": "AdamW as in the paper, or Muon for the layers' matrices.",
    "warmup": "Share of the run in which the learning rate rises.",
    "dropout": "Share of the numbers that are dropped at random (the paper: 0.1).",
    "weight_decay": "How strongly weights are drawn towards zero.",
    "beta2": "How slowly AdamW forgets the size of past gradients (the paper: 0.999).",
    "clip_norm": "A longer one is shortened to this.",
    "accumulate": "Computed one after the other, to need less memory.",
    "precision": "Of the arithmetic; auto tries what is fast here.",
    "share_layers": "As in ALBERT: fewer weights, as much to compute.",
    "eval_every": "How often it is asked about the text kept aside.",
    "checkpoint_every": "How often it is saved, to be opened or to go on from.",
    "seed": "The start of all random numbers: the same gives the same run.",
}

RECIPES = {
    "lab": "The lab's own: reads forwards first, short examples first. Made for minutes on a small machine.",
    "paper": "As in BERT's paper (2018): masks from the first step, long examples, dropout. For days on many chips.",
    "roberta": "As RoBERTa (2019): no sentence pairs, byte pairs for WordPiece, a higher learning rate. For days.",
}
