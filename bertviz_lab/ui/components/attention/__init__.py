"""Every head of every layer: overview, heatmap, lines and details, and the heads of several models side by side."""
