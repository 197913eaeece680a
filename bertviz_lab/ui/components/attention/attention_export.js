// What leaves the attention view: numbers, a vector picture, and what is remembered of the reader's place in it.

/** What every export says about itself. */
function weightsTable() {
  const weights = Array.from({ length: data.size }, (_, row) => Array.from({ length: data.size }, (_, column) => {
    const weight = seen[row * data.size + column];
    return Number.isNaN(weight) ? null : Number(real(weight).toFixed(5));
  }));
  const sum = !(isPlain(lens()) || state.special === 'renormalised') ? '' : '; each row sums to 1';
  const meaning = `weights[from][to]${{ weight: sum, difference: ', the second minus the first', score: ': attention scores' }[data.number]}`;
  return { title: data.title, shows: headWords(), layer: state.layer + 1, head: state.of === 'head' ? state.head + 1 : null,
    ...lens(), tokens: data.tokens, segment_ids: data.segments, meaning, precise: precise(), weights };
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
