"""File formats of a corpus: each module converts one format to paragraphs.

In reading order: `layout` (markup, paragraphs and documents of a text file), `text` (also which column is the text),
`markdown`, `tables`, `records`, `hub`.
"""
