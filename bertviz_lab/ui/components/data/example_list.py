"""A list of examples with what is true and what the model said, each one click away.

Its value comes from `figures.training.examples.examples_payload`. Event: `example_select` {index}, the example's own
number, when it is clicked or chosen by Enter.
"""

from bertviz_lab.ui.components.assemble import Assembly

EXAMPLE_LIST = Assembly("examples", ("example_list.js",), ("example_list.css",))
