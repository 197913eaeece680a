// A chart: a Plotly figure, and the same numbers in a table whose cells do what a click on their marks does.

import { elements, h, payloadView, setText } from 'lab/client/dom.js';
import { short, whole } from 'lab/client/format.js';
import { decodeBase64, saveBlob, saveButtons, saveCsv, saveJson } from 'lab/client/saving.js';
import { makeDataTable, makePlot } from 'lab/components/charts/plot.js';

/** A chart in `host`; `show(payload)` draws {title, sentence, note, file, figure, table, csv, picks, keys, caption}.
 * `onPick(pick)` is called for clicks on marks and cells that can be picked. `knobs` are next to the title; with
 * `savePage` the chart can be saved as a page of its own. `keys` is a legend, [[name, colour], ...]; `caption` is
 * the title of saved pictures, and `shapes()` returns what is drawn over them. */
export function makeChart(host, { onPick = () => {}, knobs = [], savePage = null } = {}) {
  const [heading, sentence, picture, legend, foot] = elements('p.heading', 'p.quiet', 'div', 'div.keys',
    'p.quiet.small');
  const scroller = h('div.plot', picture); // a hundred labels scroll
  const numbers = makeDataTable(readTable);
  const plot = makePlot(picture, pickMark);
  let payload = null;

  const saveImage = (format, type, decode) => async () => {
    const address = await plot.image(format, payload.caption ?? payload.title, payload.shapes?.());
    // An address is not fetched: the page's content security policy allows its own server only.
    saveBlob(`${payload.file}.${format}`, new Blob([decode(address.slice(address.indexOf(',') + 1))], { type }));
  };
  const buttons = saveButtons('the picture', {
    PNG: saveImage('png', 'image/png', decodeBase64),
    SVG: saveImage('svg', 'image/svg+xml', decodeURIComponent),
    CSV: () => saveCsv(`${payload.file}.csv`, payload.csv ?? [payload.table.header, ...payload.table.rows]),
    JSON: () => saveJson(`${payload.file}.json`, payload),
  }, savePage && (() => savePage(payload.file)));
  host.classList.add('chart');
  host.append(h('div.bar', heading, ...knobs, buttons), sentence, scroller, legend, foot, numbers.node);

  function show(body) {
    payload = body;
    setText(heading, body.title);
    setText(sentence, body.sentence);
    setText(foot, body.note);
    legend.replaceChildren(...(body.keys ?? [])
      .map(([name, paint]) => h('span.key', h('i', { style: `background: ${paint}` }), h('span', `${name} `, h('b')))));
    legend.hidden = !body.keys?.length;
    scroller.classList.toggle('picks', Boolean(body.picks?.length));
    numbers.fill();
    return plot.show(body.figure, `${body.title}. ${body.sentence ?? ''} The numbers are in the data table below.`);
  }

  function readTable() {
    const { header, rows } = payload.table;
    const isCount =
      header.map((_, column) => rows.every((row) => typeof row[column] !== 'number' || Number.isInteger(row[column])));
    // The text of a bar, such as a percentage, is in its cell too.
    const label = (row, column) => (payload.kind === 'bars' && column ? payload.texts[column - 1]?.[row] : undefined);
    const cell = (value, row, column) => {
      const shown = label(row, column) ?? value;
      const text = typeof shown === 'number' ? (isCount[column] ? whole : short)(shown) : shown ?? '';
      const item = column ? itemAt(row, column - 1) : null;
      return item ? h('button.pick', { 'data-item': item.number, onclick: () => onPick(item.pick) },
        text === '' ? '–' : text) : text;
    };
    return { header, rows: rows.slice(0, 600), cell };
  }

  /** Return what a cell of the table represents: {number, pick}; null where nothing can be picked. */
  function itemAt(row, column) {
    if (!payload.picks?.length) return null;
    const [pick, across] = payload.kind === 'matrix' ? [payload.picks[row]?.[column], payload.picks[0].length]
      : [payload.picks[column]?.[row], payload.picks.length];
    return pick ? { number: row * across + column, pick } : null;
  }

  function pickMark(trace, point) {
    const [first, second] = Array.isArray(point) ? point : [trace, point];
    const pick = payload.picks?.[first]?.[second];
    if (pick) onPick(pick);
  }

  /** Write values behind the names of the legend. */
  const tell = (values) => legend.querySelectorAll('b').forEach((node, place) => { node.textContent = values[place]; });
  return { show, picture, tell };
}

/** A chart as a drawing of its own. */
export default payloadView('Nothing has been computed yet.', (content, { events, savePage }) =>
  makeChart(content, { onPick: (pick) => events.item_select?.(pick), savePage }).show);
