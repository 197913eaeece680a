"""The pictures of the page that Gradio has no component for.

Each file declares an `Assembly`: the scripts and style sheets of a picture, what its value is and what it asks and
tells. Panels mount them by name (`client/panel.js`); the forms, made of Gradio's components, by `assemble.component`.
What they draw names the rooms: `attention/`, `tokens/`, `charts/`, `data/`, `runs/`; `facts` and `notice` serve all.
"""
