"""Corpora: files of text in, documents of sentences out.

In reading order: `read` (entry point), `sources` (paths to readable files), `meter` (bytes read), `file_signatures` and
`encodings` (bytes to text), `formats` (one module per format), `reading_notes` (how files were read), `fingerprint`,
`writing_system`, `health` and `health_warnings` (suitability for training).
"""
