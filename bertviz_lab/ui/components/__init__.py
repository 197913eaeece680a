"""The pictures of the page that Gradio has no component for. Each is one function that returns a `gr.HTML`."""

from bertviz_lab.ui.components.attention_grid import attention_grid
from bertviz_lab.ui.components.fill_mask_bars import fill_mask_bars
from bertviz_lab.ui.components.loss_chart import loss_chart
from bertviz_lab.ui.components.masking_strip import masking_strip
from bertviz_lab.ui.components.token_strip import token_strip

__all__ = ["attention_grid", "fill_mask_bars", "loss_chart", "masking_strip", "token_strip"]
