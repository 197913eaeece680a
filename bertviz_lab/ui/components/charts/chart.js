// A chart: a Plotly figure, and the same numbers in a table whose cells do what a click on their marks does.

import { h, payloadView, setText } from 'lab/client/dom.js';
import { short, whole } from 'lab/client/format.js';
import { saveButtons } from 'lab/client/picture.js';
import { decodeBase64, saveBlob, saveCsv, saveJson } from 'lab/client/saving.js';
import { makeDataTable, makePlot } from 'lab/components/charts/plot.js';

/**
 * A chart in `host`; `show(payload)` draws {title, sentence, note, file, figure, table, csv, picks, keys, caption}.
 * `onPick(pick)` is called for clicks on marks and cells that can be picked. `knobs` are next to the title; with
 * `savePage` the chart can be saved as a page of its own. `keys` is a legend, [[name, colour], ...]; `caption` is
 * the title of saved pictures, and `shapes()` returns what is drawn over them.
 */
export function makeChart(host, { onPick = () => {}, knobs = [], savePage = null } = {}) {
  const heading = h('p', { class: 'heading' });
  const sentence = h('p', { class: 'quiet' });
  const picture = h('div');
  const scroller = h('div', { class: 'plot' }, picture); // a hundred labels scroll
  const legend = h('div', { class: 'keys' });
  const foot = h('p', { class: 'quiet small' });
  const numbers = makeDataTable(readTable);
  const plot = makePlot(picture, pickMark);
  let payload = null;

  const saveImage = async (format) => {
    const address = await plot.image(format, payload.caption ?? payload.title, payload.shapes?.());
    // An address is not fetched: the page's content security policy allows its own server only.
    const content = address.slice(address.indexOf(',') + 1);
    const [type, bytes] = format === 'png' ? ['image/png', decodeBase64(content)] : ['image/svg+xml',
      decodeURIComponent(content)];
    saveBlob(`${payload.file}.${format}`, new Blob([bytes], { type }));
  };
  const buttons = saveButtons('the picture', {
    PNG: () => saveImage('png'),
    SVG: () => saveImage('svg'),
    CSV: () => saveCsv(`${payload.file}.csv`, payload.csv ?? [payload.table.header, ...payload.table.rows]),
    JSON: () => saveJson(`${payload.file}.json`, payload),
  }, savePage && (() => savePage(payload.file)));
  host.classList.add('chart');
  host.append(h('div', { class: 'bar' }, heading, ...knobs, buttons), sentence, scroller, legend, foot, numbers.node);

  function show(body) {
    payload = body;
    for (const [node, text] of [[heading, body.title], [sentence, body.sentence], [foot, body.note]]) setText(node,
      text);
    legend.replaceChildren(...(body.keys ?? []).map(([name, paint]) => h('span', { class: 'key' },
      h('i', { style: `background: ${paint}` }), h('span', {}, `${name} `, h('b')))));
    legend.hidden = !body.keys?.length;
    scroller.classList.toggle('picks', Boolean(body.picks?.length));
    numbers.fill();
    return plot.show(body.figure, `${body.title}. ${body.sentence ?? ''} The numbers are in the data table below.`);
  }

  function readTable() {
    const counts = payload.table.header.map((_, column) => payload.table.rows
      .every((row) => typeof row[column] !== 'number' || Number.isInteger(row[column])));
    const write = (value, column) => (typeof value === 'number' ? (counts[column] ? whole : short)(value) : value
      ?? '');
    const cell = (value, row, column) => {
      const item = column ? itemAt(row, column - 1) : null;
      const text = write(column ? label(row, column - 1) ?? value : value, column);
      return item === null ? text : h('button', { type: 'button', class: 'pick', 'data-item': item.number,
        onclick: () => onPick(item.pick) }, text === '' ? '–' : text);
    };
    return { header: payload.table.header, rows: payload.table.rows.slice(0, 600), cell };
  }

  /** The text of a bar, such as a percentage, is in its cell too. */
  const label = (row, column) => (payload.kind === 'bars' ? payload.texts[column]?.[row] : undefined);

  /** Return what a cell of the table represents: {number, pick}; null where nothing can be picked. */
  function itemAt(row, column) {
    if (!payload.picks?.length) return null;
    const [pick, across] = payload.kind === 'matrix' ? [payload.picks[row]?.[column], payload.picks[0].length]
      : [payload.picks[column]?.[row], payload.picks.length];
    return pick ? { number: row * across + column, pick } : null;
  }

  function pickMark(trace, point) {
    const pick = Array.isArray(point) ? payload.picks?.[point[0]]?.[point[1]] : payload.picks?.[trace]?.[point];
    if (pick) onPick(pick);
  }

  return { show, picture,
    /** Write values behind the names of the legend. */
    tell: (values) => legend.querySelectorAll('b').forEach((node, place) => { node.textContent = values[place]; }) };
}

/** A chart as a drawing of its own. */
export default function chart(root, first, { label, events = {}, savePage } = {}) {
  const view = payloadView(root, label, 'Nothing has been computed yet.', (payload) => drawn.show(payload));
  const drawn = makeChart(view.content, { onPick: (pick) => events.item_select?.(pick), savePage });
  return view.start(first);
}
