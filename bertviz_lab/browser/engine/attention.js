// What Attention asks: the weights of every head, the scores behind them, and how they differ from other weights
// (interpret/attention.py and comparison.py; figures/interpret/attention.py).

import { columns } from './charts.js';
import { dot, joined, largest, peak, range, signed, sqrtCodes, sum } from './numeric.js';
import { spelt } from './predictions.js';

const WHOLE_MODEL_BYTES = 8 * 2 ** 20; // of the codes that an answer holds; further layers are asked for
const KEPT = 6; // computations that the grid may ask further layers of

/** The queries and keys of a text and what makes a score of them. */
function scoresOf({ facts }, { queries, keys, added }) {
  const [layers, heads, length, size] = queries.dims;
  const factor = Math.sqrt(facts.score_terms); // the queries of a DeBERTa come divided by it
  const divisor = size * facts.score_terms;
  const places = layers * heads;
  const products = () => {
    const result = new Float32Array(places * length * length);
    for (let place = 0; place < places; place += 1) {
      for (let row = 0; row < length; row += 1) {
        const query = queries.data.subarray((place * length + row) * size, (place * length + row + 1) * size);
        for (let column = 0; column < length; column += 1) {
          const at = (place * length + column) * size;
          result[(place * length + row) * length + column] =
            (dot(query, keys.data.subarray(at, at + size)) * factor) / Math.sqrt(divisor);
        }
      }
    }
    return result;
  };
  const termOf = (name) => {
    const at = facts.added_terms.indexOf(name);
    return added.data.subarray(at * places * length * length, (at + 1) * places * length * length);
  };
  const own = facts.added_terms.includes('relative_bias') || !facts.added_terms.length ? 'query_key'
    : 'content_to_content';
  return { divisor, factor, size, length, termOf, terms: facts.added_terms.length ? [own, ...facts.added_terms] : [],
    isMasked: (layer, row, column) =>
      facts.windows[layer] !== null && Math.abs(row - column) > Math.floor(facts.windows[layer] / 2),
    /** One of the terms, or "score" for their sum; 0 where masked. */
    values(name) {
      if (facts.added_terms.includes(name)) return this.masked(Float32Array.from(termOf(name)));
      const result = products();
      for (const term of name === 'score' ? facts.added_terms : []) {
        termOf(term).forEach((one, at) => { result[at] += one; });
      }
      return this.masked(result);
    },
    masked(values) {
      if (facts.windows.every((window) => window === null)) return values;
      return values.map((value, at) => {
        const [row, column] = [Math.floor(at / length) % length, at % length];
        return this.isMasked(Math.floor(at / (heads * length * length)), row, column) ? 0 : value;
      });
    } };
}

/** Each head's metrics on a text: name -> rows of layers. */
function headMetrics({ data, dims: [layers, heads, length] }, { special, types }) {
  const names = ['entropy', 'distance', 'previous', 'next', 'same', 'special', 'across'];
  const result = Object.fromEntries(names.map((name) => [name, range(layers).map(() => Array(heads).fill(0))]));
  const isText = special.map((one) => !one);
  const side = (type) => isText.map((one, at) => one && types[at] === type);
  const [a, b] = [side(0), side(1)];
  const sides = a.some(Boolean) && b.some(Boolean) ? sum(isText.map((_, at) => Number(a[at] || b[at]))) : 0;
  for (let place = 0; place < layers * heads; place += 1) {
    const totals = Object.fromEntries(names.map((name) => [name, 0]));
    for (let row = 0; row < length; row += 1) {
      for (let column = 0; column < length; column += 1) {
        const weight = data[(place * length + row) * length + column];
        if (weight > 0) totals.entropy -= weight * Math.log(weight);
        totals.distance += weight * Math.abs(row - column);
        if (column === row - 1) totals.previous += weight;
        if (column === row + 1) totals.next += weight;
        if (column === row) totals.same += weight;
        if (special[column]) totals.special += weight;
        if ((a[row] && b[column]) || (b[row] && a[column])) totals.across += weight;
      }
    }
    const shares = { previous: length - 1, next: length - 1, across: sides };
    for (const name of names) {
      const count = shares[name] ?? length;
      result[name][Math.floor(place / heads)][place % heads] = count ? Number((totals[name] / count).toFixed(5)) : 0;
    }
  }
  return result;
}

/** Attention rollout (Abnar and Zuidema 2020): the residual connection is half of each layer. */
function rollout({ data, dims: [layers, heads, length] }) {
  const result = new Float64Array(layers * length * length);
  let flow = Float64Array.from({ length: length * length }, (_, at) => Number(at % (length + 1) === 0));
  for (let layer = 0; layer < layers; layer += 1) {
    const mixing = new Float64Array(length * length);
    for (let head = 0; head < heads; head += 1) {
      const from = (layer * heads + head) * length * length;
      for (let at = 0; at < mixing.length; at += 1) mixing[at] += data[from + at] / (2 * heads);
    }
    for (let at = 0; at < length; at += 1) mixing[at * (length + 1)] += 0.5;
    const next = new Float64Array(length * length);
    for (let row = 0; row < length; row += 1) {
      for (let inner = 0; inner < length; inner += 1) {
        const weight = mixing[row * length + inner];
        for (let column = 0; column < length; column += 1) {
          next[row * length + column] += weight * flow[inner * length + column];
        }
      }
    }
    flow = next;
    result.set(flow, layer * flow.length);
  }
  return result;
}

/** The content of the grid: `values` are (layers, heads, tokens, tokens) as one flat array. */
function gridBody({ traces, texts }, [layers, heads, length], values, { tokens, segments, special, title, number,
  metrics = null, windows = [], note = '', roll = null, unit = 1, keep = {} }) {
  const key = Math.random().toString(36).slice(2);
  const isSigned = number !== 'weight';
  const shown = unit === 1 ? values : values.map((value) => value / unit);
  traces.set(key, { values: shown, isSigned, dims: [layers, heads, length], ...keep });
  for (const old of [...traces.keys()].slice(0, -KEPT)) traces.delete(old);
  const perLayer = heads * length * length;
  const fitting = Math.max(1, Math.floor(WHOLE_MODEL_BYTES / (2 * perLayer)));
  const sent = range(layers).slice(-(isSigned || fitting >= layers ? fitting : 1));
  const local = windows.filter((window) => window !== null);
  const isCut = local.length && Math.floor(Math.max(...local) / 2) < length - 1;
  return {
    title, key, tokens, segments, layers, heads, number,
    guide: joined(texts.guides[number], note) + (isCut ? ' Grey cells are outside the window.' : ''),
    ...(metrics && { metrics: Object.fromEntries(Object.entries(metrics).map(([name, of]) =>
      [name, { title: texts.metrics[name][0], says: texts.metrics[name][1], values: of }])) }),
    ...(local.length && { windows }),
    special: special.map(Boolean),
    ...(number === 'score' && { unit }),
    sent,
    ...(roll && sent.length === layers && { rollout: sqrtCodes(roll) }),
    cells: sqrtCodes(shown.subarray(sent[0] * perLayer), isSigned),
    ...(isSigned ? { signed: true } : { bits: 16 }),
  };
}

export async function attention(context, { text_a: a, text_b: b, shown = 'weights' }) {
  const { model, texts } = context;
  const { notes, windows, name } = model.facts;
  const encoding = model.encode(a, b);
  const out = await model.run(encoding);
  const scores = scoresOf(model, out);
  const terms = ['score', ...scores.terms];
  const isScore = terms.includes(shown);
  const values = isScore ? scores.values(shown) : out.attentions.data;
  const body = gridBody(context, out.attentions.dims, values, {
    tokens: encoding.tokens, segments: encoding.types, special: encoding.special,
    title: `Attention of ${name}${isScore ? `: ${texts.score_titles[shown]}` : ''}`,
    number: isScore ? 'score' : 'weight', unit: isScore ? peak(values) || 1 : 1, windows,
    metrics: headMetrics(out.attentions, encoding), roll: isScore ? null : rollout(out.attentions),
    note: joined(notes.positions, notes.windows, notes.joining), keep: { scores, out, note: notes.positions },
  });
  return { ...body, shown: isScore ? shown : 'weights',
    choices: [['weights', 'attention weights'], ...terms.map((term) => [term, texts.score_titles[term]])] };
}

// ---- differences

function checkHeads(one, other) {
  if (one.dims[0] === other.dims[0] && one.dims[1] === other.dims[1]) return;
  const sizes = [one, other].map(({ dims }) => `${dims[0]} layers of ${dims[1]} heads`).join(' and ');
  throw new Error(`These two models differ in layers or heads (${sizes}), and attention is subtracted head by head: `
    + 'their tokens can be matched, their heads cannot.');
}

/** The place of each token on one axis for both texts: special tokens, A, special tokens, B, special tokens. */
function placesOf({ textA, textB, special, types, offsets }) {
  const begins = [1, 2 + [...textA].length];
  const points = [0, begins[1] - 1, begins[1] + [...(textB ?? '')].length]; // before A, after it, after B
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
  if ([first, second].some(({ droppedA, droppedB }) => droppedA.length || droppedB.length))
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
  const groups = starts.map((_, stretch) => range(first.length).filter((at) => of[0][at] === stretch));
  const nameOf = (group) => {
    if (group.length === 1 || first.special[group[0]]) return group.map((at) => first.tokens[at]).join(' ');
    const text = [...(first.types[group[0]] ? first.textB : first.textA)];
    return text.slice(first.offsets[group[0]][0], first.offsets[group.at(-1)][1]).join('');
  };
  return { of, tokens: groups.map(nameOf), segments: groups.map(([at]) => first.types[at]),
    special: groups.map(([at]) => first.special[at]) };
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

export async function difference(context, { text_a: a, text_b: b, against, other_text: otherText }) {
  const { model, other } = context;
  if (against === 'model') {
    const both = [model, other];
    const masks = both.map(({ tokenizer }) => tokenizer.special.mask);
    const traces = [];
    for (const one of both) {
      const encoding = one.encode(...[a, b].map((text) => spelt(text, masks, one)));
      traces.push({ encoding, attentions: (await one.run(encoding)).attentions });
    }
    const [first, second] = traces;
    checkHeads(first.attentions, second.attentions);
    const { of, tokens, segments, special } = align(first.encoding, second.encoding);
    const [mine, theirs] = traces.map(({ attentions }, at) => merged(attentions, of[at], tokens.length));
    const counts = traces.map(({ encoding }) => encoding.length);
    const isSame = counts.every((count) => count === tokens.length);
    const note = isSame ? '' : `The models split this text into ${counts[0]} and ${counts[1]} tokens, which are `
      + `matched by their characters: tokens that overlap form one of ${tokens.length} stretches. Attention to several `
      + 'tokens is summed, from several averaged (Clark et al. 2019, section 4.1).';
    const [layers, heads] = first.attentions.dims;
    return { ...gridBody(context, [layers, heads, tokens.length], mine.map((weight, at) => weight - theirs[at]), {
      tokens, segments, special, number: 'difference', title: `${model.facts.name} minus ${other.facts.name}`, note,
    }), linked: tokens.length === counts[0] };
  }
  const encoding = model.encode(a, b);
  const { attentions: before } = await model.run(encoding);
  let [after, title] = [null, 'Causal minus bidirectional'];
  if (against === 'causal') ({ attentions: after } = await model.run(encoding, { causal: true }));
  else {
    if (!otherText.trim()) throw new Error('Type the other text; it must have the same number of tokens.');
    const encoded = model.encode(otherText, b);
    if (encoded.length !== encoding.length)
      throw new Error(`One text has ${encoding.length} tokens and the other ${encoded.length}: choose texts of equal `
        + 'length.');
    ({ attentions: after } = await model.run(encoded));
    title = 'Other text minus this one';
  }
  return { ...gridBody(context, before.dims, after.data.map((weight, at) => weight - before.data[at]),
    { tokens: encoding.tokens, segments: encoding.types, special: encoding.special, number: 'difference', title }),
  linked: true };
}

// ---- more of what is on show

export async function layer_values({ traces }, { key, layer }) {
  const trace = traces.get(key);
  if (!trace || layer >= trace.dims[0]) return {};
  const [, heads, length] = trace.dims;
  const size = heads * length * length;
  return { codes: sqrtCodes(trace.values.subarray(layer * size, (layer + 1) * size), trace.isSigned) };
}

export async function query_key({ traces, texts }, { key, layer, head, row, column }) {
  const trace = traces.get(key);
  if (!trace?.scores || layer >= trace.dims[0] || head >= trace.dims[1] || Math.max(row, column) >= trace.dims[2])
    return null;
  const { scores: { size, divisor, factor, termOf, terms, length, isMasked }, out, note } = trace;
  const place = layer * trace.dims[1] + head;
  const vector = ({ data }, at) => data.subarray((place * length + at) * size, (place * length + at + 1) * size);
  const query = vector(out.queries, row).map((value) => value * factor);
  const keys = vector(out.keys, column);
  const products = Array.from(query, (value, at) => (value * keys[at]) / Math.sqrt(divisor));
  const at = (place * length + row) * length + column;
  const added = terms.slice(1).map((term) => [texts.score_titles[term], termOf(term)[at]]);
  const root = divisor === size ? `√${size}` : `√(${divisor / size} × ${size})`;
  const details = products.map((product, dimension) =>
    `dimension ${dimension + 1}: query ${query[dimension].toFixed(3)} × key ${keys[dimension].toFixed(3)} / ${root} = `
    + product.toFixed(3));
  const most = details[largest(products.map(Math.abs), 1)[0]];
  const score = sum(products) + sum(added.map(([, value]) => value));
  const words = added.map(([name, value]) => `${signed(value, 2)} for the ${name}`).join(' and ');
  const total = added.length ? `${sum(products).toFixed(2)}; with ${words} the score is ${score.toFixed(2)}`
    : `a score of ${score.toFixed(2)}`;
  const weight = isMasked(layer, row, column) ? 'the key is masked, so the weight is 0'
    : `the softmax over all tokens turns it into the weight ${out.attentions.data[at].toFixed(4)}`;
  return columns([...products, ...added.map(([, value]) => value)],
    [...range(size).map((dimension) => String(dimension + 1)), ...added.map(([name]) => name)],
    [...details, ...added.map(([name, value]) => `${name}: ${value.toFixed(3)}`)], {
      marked: [...products.map(() => false), ...added.map(() => true)], title: 'Query times key', file: 'query-key',
      sentence: `The ${size} products sum to ${total}; ${weight}. Largest: ${most}.`,
      note: joined(added.length && 'The paler columns are what relative positions add.', note),
    });
}
