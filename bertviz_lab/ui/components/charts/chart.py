"""A picture of numbers: a shaded table, bars, columns, points in a plane, or lines.

Its value comes from a function of `figures.charts`, which also says what can be picked. Event: `item_select`, {row,
column} of a shaded table.
"""

from bertviz_lab.ui.components.assemble import Assembly

CHART = Assembly("chart", ("plot.js", "chart.js", "chart_island.js"), ("chart.css",))
