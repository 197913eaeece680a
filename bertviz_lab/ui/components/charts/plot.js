// Plotly figures in a place of the page: in its colors, as wide as it is, and only while they can be seen.

import { onThemeChange, pageColor, plainPaint } from 'lab/client/colors.js';
import { h, makeTable } from 'lab/client/dom.js';

let plotly = null;

function loadPlotly() {
  plotly ??= window.Plotly ? Promise.resolve(window.Plotly) : new Promise((resolve, reject) => {
    const onerror = () => {
      plotly = null; // the server may be away for a moment
      reject(new Error('The chart library could not be loaded. Is the server still running?'));
    };
    document.head.append(h('script', { src: import.meta.resolve('lab/vendor/plotly-cartesian.min.js'),
      onload: () => resolve(window.Plotly), onerror }));
  });
  return plotly;
}

/** A copy in which every `var(--name)` is the page's color of now. */
function inColors(value) {
  if (typeof value === 'string') return value.startsWith('var(') ? plainPaint(pageColor(value.slice(4, -1))) : value;
  if (Array.isArray(value)) return value.map(inColors);
  if (value && typeof value === 'object' && !ArrayBuffer.isView(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, inColors(part)]));
  }
  return value;
}

/** Where a page has a <base>, as Gradio's has, Plotly writes the page's address into references to clip paths; when
 * the address changes later, as settings do, the marks would vanish. Plotly looks for it when it starts to draw. */
function withoutBase(act) {
  const base = document.querySelector('base[href]');
  const href = base?.getAttribute('href');
  base?.removeAttribute('href');
  try {
    return act();
  } finally {
    base?.setAttribute('href', href);
  }
}

/** A plot in `host`. `show(figure, description)` draws {data, layout}; `image(format, title, shapes)` is a picture
 * of it as an address, with further shapes. `onPick(trace, point)` is called for clicks; a point of a heatmap is
 * [row, column]. `on` are listeners to Plotly's own events. */
export function makePlot(host, onPick = () => {}, on = {}) {
  let figure = null;
  let drawn = null; // what is on show: nothing is drawn twice
  let library = null;
  let subject = 0; // a zoom is kept while it is the same
  host.classList.add('plotly-host');

  const size = () => ({ width: Math.max(120, host.clientWidth), height: figure.layout.height ?? 320 });

  async function draw(force = false) {
    if (!figure || host.clientWidth === 0 || (!force && drawn === figure)) return;
    const mine = figure;
    library ??= await loadPlotly();
    if (mine !== figure) return;
    const { data, layout } = inColors(figure);
    layout.font.family = getComputedStyle(host).fontFamily;
    const options = { displaylogo: false, displayModeBar: layout.dragmode ? 'hover' : false,
      modeBarButtonsToRemove: ['toImage', 'lasso2d', 'select2d'] };
    const first = !host.data;
    await withoutBase(() =>
      library.react(host, data, { ...layout, ...size(), uirevision: `${layout.uirevision} ${subject}` }, options));
    drawn = mine;
    if (!first) return;
    host.on('plotly_click', ({ points: [point] }) => onPick(point.curveNumber, point.pointNumber));
    for (const [name, act] of Object.entries(on)) host.on(name, act);
  }

  new ResizeObserver(() => {
    if (drawn && host.clientWidth && Math.abs(host.clientWidth - host.layout.width) > 1) library.relayout(host, size());
    else draw();
  }).observe(host);
  onThemeChange(host, () => draw(true));

  return {
    show(next, description) {
      figure = next;
      host.style.minHeight = `${next.layout.height ?? 320}px`; // nothing jumps when it comes
      // an image holds no buttons, such as those to zoom
      host.setAttribute('role', next.layout.dragmode ? 'group' : 'img');
      host.setAttribute('aria-label', description);
      return draw();
    },
    /** What comes next is about something else: its axes start again. */
    forget() { subject += 1; },
    /** The part of the x-axis that a person has zoomed into while a figure had this revision; null for all of it. */
    shown: (revision) => (host.layout?.uirevision === `${revision} ${subject}` && host.layout.xaxis.autorange === false
      ? host.layout.xaxis.range : null),
    /** Show the values at x, as if it was pointed at; null for none. */
    pointAt: (x) => drawn && (x === null ? library.Fx.unhover(host, {}) : library.Fx.hover(host, { xval: x }, ['xy'])),
    async image(format, title, shapes = []) {
      library ??= await loadPlotly();
      const { data, layout } =
        inColors({ ...figure, layout: { ...figure.layout, shapes: [...figure.layout.shapes ?? [], ...shapes] } });
      const { width, height } = size();
      const head = { title: { text: title.replaceAll('<', '&lt;'), x: 0.02, font: { size: 15 } },
        margin: { ...layout.margin, t: 44, l: 16, r: 16, b: 16 } };
      return library.toImage({ data,
        layout: { ...layout, ...head, paper_bgcolor: plainPaint(pageColor('--lab-page')) } },
        { format, width, height: height + 60, scale: format === 'png' ? 2 : 1 });
    },
  };
}

/** Draw several plots, one a frame: all at once they would hold up the page. `list()` returns what is to be drawn,
 * `draw` draws one of them. However often `want()` is called meanwhile, they are drawn once more. */
export function makeTurns(list, draw) {
  let [running, wanted] = [false, false];
  async function want() {
    wanted = true;
    if (running) return;
    running = true;
    try {
      while (wanted) {
        wanted = false;
        for (const item of list()) {
          await new Promise(requestAnimationFrame);
          await draw(item);
        }
      }
    } finally {
      running = false;
    }
  }
  return { want };
}

/** The numbers of a chart behind a fold. `read()` returns {header, rows, cell(value, row, column)}. */
export function makeDataTable(read) {
  const place = h('div.numbers', { tabindex: '0' });
  const node = h('details.table', { ontoggle: fill }, h('summary', 'Data table'), place);
  function fill() {
    if (!node.open) return;
    const { header, rows, cell } = read();
    place.replaceChildren(makeTable(header,
      rows.map((values, row) => values.map((value, column) => cell(value, row, column)))));
  }
  return { node, fill };
}
