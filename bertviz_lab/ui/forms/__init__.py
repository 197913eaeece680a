"""What the forms of Train share: `fields` describes an option for `client/form.js`, `texts` and `form` are about a text
and the settings of its pretraining, `task_form` about labeled examples and the settings of a fine-tuning.
"""
