"""Between browser and Python: what is served, asked, checked and refused.

In reading order: `bundle` (scripts and rules), `questions` (what scripts ask), `validation` and `error_handling` (what
comes in, what is told), `uploads` and `downloads` (files), `access` (who may change a run) and `run_changes`, `api`
(endpoints for programs).
"""
