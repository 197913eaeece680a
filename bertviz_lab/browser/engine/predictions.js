// What Predictions asks: masked tokens, the next sentence, and two models side by side; tasks are in `task.js`
// (interpret/predictions.py, minimal_pairs.py and comparison.py).

import { largest, range, rankOf, softmax, sum } from './numeric.js';
import { wordAt } from './tokenizer.js';

const [MOST_MASKS, BEAMS] = [20, 8];

export const heads = async ({ model }) => model.facts.heads;

/** Encode texts that have masked tokens: {encoding, positions}. Throws an error, with advice, where there is none. */
export function encodeMasked(model, a, b) {
  model.requireHead('token');
  const { tokenizer, facts } = model;
  const encoding = model.encode(a, b);
  const positions = tokenizer.maskPositions(encoding);
  if (positions.length) return { encoding, positions };
  const { mask } = tokenizer.special;
  if ([...encoding.dropped_a, ...encoding.dropped_b].includes(mask))
    throw new Error(`The text is longer than the model's ${facts.max_length} tokens, and every ${mask} lies in the `
      + 'part that is cut off.');
  const advice = [a, b].map(tokenizer.maskAdvice).find(Boolean);
  throw new Error(advice || `Put ${mask} in place of a word to predict it.`);
}

/** The probabilities of all tokens at some positions of the last layer, an array each. */
export async function sharesAt(model, encoding, positions, options = {}) {
  const { token } = await model.run(encoding,
    { ...options, rows: positions.map((position) => [model.facts.layers, position]) });
  return positions.map((_, row) => softmax(model.rowOf(token, row)));
}

export async function mlm({ model }, { text_a: a, text_b: b, top_k: topK, word }) {
  const { tokenizer, facts } = model;
  const encoding = model.encode(a, b);
  const isMisspelt = [a, b].some((text) => tokenizer.maskAdvice(text));
  const answer = (masks) =>
    ({ picture: 'fill_mask', title: facts.name, encoding, vocab_size: facts.vocab_size, masks });
  if (!tokenizer.maskPositions(encoding).length && !encoding.dropped_a.length && !isMisspelt) return answer([]);
  model.requireHead('token');
  const id = word.trim() ? tokenizer.singleToken(word) : null;
  const { positions } = encodeMasked(model, a, b);
  const shares = await sharesAt(model, encoding, positions);
  return answer(positions.map((position, at) => ({ position, candidates: model.candidates(shares[at], topK),
    asked: id === null ? null : { token: tokenizer.token(id), id, probability: shares[at][id],
      rank: rankOf(shares[at], id) } })));
}

/** The first prediction for each masked token, as it is written in a text. */
export async function guesses({ model }, { text_a: a, text_b: b }) {
  const { encoding, positions } = encodeMasked(model, a, b);
  const shares = await sharesAt(model, encoding, positions);
  return shares.map((row) => model.tokenizer.textOf(largest(row, 1)[0]));
}

export async function surprisal({ model, progress }, { text_a: a, text_b: b, positions: count }) {
  model.requireHead('token');
  const { tokenizer } = model;
  const encoding = model.encode(a, b);
  const positions = tokenizer.unmaskedPositions(encoding);
  if (!positions.length) throw new Error('Every token of this text is masked: leave at least one word unmasked.');
  const logs = encoding.ids.map(() => null);
  const expected = encoding.ids.map(() => null);
  for (const [done, position] of positions.entries()) {
    await progress(done / positions.length);
    const hiddenHere = wordAt(encoding, position).filter((at) => at >= position); // later pieces would reveal it
    const ids = encoding.ids.map((id, at) => (hiddenHere.includes(at) ? tokenizer.mask_id : id));
    const [shares] = await sharesAt(model, encoding, [position], { ids });
    logs[position] = Math.log(shares[encoding.ids[position]]);
    [expected[position]] = model.candidates(shares, 1);
  }
  return { picture: 'pseudo_log_likelihood', encoding, log_probabilities: logs, expected,
    linked: encoding.ids.length === count };
}

// ---- several masked tokens jointly

export async function joint({ model, progress }, { text_a: a, text_b: b }) {
  const { tokenizer } = model;
  const { encoding, positions } = encodeMasked(model, a, b);
  if (positions.length > MOST_MASKS)
    throw new Error(`${positions.length} masked tokens are too many to fill jointly: leave ${MOST_MASKS} at most.`);
  const predict = (ids) => sharesAt(model, encoding, positions, { ids });
  const first = await predict(encoding.ids);
  const tops = first.map((shares) => largest(shares, 1)[0]);
  const independent = { tokens: tops.map(tokenizer.token),
    log_probability: sum(tops.map((id, at) => Math.log(first[at][id]))) };
  let beams = [{ ids: encoding.ids, filled: [], score: 0 }]; // filled: [place among the masks, id] in order
  for (const step of range(positions.length)) {
    const extended = [];
    for (const [at, beam] of beams.entries()) {
      await progress((step + at / beams.length) / positions.length);
      const table = step ? await predict(beam.ids) : first;
      const open = range(positions.length).filter((place) => beam.filled.every(([done]) => done !== place));
      const peaks = open.map((place) => table[place][largest(table[place], 1)[0]]);
      const place = open[largest(peaks, 1)[0]];
      for (const id of largest(table[place], BEAMS)) {
        const ids = beam.ids.with(positions[place], id);
        extended.push({ ids, filled: [...beam.filled, [place, id]], score: beam.score + Math.log(table[place][id]) });
      }
    }
    // Several orders may give the same sequence: keep the best.
    extended.sort((one, other) => one.score - other.score);
    const distinct = new Map(extended.map((beam) => [beam.ids.join(), beam]));
    beams = [...distinct.values()].sort((one, other) => other.score - one.score).slice(0, BEAMS);
  }
  return { picture: 'joint_fill', independent, joint: beams.map((beam) => ({ log_probability: beam.score,
    order: beam.filled.map(([place]) => place),
    tokens: positions.map((position) => tokenizer.token(beam.ids[position])) })) };
}

// ---- next sentence, two models

export async function nsp({ model }, { text_a: a, text_b: b }) {
  model.requireHead('next');
  if (!a.trim() || !b.trim()) throw new Error('Type both text A and text B.');
  const { next } = await model.run(model.encode(a, b));
  const [isNext, isRandom] = softmax(next.data);
  return { picture: 'next_sentence', is_next: isNext, is_random: isRandom };
}

/** A text with a model's own spelling in place of the mask tokens of several. */
export const spelt = (text, masks, { tokenizer }) =>
  masks.reduce((written, mask) => written.replaceAll(mask, tokenizer.special.mask), text);

/** The same masked tokens by two models. */
export async function compare({ model, other }, { text_a: a, text_b: b }) {
  const both = [model, other];
  const isAlike = model.tokenizer.fingerprint === other.tokenizer.fingerprint;
  const masks = both.map(({ tokenizer }) => tokenizer.special.mask);
  const tables = [];
  for (const one of both) {
    const { encoding, positions } = encodeMasked(one, ...[a, b].map((text) => spelt(text, masks, one)));
    tables.push(await sharesAt(one, encoding, positions));
  }
  const chance = ({ tokenizer }, shares, name) => {
    const ids = isAlike ? [tokenizer.idOf(name)] : tokenizer.idsNamed(name);
    const known = ids.filter((id) => id !== undefined).map((id) => shares[id]);
    return known.length ? Math.max(...known) : null;
  };
  const count = Math.min(...tables.map((table) => table.length));
  return { picture: 'fill_comparison', names: both.map(({ facts }) => facts.name),
    masks: range(count).map((mask) => {
      const names = both.flatMap((one, at) => one.candidates(tables[at][mask], 5)
        .map(({ token, id }) => (isAlike ? token : one.tokenizer.nameOf(id))));
      return [...new Set(names)].map((token) =>
        ({ token, probabilities: both.map((one, at) => chance(one, tables[at][mask], token)) }));
    }) };
}
