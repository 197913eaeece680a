// What Layers and Embeddings ask: a prediction at every layer, norms, the embedding sum, similar sentences and words
// (interpret/layers.py and embeddings.py; figures/interpret/layers.py and embeddings.py).

import { bars, lines, matrix, plane } from './charts.js';
import { cosine, joined, largest, longest, mean, median, norm, percent, principalPlane, range, rankOf, softmax }
  from './numeric.js';
import { scoreRow, strip } from './strips.js';
import { wordAt, wordsIn } from './tokenizer.js';

const MOST_SENTENCES = 20;
const ALL_SIMILAR = 0.3; // a cosine; that of unrelated sentences is about 0 where a model was trained for it
const NEIGHBOURS = 10;

// ---- layers

export async function lens({ model }, { text_a: a, text_b: b, position }) {
  const { facts, tokenizer } = model;
  const encoding = model.encode(a, b);
  model.requireHead('token');
  const masks = tokenizer.maskPositions(encoding);
  if (!masks.length) throw new Error(`Put ${tokenizer.special.mask} in place of a word to predict it.`);
  const place = masks.includes(position) ? position : masks[0];
  const layers = range(facts.layers + 1);
  const { token } = await model.run(encoding, { rows: layers.map((layer) => [layer, place]) });
  const shares = layers.map((layer) => softmax(model.rowOf(token, layer)));
  const [id] = largest(shares.at(-1), 1);
  const tops = shares.map((row) => model.candidates(row, 5));
  const names = layers.map((layer) => (layer ? `layer ${layer}` : 'embeddings'));
  const ranks = shares.map((row) => rankOf(row, id));
  const first = ranks.indexOf(1);
  const isStable = first >= 0 && ranks.slice(first).every((rank) => rank === 1);
  const which = masks.length > 1 ? `masked token ${masks.indexOf(place) + 1}, ` : '';
  return matrix(tops.map((row) => row.map(({ probability }) => probability)), names,
    tops[0].map((_, rank) => `top ${rank + 1}`), {
      words: tops.map((row) => row.map((one) => one.token)), peak: 1,
      title: `Logit lens: ${which}the prediction at every layer`, file: 'logit-lens',
      sentence: `The ${facts.is_prenorm ? 'final LayerNorm and the MLM head' : 'MLM head'} applied to the hidden state `
        + `of every layer. The last row is the model's prediction: ${tokenizer.token(id)}, `
        + `${percent(shares.at(-1)[id])}.${isStable ? ` It ranks first from ${names[first]} on.` : ''}`,
      note: 'The head was trained on the last layer only; on earlier layers its output is an approximation.',
    });
}

/** Norms by layer and token: {hidden, attention, feed_forward}. */
async function normsOf(model, a, b) {
  const encoding = model.encode(a, b);
  const { hidden, updates } = await model.run(encoding);
  const rowsOf = (which) => range(model.facts.layers).map((layer) => [...model.rowOf(updates, which, layer)]);
  return { encoding, attention: rowsOf(0), feed_forward: rowsOf(1), hidden: range(model.facts.layers + 1)
    .map((layer) => range(encoding.length).map((at) => norm(model.rowOf(hidden, layer, at)))) };
}

export async function norms({ model, texts }, { text_a: a, text_b: b, position }) {
  const of = await normsOf(model, a, b);
  const { tokens } = of.encoding;
  const selected = position !== null && position !== undefined && position < tokens.length ? position : null;
  const value = (row) => (selected === null ? median(row) : row[selected]);
  const note = model.facts.notes.norm;
  const series = Object.entries(texts.norm_names).map(([kind, name]) => {
    const values = of[kind].map(value);
    return [name, kind === 'hidden' ? values : [null, ...values]];
  });
  return lines(['embeddings', ...range(model.facts.layers).map((layer) => String(layer + 1))], series, {
    title: `Norms by layer: ${selected === null ? 'median' : `${tokens[selected]} (position ${selected})`}`,
    placeName: 'layer', low: 0, file: 'norms',
    sentence: 'The Euclidean norm of the hidden state after each layer, and of what self-attention and the '
      + `feed-forward network add to it${note ? '' : ' before LayerNorm'}.`,
    note: joined(note, selected === null && texts.median),
  });
}

export async function token_norms({ model, texts }, { text_a: a, text_b: b, of: kind }) {
  const of = await normsOf(model, a, b);
  const name = texts.norm_names[kind];
  const labels = ['embeddings', ...range(model.facts.layers).map((layer) => `layer ${layer + 1}`)];
  const peak = Math.max(...of[kind].flat());
  return strip(of.encoding, of[kind].map((values, at) => {
    const label = labels.slice(-of[kind].length)[at];
    return scoreRow(label, `Norm of the ${name}, ${label}`, values, { peak });
  }), { title: `Norm of the ${name} at each layer`, note: model.facts.notes.norm,
    file: `norms-${kind.replace('_', '-')}` });
}

export async function embedding_sum({ model }, { text_a: a, text_b: b }) {
  const { notes } = model.facts;
  const encoding = model.encode(a, b);
  const { summands } = await model.run(encoding);
  const vectors = ['token', 'segment', 'position'].map((name, part) =>
    [name, range(encoding.length).map((at) => model.rowOf(summands, part, at))]);
  const parts = vectors.filter(([, rows]) => rows.some((row) => row.some((value) => value !== 0)));
  const total = range(encoding.length).map((at) => parts[0][1][at].map((_, place) =>
    parts.reduce((sum, [, rows]) => sum + rows[at][place], 0)));
  const isSum = parts.length > 1;
  const normed = [...parts, ...(isSum ? [['sum', total]] : [])].map(([name, rows]) => [name, rows.map(norm)]);
  const peak = Math.max(...normed.flatMap(([, values]) => values));
  const count = { 1: 'the token embedding alone', 2: 'the sum of two learned vectors' }[parts.length]
    ?? 'the sum of three learned vectors';
  return strip(encoding, [
    ...normed.map(([name, values]) => scoreRow(`norm ${name}`,
      `Norm of the ${name}${name === 'sum' ? '' : ' embedding'}`, values, { scale: 'bar', peak })),
    ...(isSum ? parts : []).map(([name, rows]) => scoreRow(`cos ${name}`,
      `Cosine between the ${name} embedding and the sum: 1 is the same direction, 0 is orthogonal`,
      rows.map((row, at) => cosine(row, total[at])), { peak: 1, plus: true })),
  ], {
    title: isSum ? parts.map(([name]) => name).join(' + ') : 'Token embedding', file: 'embeddings',
    sentence: `The input embedding is ${count}; bars show ${isSum ? 'their norms' : 'norms'}.`,
    note: joined('LayerNorm then normalizes it (Devlin et al. 2018, figure 2).', notes.segments, notes.positions,
      notes.factorization),
  });
}

// ---- sentences

export async function sentences({ model }, { text_a: a, text_b: b }) {
  const own = [a, b].map((text) => text.split(/\s+/).filter(Boolean).join(' '));
  return [...new Set([...own, ...model.facts.singles].filter(Boolean))].join('\n');
}

/** The sentences that are compared, and their vectors. */
async function pooled(context, args) {
  const { model, progress } = context;
  const { facts } = model;
  const texts = (args.lines || await sentences(context, args)).split('\n').map((line) => line.trim()).filter(Boolean);
  if (!texts.length) throw new Error('Type some sentences, one per line.');
  if (texts.length > MOST_SENTENCES)
    throw new Error(`${texts.length} sentences are too many: keep ${MOST_SENTENCES}.`);
  const pooling = args.pooling === 'auto' ? facts.pooling || 'mean' : args.pooling;
  if (args.pooling === 'auto' && facts.unsupported_modules)
    throw new Error(`${facts.name} computes sentence embeddings with ${facts.unsupported_modules}, which the lab does `
      + 'not have: choose a pooling, or use sentence-transformers.');
  const vectors = [];
  for (const text of texts) {
    await progress(vectors.length / texts.length);
    const encoding = model.encode(text);
    const { hidden } = await model.run(encoding, { types: encoding.types.map(() => 0) });
    const rows = range(encoding.length).map((at) => model.rowOf(hidden, facts.layers, at));
    const reduce = { cls: () => rows[0], mean: (at) => mean(rows.map((row) => row[at])),
      max: (at) => Math.max(...rows.map((row) => row[at])) }[pooling];
    vectors.push(pooling === 'cls' ? Float64Array.from(rows[0]) : Float64Array.from(rows[0], (_, at) => reduce(at)));
  }
  return { texts, vectors };
}

const numbered = (texts) => texts.map((text, at) => `${at + 1}. ${text}`);

export async function similarity(context, args) {
  const { texts, vectors } = await pooled(context, args);
  const cosines = vectors.map((one) => vectors.map((other) => cosine(one, other)));
  const apart = cosines.flatMap((row, at) => row.filter((_, column) => column !== at));
  const least = apart.length ? Math.min(...apart) : 0;
  return matrix(cosines, numbered(texts), texts.map((_, at) => String(at + 1)), {
    columnName: 'and', peak: 1, title: 'Cosine similarity of the sentences', file: 'similarity',
    sentence: 'Cosine between the sentence embeddings: 1 is the same direction.',
    note: least > ALL_SIMILAR ? `Every pair has at least ${least.toFixed(2)}: the embeddings of a model that was not `
      + 'trained for sentence similarity are all similar. Compare pairs rather than absolute values (Reimers and '
      + 'Gurevych 2019).' : '',
  });
}

export async function sentence_map(context, args) {
  const { texts, vectors } = await pooled(context, args);
  const { points, explained } = principalPlane(vectors);
  return plane(points, texts.map((_, at) => String(at + 1)), { title: 'Map of the sentences (PCA)',
    details: numbered(texts), file: 'map', sentence: 'The first two principal components of the embeddings.',
    note: `They explain ${percent(explained, 0)} of the variance.` });
}

// ---- words

export async function word_at({ model }, { text_a: a, text_b: b, position }) {
  const encoding = model.encode(a, b);
  if (position >= encoding.length) throw new Error('That token is no longer there.');
  const pieces = wordAt(encoding, position);
  const text = [...(encoding.types[position] ? b : a)];
  const word = pieces.length
    ? text.slice(encoding.offsets[pieces[0]][0], encoding.offsets[pieces.at(-1)][1]).join('') : '';
  return { token: model.tokenizer.nameOf(encoding.ids[position]), word };
}

export async function neighbours({ model }, { text_a: a, text_b: b, word: typed }) {
  const { tokenizer } = model;
  let word = typed.trim();
  if (!word) {
    const own = model.encode(a, b).ids.filter((id) => !tokenizer.special_ids.includes(id)).map(tokenizer.nameOf);
    word = longest(own).trim();
  }
  const id = tokenizer.singleToken(word);
  const table = model.embeddings();
  const cosines = table.map((row, at) => (at === id || at >= tokenizer.size ? -Infinity : cosine(row, table[id])));
  const nearest = largest(cosines, Math.min(NEIGHBOURS, tokenizer.size - 1));
  return bars(nearest.map(tokenizer.token), [['cosine', nearest.map((at) => cosines[at])]], {
    title: `Nearest neighbors of ${word}`, format: '.2f', peak: 1, file: 'neighbours',
    sentence: 'By cosine between token embeddings, before any layer adds context.' });
}

/** The positions of the first occurrence of a word that begins and ends where a word does. */
function tokensOf(encoding, word) {
  const spans = wordsIn(encoding).map((at) => [encoding.offsets[at[0]][0], encoding.offsets[at.at(-1)][1]]);
  const parts = word.trim().split(/\s+/).filter(Boolean).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (!parts.length) return [];
  for (const match of encoding.textA.matchAll(new RegExp(parts.join('\\s+'), 'giu'))) {
    const first = [...encoding.textA.slice(0, match.index)].length;
    const last = first + [...match[0]].length;
    if (spans.some(([start]) => start === first) && spans.some(([, end]) => end === last)) {
      return range(encoding.length).filter((at) => {
        const [start, end] = encoding.offsets[at];
        return first <= start && start < end && end <= last;
      });
    }
  }
  return [];
}

/** A word's vector at every layer. */
async function pathOf(model, text, word) {
  const encoding = model.encode(text);
  const positions = tokensOf(encoding, word);
  if (!positions.length)
    throw new Error(`The word ${word.trim() || '(none)'} is not in the sentence '${text}'${encoding.droppedA.length
      ? ' (what is left of it: the text is longer than the model reads)' : ''}: name a whole word as it is there.`);
  const { hidden } = await model.run(encoding);
  return range(model.facts.layers + 1).map((layer) => {
    const rows = positions.map((at) => model.rowOf(hidden, layer, at));
    return Float64Array.from(rows[0], (_, at) => mean(rows.map((row) => row[at])));
  });
}

function longestCommonWord(a, b) {
  const wordsOf = (text) => text.match(/[\p{L}\p{N}_]+/gu) ?? [];
  const inB = new Set(wordsOf(b).map((word) => word.toLowerCase()));
  const common = wordsOf(a).filter((word) => inB.has(word.toLowerCase()));
  if (!common.length) throw new Error('Texts A and B have no word in common.');
  return longest(common);
}

export async function contexts({ model }, args) {
  let { text_a: a, text_b: b, word } = args;
  if (!(a.trim() && b.trim())) {
    const [first, second, example] = model.facts.contrast;
    [a, b, word] = [first, second, word.trim() || example];
  }
  const { mask } = model.tokenizer.special;
  word = word.trim() || longestCommonWord(a.replaceAll(mask, ' '), b.replaceAll(mask, ' '));
  const paths = [await pathOf(model, a, word), await pathOf(model, b, word)];
  const count = paths[0].length;
  const moved = paths.map((path) => path.map((vector, at) => (at ? cosine(vector, path[at - 1]) : 1)));
  const between = paths[0].map((vector, at) => cosine(vector, paths[1][at]));
  const { points, explained } = principalPlane(paths.flat());
  const layers = ['embeddings', ...range(count - 1).map((layer) => String(layer + 1))];
  const sides = ['in A', 'in B'];
  return { text_a: a, text_b: b, word,
    similarity: lines(layers, [['between the two', between], ['in A, to the previous layer', moved[0]],
      ['in B, to the previous layer', moved[1]]], {
      title: `Contextual embeddings of ${word}`, placeName: 'layer', low: Math.min(0, ...between), high: 1,
      file: 'movement', note: model.facts.notes.norm,
      sentence: "Cosines: a word's embedding starts almost the same and becomes contextual from layer to layer.",
    }),
    path: plane(points, sides.flatMap(() => ['start', ...layers.slice(1)]), {
      title: `Trajectory of ${word} through the layers`, groups: sides.flatMap((_, side) => layers.map(() => side)),
      groupNames: sides, paths: sides.map((_, side) => range(count).map((at) => side * count + at)),
      details: sides.flatMap((name) => layers.map((layer) => `${name}: ${layer}`)), file: 'way',
      note: `The first two principal components; they explain ${percent(explained, 0)} of the variance. What lies `
        + 'together here may differ in the others: the cosines above compare whole vectors.',
    }) };
}
