"""Files in, paragraphs out: what may be read, how it is recognised, and one module a format.

In reading order: `sources` (paths to readable files), `signatures` and `encodings` (bytes to text), `layout`
(what lines mean),
then `text`, `markdown`, `tables` and `records` (a format each); `notes` keeps what is seen.
"""
