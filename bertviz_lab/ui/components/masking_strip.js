// BERT's game of blanks: what stood there, what the model is given, and what it is asked for.

// A sign beside each colour, so that nothing hangs on telling colours apart.
const OUTCOMES = {
  mask: { sign: '■', name: 'masked', kind: 'out-mask', means: 'replaced by [MASK]; the model must predict it' },
  random: { sign: '↻', name: 'random', kind: 'out-random', means: 'replaced by a random token; the model must still predict the original' },
  kept: { sign: '=', name: 'unchanged', kind: 'out-kept', means: 'left unchanged, but the model must still predict it' },
  'not chosen': { sign: '·', name: 'not selected', kind: 'out-none', means: 'not selected; visible to the model and not part of the loss' },
  special: { sign: '–', name: 'special', kind: 'out-none', means: 'a special token, never selected' },
};

const view = onPayload('Type a sentence to see how it is masked for MLM.', show);
const summary = h('p', { class: 'heading' });
const stripHost = h('div');
const keys = h('div', { class: 'keys' },
  ...['mask', 'random', 'kept'].map((outcome) => h('span', { class: `key ${OUTCOMES[outcome].kind}` },
    h('i', { class: 'cell' }, OUTCOMES[outcome].sign), `${OUTCOMES[outcome].name}: ${OUTCOMES[outcome].means}`)));
const countRows = h('tbody');
const counts = h('table', { class: 'counts' },
  h('caption', {}, 'This draw and the expected counts'),
  h('thead', {}, h('tr', {}, ...['outcome', 'tokens', 'expected', 'rule'].map((name) => h('th', { scope: 'col' }, name)))),
  countRows);
let payload = null;

const chosenKind = (column) => OUTCOMES[column.outcome].kind;
const ROWS = [
  { label: 'your text', title: 'The tokens of the sentence', kind: tokenKind, text: (column) => column.token },
  { label: 'input', title: 'The input of the model', kind: (column) => `given ${chosenKind(column)}`,
    text: (column) => column.given },
  { label: 'masking', title: 'How each token was masked', kind: chosenKind,
    text: (column) => OUTCOMES[column.outcome].sign },
  { label: 'label', title: 'The labels of the loss; all other positions are ignored',
    kind: (column) => (column.label === null ? 'out-none' : 'answer'), text: (column) => column.label ?? '' },
];

const strip = makeStrip(stripHost, ROWS, describe, (position) => trigger('token_select', { position }));
const picture = h('div');
const buttons = saveButtons('the masking', {
  PNG: () => savePng('masking.png', pictureOf(picture)),
  SVG: () => saveSvg('masking.svg', pictureOf(picture)),
  CSV: () => saveCsv('masking.csv', [['position', 'token', 'given', 'outcome', 'label'],
    ...payload.columns.map((column, position) => [position, column.token, column.given, column.outcome, column.label])]),
  JSON: () => saveJson('masking.json', payload),
}, () => 'masking');
picture.append(h('div', { class: 'bar' }, summary, buttons), stripHost, h('div', { class: 'under line' }, keys, counts));
view.content.append(picture);

function describe(position) {
  const column = payload.columns[position];
  const outcome = OUTCOMES[column.outcome];
  const swapped = column.outcome === 'random' ? [' The model sees ', h('b', {}, column.given), ' in its place.'] : [];
  return [h('b', {}, column.token), ` (position ${position}): ${outcome.means}.`, ...swapped];
}

function show(body) {
  payload = body;
  const [chosen, ...shares] = body.counts;
  summary.textContent = `${whole(chosen.observed)} of ${plural(body.candidates, 'token')} must be predicted`;
  strip.show(body.columns);
  const plan = { mask: body.shares.mask, random: body.shares.random, kept: body.shares.kept };
  const row = (name, count, rule, kind = '') => h('tr', { class: kind }, h('th', { scope: 'row' }, ...name),
    h('td', {}, whole(count.observed)), h('td', {}, String(Number(count.expected.toFixed(1)))), h('td', {}, rule));
  countRows.replaceChildren(
    row(['selected'], chosen, `${percent(body.mask_probability, 0)} of ${plural(body.length, 'position')}, rounded`),
    ...shares.map((count) => row([h('i', { class: `cell tinted ${OUTCOMES[count.outcome].kind}`, 'aria-hidden': 'true' },
      OUTCOMES[count.outcome].sign), OUTCOMES[count.outcome].name], count,
    `${percent(plan[count.outcome], 0)} of the selected`)));
}

view.start();
