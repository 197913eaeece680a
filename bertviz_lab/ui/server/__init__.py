"""Between browser and Python: what is served, asked, checked and refused.

In reading order: `assets` (modules and rules), `questions` (what scripts ask), `validation` and `error_handling` (what
comes in, what is told), `uploads` and `downloads` (files), `visitors` (who asks), `access` (who may change a run),
`run_quota` (what a visitor may train), `scheduler` (who is served next), `run_changes` and
`publishing` (a model to the hub), `api` (endpoints for programs).
"""
