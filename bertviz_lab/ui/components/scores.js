// The tokens of a text with numbers under them, each row with colours of its own.

const view = onPayload('Nothing has been computed yet.', show);
const heading = h('p', { class: 'heading' });
const sentence = h('p', { class: 'quiet' });
const stripHost = h('div');
const foot = h('p', { class: 'quiet small' });
const glossary = h('details', { 'data-noexport': '' }, h('summary', {}, 'What the rows mean'), h('dl'));
const picture = h('div');
let payload = null;

const strip = makeStrip(stripHost, [], describe, (position) => trigger('token_select', { position }));
const buttons = saveButtons('the tokens and their numbers', {
  PNG: () => savePng(`${payload.file}.png`, pictureOf(picture)),
  SVG: () => saveSvg(`${payload.file}.svg`, pictureOf(picture)),
  CSV: () => saveCsv(`${payload.file}.csv`, [['position', 'token', ...payload.rows.map((row) => row.label)],
    ...payload.columns.map((column, position) => [position, column.token,
      ...payload.rows.map((row) => row.values[position] ?? row.texts[position])])]),
  JSON: () => saveJson(`${payload.file}.json`, payload),
}, () => payload.file);
picture.append(h('div', { class: 'bar' }, heading, buttons), sentence, stripHost, foot);
view.content.append(picture, glossary);

/** A row as the strip wants it. Colour repeats what the number says; `scale` is its kind. */
function rowOf(row) {
  return {
    label: row.label,
    title: row.says,
    kind: () => (row.scale === 'none' ? 'number' : 'painted'),
    text: (column, position) => row.texts[position],
    paint: (column, position) => paintOf(row, row.values[position]),
  };
}

function paintOf(row, value) {
  if (value === null || value === undefined || row.scale === 'none') return null;
  const share = row.peak > 0 ? Math.min(1, Math.abs(value) / row.peak) : 0;
  if (row.scale === 'bar') {
    const end = `${(100 * share).toFixed(1)}%`;
    return `background: linear-gradient(to right, color-mix(in srgb, var(--lab-a) 30%, var(--lab-page)) ${end}, transparent ${end})`;
  }
  return shade(share, value < 0);
}

/** The words and numbers of one column. */
function describe(position) {
  const column = payload.columns[position];
  const parts = payload.rows.filter((row) => row.texts[position] !== '')
    .flatMap((row, index) => [index ? ' · ' : '', `${row.label} `, h('b', {}, row.texts[position])]);
  return [h('b', {}, column.token), ` (${position}): `, ...parts];
}

function show(body) {
  payload = body;
  heading.textContent = body.title;
  sentence.textContent = body.sentence;
  sentence.hidden = !body.sentence;
  foot.textContent = body.note;
  foot.hidden = !body.note;
  const token = { label: 'token', title: 'The tokens of the text', kind: tokenKind, text: (column) => column.token };
  strip.show(body.columns, [token, ...body.rows.map(rowOf)]);
  glossary.lastChild.replaceChildren(...body.rows.flatMap((row) => [h('dt', {}, row.label), h('dd', {}, row.says)]));
}

view.start();
