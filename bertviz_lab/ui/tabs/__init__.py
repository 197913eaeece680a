"""The tabs, one file each, in the order in which they stand on the page."""

from bertviz_lab.ui.tabs.attention import create_attention
from bertviz_lab.ui.tabs.compare import create_compare
from bertviz_lab.ui.tabs.fill_mask import create_fill_mask
from bertviz_lab.ui.tabs.finetune import create_finetune
from bertviz_lab.ui.tabs.input import create_input
from bertviz_lab.ui.tabs.learn import create_learn
from bertviz_lab.ui.tabs.learning import create_learning
from bertviz_lab.ui.tabs.masking import create_masking
from bertviz_lab.ui.tabs.next_sentence import create_next_sentence
from bertviz_lab.ui.tabs.pretrain import create_pretrain
from bertviz_lab.ui.tabs.try_it import create_try_it
from bertviz_lab.ui.tabs.vectors import create_vectors
from bertviz_lab.ui.tabs.why import create_why

__all__ = [
    "create_attention",
    "create_compare",
    "create_fill_mask",
    "create_finetune",
    "create_input",
    "create_learn",
    "create_learning",
    "create_masking",
    "create_next_sentence",
    "create_pretrain",
    "create_try_it",
    "create_vectors",
    "create_why",
]
