// The input of the model as it really is: token pieces, ids, segments, positions, attention mask.

const view = onPayload('Type a sentence to see the input of the model.', show);
const summary = h('p', { class: 'heading' });
const note = h('p', { class: 'quiet' });
const stripHost = h('div');
const keys = h('div', { class: 'keys' });
let payload = null;

const ROWS = [
  { label: 'token', title: 'The tokens of the text', kind: tokenKind,
    text: (column) => column.token },
  { label: 'id', title: 'The index of the token in the vocabulary, the input of the model',
    kind: () => 'number', text: (column) => String(column.id) },
  { label: 'segment', title: 'Segment id (token type): 0 is sentence A, 1 is sentence B',
    kind: (column) => (column.mask ? `seg-${segmentName(column.segment).toLowerCase()} strong` : 'number'),
    text: (column) => (column.mask ? `${column.segment} ${segmentName(column.segment)}` : String(column.segment)) },
  { label: 'position', title: 'Position in the input, counted from 0', kind: () => 'number',
    text: (column, position) => String(position) },
  { label: 'attention mask', title: '1: other tokens attend to it. 0: masked out (padding)',
    kind: (column) => (column.mask ? 'number' : 'number off'), text: (column) => String(column.mask) },
];

const LEGEND = [
  ['seg-a', 'sentence A', (columns) => columns.some((column) => tokenKind(column) === 'seg-a')],
  ['seg-b', 'sentence B', (columns) => columns.some((column) => tokenKind(column) === 'seg-b')],
  ['special', 'added by the tokenizer', (columns) => columns.some((column) => tokenKind(column) === 'special')],
  ['masked', 'masked token', (columns) => columns.some((column) => tokenKind(column) === 'masked')],
  ['pad', 'padding', (columns) => columns.some((column) => tokenKind(column) === 'pad')],
];

const strip = makeStrip(stripHost, ROWS, describe, (position) => trigger('token_select', { position }));
const glossary = h('details', { 'data-noexport': '' }, h('summary', {}, 'Legend: rows and special tokens'),
  h('dl', {}, ...ROWS.flatMap((row) => [h('dt', {}, row.label), h('dd', {}, row.title)]),
    ...Object.entries(SPECIALS).flatMap(([token, text]) => [h('dt', { class: 'mono' }, token), h('dd', {}, text)])));
const picture = h('div');
const buttons = saveButtons('the token strip', {
  PNG: () => savePng('tokens.png', pictureOf(picture)),
  SVG: () => saveSvg('tokens.svg', pictureOf(picture)),
  CSV: () => saveCsv('tokens.csv', [['position', 'token', 'id', 'segment', 'attention_mask', 'word', 'text'],
    ...payload.columns.map((column, position) => [position, column.token, column.id, column.segment, column.mask,
      column.word, column.surface])]),
  JSON: () => saveJson('tokens.json', { ...payload, columns: payload.columns.map((column, position) =>
    ({ position, ...column })) }),
}, () => 'tokens');
picture.append(h('div', { class: 'bar' }, summary, buttons), note, stripHost, keys);
view.content.append(picture, glossary);

/** What one column means, in words. */
function describe(position) {
  const column = payload.columns[position];
  const place = ` Position ${position}, id ${column.id}, segment ${column.segment} (${segmentName(column.segment)}).`;
  const special = SPECIALS[column.token];
  if (special && (column.special || column.token === '[MASK]' || column.token === '[UNK]')) {
    return [h('b', {}, column.token), ` ${special}.${place}`];
  }
  const pieces = wordPositions(payload.columns, position);
  const word = pieces.map((at) => payload.columns[at].surface).join('');
  const part = pieces.length > 1 ? `piece ${pieces.indexOf(position) + 1} of ${pieces.length} of the word ` : '';
  return part
    ? [h('b', {}, column.token), ` is ${part}`, h('b', {}, word), `.${place}`]
    : [h('b', {}, column.token), ` is a whole word or sign.${place}`];
}

function show(body) {
  payload = body;
  const real = body.columns.filter((column) => column.mask);
  const words = new Set(real.filter((column) => column.word !== null).map((column) => column.word)).size;
  const added = real.filter((column) => column.special).length;
  summary.textContent = `${plural(words, 'word')} became ${plural(real.length - added, 'token')}, `
    + `plus ${whole(added)} special tokens`;
  const cut = body.dropped.flat().length;
  const padding = body.columns.length - real.length;
  note.textContent = [
    cut ? `The text was too long: ${plural(cut, 'token')} did not fit and ${cut === 1 ? 'was' : 'were'} truncated.` : '',
    body.note,
    padding ? `The last ${plural(padding, 'position')} ${padding === 1 ? 'holds' : 'hold'} only padding.` : '',
  ].filter(Boolean).join(' ');
  note.hidden = note.textContent === '';
  strip.show(body.columns);
  keys.replaceChildren(...LEGEND.filter(([, , used]) => used(body.columns)).map(([kind, name]) =>
    h('span', { class: `key ${kind}` }, h('i', { class: 'cell' }), name)));
}

view.start();
