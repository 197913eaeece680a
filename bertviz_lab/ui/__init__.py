"""The page: everything that knows Gradio."""
