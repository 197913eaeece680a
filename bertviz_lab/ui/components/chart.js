// A picture of numbers: a table of shaded cells, bars, points in a plane, or lines. Whatever it is, pointer and arrow
// keys reach every item, the line below says what it is, and the numbers stand in a table.

const view = onPayload('Nothing has been computed yet.', show);
const heading = h('p', { class: 'heading' });
const sentence = h('p', { class: 'quiet' });
const plot = h('div', { class: 'plot', tabindex: '0', role: 'application', 'aria-roledescription': 'chart' });
const readout = h('p', { class: 'readout', 'aria-live': 'polite', 'data-noexport': '' });
const legend = h('div', { class: 'keys' });
const foot = h('p', { class: 'quiet small' });
const numbers = h('details', { 'data-noexport': '' }, h('summary', {}, 'Data table'), h('div', { class: 'numbers' }));
const picture = h('div');
const KINDS = { matrix: drawMatrix, bars: drawBars, columns: drawColumns, plane: drawPlane, lines: drawLines };
let payload = null;
let items = []; // {words, pick} in the order of the drawing's data-item
let across = 1; // items in a row, for the arrow keys
let current = 0;
let width = 0;

const buttons = saveButtons('the picture', {
  PNG: () => savePng(`${payload.file}.png`, entirePicture()),
  SVG: () => saveSvg(`${payload.file}.svg`, entirePicture()),
  CSV: () => saveCsv(`${payload.file}.csv`, [payload.table.header, ...payload.table.rows]),
  JSON: () => saveJson(`${payload.file}.json`, payload),
}, () => payload.file);
picture.append(h('div', { class: 'bar' }, heading, buttons), sentence, plot, legend, foot);
view.content.append(picture, readout, numbers);

function show(body) {
  payload = body;
  heading.textContent = body.title;
  sentence.textContent = body.sentence;
  sentence.hidden = !body.sentence;
  foot.textContent = body.note;
  foot.hidden = !body.note;
  plot.setAttribute('aria-label', `${body.title}. Arrow keys move from item to item.`);
  readout.replaceChildren(h('span', { class: 'quiet' }, 'Point at an item, or use the arrow keys, to read it.'));
  legend.replaceChildren(...(body.names ?? []).map((name, place) =>
    h('span', { class: 'key' }, h('i', { style: `background: ${seriesColour(place)}` }), name)));
  legend.hidden = (body.names ?? []).length < 2;
  numbers.lastChild.replaceChildren(tableOf(body.table));
  width = 0;
  draw();
}

/** Also what has been scrolled out of sight. */
function entirePicture() {
  plot.classList.add('entire');
  const made = pictureOf(picture);
  plot.classList.remove('entire');
  return made;
}

/** Two data colours that also differ in lightness; a third and fourth are rarely needed. */
const seriesColour = (place) => `var(${['--lab-a', '--lab-b', '--lab-kept', '--lab-mask'][place % 4]})`;

function draw() {
  if (!payload || plot.clientWidth === 0 || plot.clientWidth === width) return; // hidden, or drawn already
  width = plot.clientWidth;
  const made = KINDS[payload.kind](payload, width);
  [items, across] = [made.items, made.across ?? made.items.length];
  current = Math.min(Math.max(0, current), Math.max(0, items.length - 1));
  plot.replaceChildren(made.node);
}

function tableOf({ header, rows }) {
  const cell = (value) => (typeof value === 'number' ? short(value) : value ?? '');
  return h('table', {}, h('thead', {}, h('tr', {}, ...header.map((name) => h('th', { scope: 'col' }, name)))),
    h('tbody', {}, ...rows.slice(0, 600).map((row) => h('tr', {}, ...row.map((value, place) =>
      (place === 0 ? h('th', { scope: 'row' }, cell(value)) : h('td', {}, cell(value))))))));
}

// ---- pointer and keys

const itemAt = (event) => {
  const node = event.target.closest?.('[data-item]');
  return node ? Number(node.dataset.item) : null;
};

function moveTo(item, byKey = false) {
  for (const node of plot.querySelectorAll('.now')) node.classList.remove('now');
  current = item;
  const node = plot.querySelector(`[data-item="${item}"]`);
  node?.classList.add('now');
  if (byKey) node?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  readout.textContent = items[item].words;
}

function choose(item) {
  moveTo(item);
  if (items[item].pick) trigger('item_select', items[item].pick);
}

plot.addEventListener('pointermove', (event) => {
  const item = itemAt(event);
  if (item !== null) moveTo(item);
});
plot.addEventListener('click', (event) => {
  const item = itemAt(event);
  if (item !== null) choose(item);
});
plot.addEventListener('focus', () => items.length && plot.matches(':focus-visible') && moveTo(current));
plot.addEventListener('keydown', (event) => {
  if (!items.length) return;
  if (event.key === 'Enter' || event.key === ' ') {
    event.preventDefault();
    choose(current);
    return;
  }
  const next = nextByArrow(event.key, current, items.length, across);
  if (next === null) return;
  event.preventDefault();
  moveTo(next, true);
});
new ResizeObserver(draw).observe(plot);

view.start();
