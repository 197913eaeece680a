// BERT's game of blanks: what stood there, what the model is given, and what it is asked for.

// A sign beside each colour, so that nothing hangs on telling colours apart.
const OUTCOMES = {
  mask: { sign: '■', name: 'hidden', kind: 'out-mask', means: 'replaced by [MASK]; the model must guess it' },
  random: { sign: '↻', name: 'swapped', kind: 'out-random', means: 'replaced by a random token; the model must still guess the original' },
  kept: { sign: '=', name: 'kept', kind: 'out-kept', means: 'left as it is, but the model must predict it all the same' },
  'not chosen': { sign: '·', name: 'not chosen', kind: 'out-none', means: 'not chosen; the model sees it and is not asked about it' },
  special: { sign: '–', name: 'special', kind: 'out-none', means: 'a special token, which is never chosen' },
};

const view = onPayload('Type a sentence to see how BERT hides words from itself.', show);
const summary = h('p', { class: 'heading' });
const stripHost = h('div');
const keys = h('div', { class: 'keys' },
  ...['mask', 'random', 'kept'].map((outcome) => h('span', { class: `key ${OUTCOMES[outcome].kind}` },
    h('i', { class: 'cell' }, OUTCOMES[outcome].sign), `${OUTCOMES[outcome].name}: ${OUTCOMES[outcome].means}`)));
const countRows = h('tbody');
const counts = h('table', { class: 'counts' },
  h('caption', {}, 'This draw, beside the average of many'),
  h('thead', {}, h('tr', {}, ...['outcome', 'tokens', 'expected', 'the plan'].map((name) => h('th', { scope: 'col' }, name)))),
  countRows);
let payload = null;

const chosenKind = (column) => OUTCOMES[column.outcome].kind;
const ROWS = [
  { label: 'your text', title: 'The tokens of the sentence', kind: tokenKind, text: (column) => column.token },
  { label: 'model sees', title: 'What the model is given', kind: (column) => `given ${chosenKind(column)}`,
    text: (column) => column.given },
  { label: 'what happened', title: 'What became of each token', kind: chosenKind,
    text: (column) => OUTCOMES[column.outcome].sign },
  { label: 'must predict', title: 'The answers that count in the loss; everything else is ignored',
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
picture.append(h('div', { class: 'bar' }, summary, buttons), stripHost, h('div', { class: 'under' }, keys, counts));
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
    row(['chosen'], chosen, `${percent(body.mask_probability, 0)} of ${plural(body.length, 'position')}, rounded`),
    ...shares.map((count) => row([h('i', { class: `cell ${OUTCOMES[count.outcome].kind}`, 'aria-hidden': 'true' },
      OUTCOMES[count.outcome].sign), OUTCOMES[count.outcome].name], count,
    `${percent(plan[count.outcome], 0)} of the chosen`)));
}

view.start();
