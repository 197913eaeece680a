"""Charts in the browser: Plotly draws them, and their data table does what a click on their marks does."""

from playwright.sync_api import Locator, expect


def data_table(chart: Locator) -> Locator:
    """The rows of a chart's data table, which is unfolded; its cells that can be picked are buttons [data-item]."""
    table = chart.locator("details.table")
    if table.get_attribute("open") is None:
        table.locator("summary").click()
    return table.locator("tbody")


def expect_marks(chart: Locator, count: int) -> None:
    """Wait until Plotly has drawn so many bars or points, or for a heatmap (`count` 1) its cells."""
    expect(chart.locator(".plot :is(.point, .heatmaplayer image)")).to_have_count(count)
