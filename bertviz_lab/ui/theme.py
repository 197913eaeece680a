"""The look of the page: quiet colors that can be read, and fonts that every machine has."""

import gradio as gr

_SANS = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "Helvetica Neue", "Arial", "sans-serif")
_MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "Liberation Mono", "monospace")
#: By day and by night.
_COLORS = {
    "body_background_fill": ("white", "*neutral_950"),
    "body_text_color": ("*neutral_800", "*neutral_100"),
    "body_text_color_subdued": ("*neutral_600", "*neutral_300"),
    "block_title_text_color": ("*neutral_700", "*neutral_200"),
    "block_label_text_color": ("*neutral_700", "*neutral_200"),
    "block_info_text_color": ("*neutral_600", "*neutral_300"),
    "input_placeholder_color": ("*neutral_500", "*neutral_400"),
    "link_text_color": ("*primary_700", "*primary_300"),
    "button_primary_background_fill": ("*primary_700", "*primary_600"),
    "button_primary_background_fill_hover": ("*primary_800", "*primary_500"),
}


def theme() -> gr.themes.Base:
    """Return the theme, light and dark; text has a contrast of at least 4.5 to 1 in both."""
    return gr.themes.Default(
        primary_hue=gr.themes.colors.indigo,
        secondary_hue=gr.themes.colors.indigo,
        neutral_hue=gr.themes.colors.slate,
        font=_SANS,
        font_mono=_MONO,
        radius_size=gr.themes.sizes.radius_md,
    ).set(
        block_shadow="none",
        block_border_width="1px",
        **{name: day for name, (day, _) in _COLORS.items()},
        **{f"{name}_dark": night for name, (_, night) in _COLORS.items()},
    )
