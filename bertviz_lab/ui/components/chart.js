// A chart: a Plotly figure, and the same numbers in a table whose cells do what a click on their marks does.

const view = onPayload('Nothing has been computed yet.', show);
const heading = h('p', { class: 'heading' });
const sentence = h('p', { class: 'quiet' });
const host = h('div');
const scroller = h('div', { class: 'plot' }, host); // a hundred labels scroll
const legend = h('div', { class: 'keys' });
const foot = h('p', { class: 'quiet small' });
const numbers = h('details', { class: 'table' }, h('summary', {}, 'Data table'), h('div', { class: 'numbers', tabindex: '0' }));
const plot = makePlot(host, pickMark);
let payload = null;

const saveImage = async (format) => {
  const address = await plot.image(format, payload.title);
  const blob = await (await fetch(address)).blob();
  saveBlob(`${payload.file}.${format}`, blob);
};
const buttons = saveButtons('the picture', {
  PNG: () => saveImage('png'),
  SVG: () => saveImage('svg'),
  CSV: () => saveCsv(`${payload.file}.csv`, [payload.table.header, ...payload.table.rows]),
  JSON: () => saveJson(`${payload.file}.json`, payload),
}, () => payload.file);
view.content.append(h('div', { class: 'bar' }, heading, buttons), sentence, scroller, legend, foot, numbers);

function show(body) {
  payload = body;
  heading.textContent = body.title;
  sentence.textContent = body.sentence;
  sentence.hidden = !body.sentence;
  foot.textContent = body.note;
  foot.hidden = !body.note;
  // Plotly names its traces; the two looks of columns are no traces of their own.
  const names = body.kind === 'columns' ? body.names : [];
  legend.replaceChildren(...names.map((name, place) => h('span', { class: 'key' },
    h('i', { style: `background: var(${['--lab-a', '--lab-b'][place % 2]})` }), name)));
  legend.hidden = names.length < 2;
  scroller.classList.toggle('picks', Boolean(body.picks?.length));
  if (numbers.open) fillTable();
  plot.show(body.figure, `${body.title}. ${body.sentence ?? ''} The numbers are in the data table below.`);
}

numbers.addEventListener('toggle', () => numbers.open && fillTable());

function fillTable() {
  const { header, rows } = payload.table;
  const cell = (value) => (typeof value === 'number' ? short(value) : value ?? '');
  const shown = (value, row, place) => {
    const item = itemAt(row, place);
    return item === null ? cell(value) : h('button', { type: 'button', class: 'pick', 'data-item': item.number,
      onclick: () => trigger('item_select', item.pick) }, cell(value) === '' ? '–' : cell(value));
  };
  numbers.lastChild.replaceChildren(h('table', {}, h('thead', {}, h('tr', {}, ...header.map((name) => h('th', { scope: 'col' }, name)))),
    h('tbody', {}, ...rows.slice(0, 600).map((values, row) => h('tr', {}, ...values.map((value, place) =>
      (place === 0 ? h('th', { scope: 'row' }, cell(value)) : h('td', {}, shown(value, row, place - 1)))))))));
}

/** What a cell of the table stands for: {number, pick}; null where nothing can be picked. */
function itemAt(row, column) {
  if (!payload.picks?.length) return null;
  const pick = payload.kind === 'matrix' ? payload.picks[row]?.[column] : payload.picks[column]?.[row];
  const across = payload.kind === 'matrix' ? payload.picks[0].length : payload.picks.length;
  return pick ? { number: row * across + column, pick } : null;
}

function pickMark(trace, point) {
  const pick = Array.isArray(point) ? payload.picks?.[point[0]]?.[point[1]] : payload.picks?.[trace]?.[point];
  if (pick) trigger('item_select', pick);
}

view.start();
