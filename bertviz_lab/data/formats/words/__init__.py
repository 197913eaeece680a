"""Words with a label each: columns of words and labels, and spans of characters.

In reading order: `span_labels` (the schemes in which labels mark spans, BIO and others), `conll` (a word and its label
a line, CoNLL-U, words with their tags in lines, and such words in tables), `character_spans` (entities by their offsets
in a text, also those of brat in a file of their own).
"""
