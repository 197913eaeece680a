"""The published edition: a model as a web page that needs no server.

In reading order: `graph` (a model as an ONNX graph with interventions as inputs), `causes_graph` (another for
activation patching), `export` (both as files that share the weights), `facts` (what Python knows of a model besides),
`recorded` (answers that a page cannot compute), `site` (the files of a page, in a folder or in one). `engine/` answers
in the browser what the views ask: a worker with ONNX Runtime Web (`worker.js`, `model.js`), tokens and their places
(`tokenizer.js`), arithmetic (`numeric.js`), and the answers of each view. `vendor/` has both libraries at the versions
that its README names.
"""
