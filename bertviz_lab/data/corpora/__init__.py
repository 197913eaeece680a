"""Corpora: files of text in, documents of sentences out.

In reading order: `read` (the way in), `sources` (paths to readable files), `file_signatures` and `encodings` (bytes to
text), `formats` (one module a format), `sentences` (the splitter), `document`, `reading_notes` (what
was found), `fingerprint`, `health` and `health_warnings` (is this text fit to train on).
"""
