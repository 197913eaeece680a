"""Charts with axes, drawn by Plotly: bars, lines, matrices and planes, live curves, and what a data set holds."""
