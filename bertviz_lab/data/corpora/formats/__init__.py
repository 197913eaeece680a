"""File formats of a corpus: each module converts one format to paragraphs.

In reading order: `layout` (what the lines of a text file mean), `text`, `markdown`, `tables`, `records`, `hub`;
`fields` (which column is the text).
"""
