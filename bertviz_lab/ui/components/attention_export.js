// What leaves the attention view: numbers, a vector picture, and what is remembered of the reader's place in it.

/** What every export says about itself. */
function table() {
  const weights = Array.from({ length: data.size }, (_, row) => Array.from({ length: data.size }, (_, column) => {
    const weight = seen[row * data.size + column];
    return Number.isNaN(weight) ? null : Number(weight.toFixed(5));
  }));
  const sum = data.signed || !(isPlain(lens()) || state.special === 'renormalised') ? '' : '; each row sums to 1';
  const meaning = `weights[from][to]${data.signed ? ', the second minus the first' : sum}`;
  return { title: data.title, shows: headWords(), layer: state.layer + 1, head: state.of === 'head' ? state.head + 1 : null,
    ...lens(), tokens: data.tokens, segment_ids: data.segments, meaning, precise: precise(), weights };
}

/** The heat map as SVG: the cells as an embedded picture of one pixel a cell, the tokens as text. */
function vectorMap() {
  const cell = Math.max(8, Math.min(26, 900 / data.size));
  const label = 130;
  const side = cell * data.size;
  const tiny = h('canvas');
  paintWeights(tiny, data, seen, state.scale, peak());
  const text = (token, attributes) => svg('text', { 'font-family': 'monospace', 'font-size': Math.min(12, cell * 0.8),
    'dominant-baseline': 'central', fill: plainPaint(colour('--lab-text')), ...attributes }, forXml(token));
  const middle = (index) => label + (index + 0.5) * cell;
  return svg('svg', { width: label + side + 10, height: label + side + 10 },
    svg('rect', { width: '100%', height: '100%', fill: plainPaint(colour('--lab-page')) }),
    text(caption(), { x: 8, y: 14, 'font-size': 12 }),
    text(scaleWords(), { x: 8, y: 32, 'font-size': 11 }),
    svg('image', { x: label, y: label, width: side, height: side, style: 'image-rendering: pixelated', href: tiny.toDataURL() }),
    ...data.tokens.flatMap((token, index) => [
      text(token, { x: label - 6, y: middle(index), 'text-anchor': 'end' }),
      text(token, { transform: `translate(${middle(index)} ${label - 6}) rotate(-90)` })]));
}

/** What the reader has chosen, where it is not what the view begins with. */
function chosenState() {
  const same = (name) => JSON.stringify(state[name]) === JSON.stringify(START[name]);
  return Object.fromEntries(Object.entries(state).filter(([name]) => !same(name)));
}

/** Take over what was chosen before; it may come from an address, so only what is known is taken. */
function restore(chosen) {
  const known = { scale: SCALES, form: { map: 1, lines: 1 }, quarter: QUARTERS, of: TOGETHER, order: data.metrics ?? {},
    special: { shown: 1, hidden: 1, renormalised: 1 } };
  for (const [name, values] of Object.entries(known)) if (Object.hasOwn(values, chosen[name])) state[name] = chosen[name];
  for (const name of ['layer', 'head', 'column']) if (isIndex(chosen[name])) state[name] = chosen[name];
  if (Array.isArray(chosen.rows) && chosen.rows.length && chosen.rows.every(isIndex)) state.rows = chosen.rows;
  for (const [choice, value] of [[scaleChoice, state.scale], [formChoice, state.form], [quarterChoice, state.quarter], [specialChoice, state.special]]) {
    choice.inputs.get(value).checked = true;
  }
  knobs.open ||= state.quarter !== 'all' || state.special !== 'shown' || state.of !== 'head';
}

const isIndex = (value) => Number.isInteger(value) && value >= 0;
