"""Corpora: files of text in, documents of sentences out.

In reading order: `read` (entry point, fingerprint), `sources` (paths to readable files), `streams` (their bytes),
`encodings` (bytes to text), `formats` (one module per format), `reading_notes` (how files were read), `health` and
`health_report` (suitability for training, writing systems).
"""
