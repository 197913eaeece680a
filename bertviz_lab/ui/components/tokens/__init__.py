"""Text as tokens: the strip of one input, how a word splits, words with scores, and what could fill a mask."""
