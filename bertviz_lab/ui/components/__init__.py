"""The drawings of the page: charts, tokens, attention, data and runs, each an ES module.

`standalone` lists them and makes a page of one.
"""
