// Plotly figures in a place of the page: in its colors, as wide as it is, and only while they can be seen. A chart is
// one with its numbers in a table, whose cells do what a click on their marks does.

import { onThemeChange, pageColor, plainPaint } from 'lab/client/colors.js';
import { elements, h, makeTable, payloadView } from 'lab/client/dom.js';
import { aligned } from 'lab/client/format.js';
import { makeFrame, pictureOf } from 'lab/client/saving.js';

/** Load Plotly when it is first needed; a page of one drawing has it already. */
async function loadPlotly() {
  if (!window.Plotly) await import('lab/vendor/plotly-cartesian.min.js').catch(() => {
    throw new Error('The chart library could not be loaded. Is the server still running?');
  });
  return window.Plotly;
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

/** A plot in `host`. `show(figure, description)` draws {data, layout}. `on` are listeners to Plotly's own events. */
export function makePlot(host, on) {
  let figure = null;
  let drawn = null; // what is on show: nothing is drawn twice
  let subject = 0; // a zoom is kept while it is the same
  host.classList.add('plotly-host');

  const size = () => ({ width: Math.max(120, host.clientWidth), height: figure.layout.height ?? 320 });

  async function draw(force = false) {
    if (!figure || host.clientWidth === 0 || (!force && drawn === figure)) return;
    const mine = figure;
    const library = await loadPlotly();
    if (mine !== figure) return;
    const { data, layout } = inColors(figure);
    layout.font.family = getComputedStyle(host).fontFamily;
    const options = { displaylogo: false, displayModeBar: layout.dragmode ? 'hover' : false,
      modeBarButtonsToRemove: ['toImage', 'lasso2d', 'select2d'] };
    const first = !host.data;
    await withoutBase(() =>
      library.react(host, data, { ...layout, ...size(), uirevision: `${layout.uirevision} ${subject}` }, options));
    drawn = mine;
    if (first) Object.entries(on).forEach(([name, act]) => host.on(name, act));
  }

  new ResizeObserver(() => {
    const isOther = drawn && host.clientWidth && Math.abs(host.clientWidth - host.layout.width) > 1;
    if (isOther) window.Plotly.relayout(host, size());
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
    pointAt: (x) => drawn && (x === null ? window.Plotly.Fx.unhover(host, {})
      : window.Plotly.Fx.hover(host, { xval: x }, ['xy'])),
  };
}

/** Return a function that has `draw` called soon, once however often it is asked for. Several plots have places: all at
 * once they would hold up the page. */
export function inTurn(draw, place = 0) {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    setTimeout(() => {
      waits = false;
      draw();
    }, 16 * place);
  };
}

/** The numbers of a chart behind a fold. `read()` returns [header, rows of texts and nodes]. */
export function makeDataTable(read) {
  const place = h('div.numbers.box', { tabindex: '0' });
  const node = h('details.table', { ontoggle: fill }, h('summary', 'Data table'), place);
  function fill() {
    if (node.open) place.replaceChildren(makeTable(...read()));
  }
  return { node, fill };
}

/** A chart in `host`; `show(payload)` draws {title, sentence, note, file, figure, table, csv, picks, keys, caption}, at
 * least `width` pixels wide.
 * `onPick(pick)` is called for clicks on cells of a heat map or points that can be picked. `knobs` are next to the
 * title; `savePage` and `captionOf` are those of `saveDrawing`. `keys` is a legend, [[name, colour], ...];
 * `caption` is the title of saved pictures. */
export function makeChart(host, { onPick = () => {}, knobs = [], savePage, captionOf } = {}) {
  const [picture, legend] = elements('div', 'div.keys');
  const scroller = h('div.plot', picture); // a hundred labels scroll, with the arrow keys too
  new ResizeObserver(() => {
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = scroller;
    if (scrollWidth > clientWidth || scrollHeight > clientHeight) scroller.tabIndex = 0;
    else scroller.removeAttribute('tabindex');
  }).observe(picture);
  const numbers = makeDataTable(readTable);
  const plot = makePlot(picture, { plotly_click({ points: [{ pointNumber }] }) {
    const [row, column = 0] = [pointNumber].flat(); // of a heat map it is [row, column]
    const pick = payload.picks?.[row]?.[column];
    if (pick) onPick(pick);
  } });
  let payload = null;

  const frame = makeFrame('the picture', { knobs, savePage, captionOf, picture: (title) => pictureOf(picture, title),
    rows: ({ csv, table }) => csv ?? [table.header, ...table.rows] });
  host.classList.add('chart');
  host.append(...frame.top, scroller, legend, frame.foot, numbers.node);

  function show(body) {
    payload = body;
    frame.caption(body);
    picture.style.minWidth = `${body.width ?? 0}px`;
    legend.replaceChildren(...(body.keys ?? [])
      .map(([name, paint]) => h('span.key', h('i', { style: `background: ${paint}` }), h('span', `${name} `, h('b')))));
    legend.hidden = !body.keys?.length;
    scroller.classList.toggle('picks', Boolean(body.picks?.length));
    numbers.fill();
    return plot.show(body.figure, `${body.title}. ${body.sentence ?? ''} The numbers are in the data table below.`);
  }

  function readTable() {
    const { table: { header, rows }, texts, picks } = payload;
    const formats = header.map((_, column) => aligned(rows.map((row) => row[column])));
    const cell = (value, row, column) => {
      const shown = texts?.[column - 1]?.[row] ?? value; // the text of a bar, such as a percentage
      const text = typeof shown === 'number' ? formats[column](shown) : shown ?? '';
      const pick = picks?.[row]?.[column - 1];
      return pick ? h('button.pick', { 'data-item': row * picks[0].length + column - 1, onclick: () => onPick(pick) },
        text === '' ? '–' : text) : text;
    };
    return [header, rows.slice(0, 600).map((values, row) => values.map((value, column) => cell(value, row, column)))];
  }

  /** Write values behind the names of the legend. */
  const tell = (values) => legend.querySelectorAll('b').forEach((node, place) => { node.textContent = values[place]; });
  return { show, picture, tell };
}

/** A chart as a drawing of its own. */
export default payloadView('Nothing has been computed yet.', (content, { events, savePage, captionOf }) =>
  makeChart(content, { onPick: (pick) => events.item_select?.(pick), savePage, captionOf }).show);
