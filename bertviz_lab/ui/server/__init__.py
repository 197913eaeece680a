"""Between browser and Python: what is served, asked, checked and refused.

In reading order: `assets` (modules and rules), `questions` (what scripts ask), `error_handling` (what is told),
`uploads` and `downloads` (files), `visitors` (who asks), `run_quota` (what a visitor may train), `scheduler` (who is
served next), `api` (endpoints for programs).
"""
