// What Attention asks: the weights of every head, the scores behind them, and how they differ from other weights
// (interpret/attention.py and comparison.py; figures/attention.py).

import { dot, joined, peak, range, sqrtCodes, sum } from './numeric.js';
import { spelt } from './predictions.js';

const WHOLE_MODEL_BYTES = 8 * 2 ** 20; // of the codes that an answer holds; further layers are asked for
const KEPT = 6; // computations that the grid may ask further layers of

/** What makes the scores of a text: a product of queries and keys, and what relative positions add. `terms` are their
 * names, where there are several. */
function scoresOf({ facts }, { queries, keys, added }) {
  const [layers, heads, length, size] = queries.dims;
  const names = facts.added_terms;
  const own = names.includes('relative_bias') || !names.length ? 'query_key' : 'content_to_content';
  const divisor = size * facts.score_terms;
  const factor = Math.sqrt(facts.score_terms); // the queries of a DeBERTa come divided by it
  const cells = layers * heads * length * length;
  const vector = ({ data }, row) => data.subarray(row * size, (row + 1) * size);
  /** The query and the key of a cell, by its place among all. */
  const pairAt = (at) => {
    const row = Math.floor(at / length);
    return [vector(queries, row), vector(keys, Math.floor(row / length) * length + (at % length))];
  };
  const addedAt = (name, at) => added.data[names.indexOf(name) * cells + at];
  const isMasked = (at) => {
    const window = facts.windows[Math.floor(at / (heads * length * length))];
    return window !== null && Math.abs((Math.floor(at / length) % length) - (at % length)) > Math.floor(window / 2);
  };
  /** One of the terms, or "score" for their sum; 0 where masked. */
  const values = (name) => Float32Array.from({ length: cells }, (_, at) => {
    if (isMasked(at)) return 0;
    if (names.includes(name)) return addedAt(name, at);
    const product = (dot(...pairAt(at)) * factor) / Math.sqrt(divisor);
    return name === 'score' ? names.reduce((total, term) => total + addedAt(term, at), product) : product;
  });
  return { divisor, factor, names, terms: names.length ? [own, ...names] : [], pairAt, addedAt, isMasked, values };
}

/** What the grid is drawn of: `values` are (layers, heads, tokens, tokens) as one flat array. */
function gridBody({ traces }, [layers, heads, length], values, { tokens, token_type_ids: segments,
  special_tokens_mask: special }, { number, keep = {}, ...more }) {
  const key = Math.random().toString(36).slice(2);
  const isSigned = number !== 'weight';
  const unit = number === 'score' ? peak(values) || 1 : 1;
  const shown = unit === 1 ? values : values.map((value) => value / unit);
  traces.set(key, { values: shown, isSigned, dims: [layers, heads, length], ...keep });
  for (const old of [...traces.keys()].slice(0, -KEPT)) traces.delete(old);
  const perLayer = heads * length * length;
  const fitting = Math.max(1, Math.floor(WHOLE_MODEL_BYTES / (2 * perLayer)));
  const sent = range(layers).slice(-(isSigned || fitting >= layers ? fitting : 1));
  return {
    picture: 'attention', key, tokens, segments, special: special.map(Boolean), layers, heads, number, ...more, sent,
    ...(number === 'score' && { unit }),
    cells: sqrtCodes(shown.subarray(sent[0] * perLayer), isSigned),
    ...(isSigned ? { signed: true } : { bits: 16 }),
  };
}

export async function attention(context, { text_a: a, text_b: b, shown = 'weights' }) {
  const { model } = context;
  const { notes, windows, name } = model.facts;
  const encoding = model.encode(a, b);
  const out = await model.run(encoding);
  const scores = scoresOf(model, out);
  const terms = ['score', ...scores.terms];
  const isScore = terms.includes(shown);
  return gridBody(context, out.attentions.dims, isScore ? scores.values(shown) : out.attentions.data, encoding, {
    title: `Attention of ${name}`, number: isScore ? 'score' : 'weight', windows, shown: isScore ? shown : '', terms,
    note: joined(notes.positions, notes.windows, notes.joining),
    keep: { scores, out, note: notes.positions },
  });
}

// ---- differences

function checkHeads(one, other) {
  if (one.dims[0] === other.dims[0] && one.dims[1] === other.dims[1]) return;
  const sizes = [one, other].map(({ dims }) => `${dims[0]} layers of ${dims[1]} heads`).join(' and ');
  throw new Error(`These two models differ in layers or heads (${sizes}), and attention is subtracted head by head: `
    + 'their tokens can be matched, their heads cannot.');
}

/** The place of each token on one axis for both texts: special tokens, A, special tokens, B, special tokens. */
function placesOf({ text_a: a, text_b: b, special_tokens_mask: special, token_type_ids: types, offsets }) {
  const begins = [1, 2 + [...a].length];
  const points = [0, begins[1] - 1, begins[1] + [...(b ?? '')].length]; // before A, after it, after B
  let begun = 0;
  const spans = special.map((isSpecial, at) => {
    if (isSpecial) return [points[begun], points[begun] + 1];
    begun = Math.max(begun, types[at] + 1);
    const [start, end] = offsets[at].map((offset) => begins[types[at]] + offset);
    return end > start ? [start, end] : null;
  });
  let following = [points[2], points[2] + 1];
  return spans.reverse().map((span) => (following = span ?? following)).reverse();
}

/** The tokens of two models matched by characters: stretches that are whole tokens in both (Clark et al. 2019). */
function align(first, second) {
  if ([first, second].some(({ dropped_a: a, dropped_b: b }) => a.length || b.length))
    throw new Error('This text is too long for one of the models, so their tokens cannot be matched: shorten it.');
  const both = [first, second].map(placesOf);
  const stretches = [];
  const all = both.flatMap((spans, which) => spans.map(([start, end]) => [start, end, which]))
    .sort((one, other) => one[0] - other[0] || one[1] - other[1] || one[2] - other[2]);
  for (const [start, end, which] of all) {
    const last = stretches.at(-1);
    if (last && start < last.end) {
      last.end = Math.max(last.end, end);
      last.models.add(which);
    } else stretches.push({ start, end, models: new Set([which]) });
  }
  // What one model alone has is part of the stretch before it.
  const starts = stretches.filter(({ models }, at) => !at || models.size === 2).map(({ start }) => start);
  const of = both.map((spans) => spans.map(([start]) => starts.filter((one) => one <= start).length - 1));
  const groups = starts.map((_, stretch) => range(first.ids.length).filter((at) => of[0][at] === stretch));
  const nameOf = (group) => {
    if (group.length === 1 || first.special_tokens_mask[group[0]]) return group.map((at) => first.tokens[at]).join(' ');
    const text = [...(first.token_type_ids[group[0]] ? first.text_b : first.text_a)];
    return text.slice(first.offsets[group[0]][0], first.offsets[group.at(-1)][1]).join('');
  };
  const ofFirst = (name) => groups.map(([at]) => first[name][at]);
  return { of, tokens: groups.map(nameOf), token_type_ids: ofFirst('token_type_ids'),
    special_tokens_mask: ofFirst('special_tokens_mask') };
}

/** Attention between tokens merged to stretches: summed over keys, averaged over queries. */
function merged({ data, dims: [layers, heads, length] }, stretches, count) {
  const sizes = range(count).map((stretch) => stretches.filter((one) => one === stretch).length);
  const result = new Float32Array(layers * heads * count * count);
  data.forEach((weight, at) => {
    const [place, row, column] = [Math.floor(at / (length * length)), Math.floor(at / length) % length, at % length];
    result[(place * count + stretches[row]) * count + stretches[column]] += weight / sizes[stretches[row]];
  });
  return result;
}

/** What a model attends to in a text or pair. */
async function traced(model, texts, options) {
  const encoding = model.encode(...texts);
  const { attentions } = await model.run(encoding, options);
  return { encoding, attentions, count: encoding.ids.length };
}

export async function difference(context, { text_a: a, text_b: b, against, other_text: otherText }) {
  const { model, other } = context;
  if (against === 'model') {
    const masks = [model, other].map(({ tokenizer }) => tokenizer.special.mask);
    const trace = (one) => traced(one, [a, b].map((text) => spelt(text, masks, one)));
    const [first, second] = [await trace(model), await trace(other)];
    checkHeads(first.attentions, second.attentions);
    const { of, ...stretches } = align(first.encoding, second.encoding);
    const count = stretches.tokens.length;
    const theirs = merged(second.attentions, of[1], count);
    const values = merged(first.attentions, of[0], count).map((weight, at) => weight - theirs[at]);
    return gridBody(context, [...first.attentions.dims.slice(0, 2), count], values, stretches, {
      number: 'difference', title: `${model.facts.name} minus ${other.facts.name}`, linked: count === first.count,
      matched: [first.count, second.count] });
  }
  const before = await traced(model, [a, b]);
  if (against === 'text' && !otherText.trim())
    throw new Error('Type the other text; it must have the same number of tokens.');
  const after = await traced(model, [against === 'text' ? otherText : a, b], { causal: against === 'causal' });
  if (before.count !== after.count)
    throw new Error(`One text has ${before.count} tokens and the other ${after.count}: choose texts of equal length.`);
  const values = after.attentions.data.map((weight, at) => weight - before.attentions.data[at]);
  return gridBody(context, before.attentions.dims, values, before.encoding, { number: 'difference', linked: true,
    title: against === 'text' ? 'Other text minus this one' : 'Causal minus bidirectional' });
}

// ---- more of what is on show

export async function layer_values({ traces }, { key, layer }) {
  const trace = traces.get(key);
  if (!trace || layer >= trace.dims[0]) return {};
  const [, heads, length] = trace.dims;
  const size = heads * length * length;
  return { codes: sqrtCodes(trace.values.subarray(layer * size, (layer + 1) * size), trace.isSigned) };
}

export async function query_key({ traces }, { key, layer, head, row, column }) {
  const trace = traces.get(key);
  if (!trace?.scores || layer >= trace.dims[0] || head >= trace.dims[1] || Math.max(row, column) >= trace.dims[2])
    return null;
  const { scores: { divisor, factor, names, pairAt, addedAt, isMasked }, out, note } = trace;
  const [, heads, length] = trace.dims;
  const at = ((layer * heads + head) * length + row) * length + column;
  const [query, keys] = pairAt(at).map((vector) => [...vector]);
  const scaled = query.map((value) => value * factor);
  const products = scaled.map((value, place) => (value * keys[place]) / Math.sqrt(divisor));
  const added = Object.fromEntries(names.map((name) => [name, addedAt(name, at)]));
  return { picture: 'query_key', query: scaled, key: keys, products, divisor, added, note,
    weight: out.attentions.data[at], score: sum(products) + sum(Object.values(added)), is_masked: isMasked(at) };
}
