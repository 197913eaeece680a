"""File formats of a corpus: each module converts one format to paragraphs.

In reading order: `markup` and `layout` (paragraphs and documents of a text file), `text`, `markdown`, `tables`,
`records`, `hub`; `fields` (which column is the text).
"""
