// What Plotly figures share: colors, labels and their ground.
//
// Colors are the page's CSS variables, so that light and dark need no second figure. Plotly reads a little HTML in its
// labels, so every text is escaped.

/** The data colors of the page; the first two differ in lightness too. */
export const COLORS = ['var(--lab-a)', 'var(--lab-b)', 'var(--lab-kept)', 'var(--lab-mask)'];
export const [TEXT, QUIET, EDGE, PAGE] = ['text', 'quiet', 'edge', 'page'].map((name) => `var(--lab-${name})`);

export const escaped = (text) => String(text).replace(/[\x00-\x1f\x7f]/g, ' ') // which no SVG may hold
  .replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Traces on a transparent background, `height` pixels high; `drag` is what dragging does. */
export function plotOf(data, { height, x, y, legend = false, drag = false, margin = {}, hoverlabel = {}, ...more }) {
  const axis = { gridcolor: EDGE, linecolor: EDGE, zerolinecolor: EDGE, automargin: true };
  return { data, layout: {
    // The tool bar is beside the plot, not over it.
    template: {}, height, margin: { l: 8, r: drag ? 34 : 12, t: 8, b: 8, ...margin },
    paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', font: { color: TEXT, size: 12 },
    showlegend: legend, legend: { orientation: 'h', x: 0, y: 1.02, yanchor: 'bottom' },
    hoverlabel: { align: 'left', ...hoverlabel },
    modebar: { orientation: 'v', bgcolor: 'rgba(0,0,0,0)', color: QUIET, activecolor: TEXT }, dragmode: drag,
    xaxis: { ...axis, ...x }, yaxis: { ...axis, ...y }, ...more,
  } };
}
