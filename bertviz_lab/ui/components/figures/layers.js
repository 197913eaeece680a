// Layer by layer: the logit lens and norms. Embeddings: the input embeddings, sentences, a word in two contexts.

import { percent } from 'lab/client/format.js';
import { bars, lines, matrix, plane } from 'lab/components/figures/charts.js';
import { cosineOf, principalPlane } from 'lab/components/figures/components.js';
import { joined, range } from 'lab/components/figures/numbers.js';
import { scoreRow, strip } from 'lab/components/figures/strips.js';

const layerNames = (count, prefix = '') => ['embeddings', ...range(count - 1).map((layer) => `${prefix}${layer + 1}`)];

/** The top predictions of each layer, shaded by probability. `masks` are the positions of all [MASK]s, so that the
 * title says of which of several it is. Hidden states of a pre-norm model go through its final LayerNorm first. */
export function logit_lens({ target, layers, masks = [], is_prenorm: isPrenorm = false, is_tuned: isTuned = false }) {
  const lens = isTuned ? 'Tuned lens' : 'Logit lens';
  const head = isPrenorm ? 'final LayerNorm and the MLM head' : 'MLM head';
  const place = masks.indexOf(target.position);
  const which = masks.length > 1 && place >= 0 ? `masked token ${place + 1}, ` : '';
  const names = layerNames(layers.length, 'layer ');
  const ranks = layers.map(({ rank }) => rank);
  const first = ranks.indexOf(1);
  const isStable = first >= 0 && ranks.slice(first).every((rank) => rank === 1);
  const candidates = (name) => layers.map((layer) => layer.candidates.map((one) => one[name]));
  return matrix({
    values: candidates('probability'), rows: names, words: candidates('token'), peak: 1, scale: 'probability',
    file: isTuned ? 'tuned-lens' : 'logit-lens',
    columns: layers[0].candidates.map((_, rank) => `top ${rank + 1}`),
    title: `${lens}: ${which}the prediction at every layer`,
    sentence: `The ${isTuned ? `translator of each layer, then the ${head},` : head} applied to the hidden state of `
      + `every layer. The last row is the model's prediction: ${target.name}, ${percent(layers.at(-1).probability)}.`
      + (isStable ? ` It ranks first from ${names[first]} on.` : ''),
    note: isTuned ? 'What an affine map can make of a layer for the head (Belrose et al. 2023), not what later layers '
      + 'use: a map that is trained can find what the model itself does not read.'
      : 'The head was trained on the last layer only; on earlier layers its output is an approximation.',
  });
}

const NORM_NAMES = { hidden: 'hidden state', attention: 'attention output', feed_forward: 'feed-forward output' };

function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length / 2;
  return sorted.length % 2 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Three lines over the layers: for the token at `position`, or the median over all tokens, since a mean would show a
 * few of them alone. `norm_note` says what the hidden states of a pre-norm model are. */
export function norms({ encoding: { tokens }, position = null, norm_note: note = '', ...of }) {
  const selected = position < tokens.length ? position : null;
  const names = layerNames(of.hidden.length);
  const series = Object.entries(NORM_NAMES).map(([kind, name]) => {
    const values = of[kind].map((row) => (selected === null ? median(row) : row[selected]));
    return [name, [...Array(names.length - values.length).fill(null), ...values]];
  });
  return lines({ places: names, series, place_name: 'layer', low: 0, file: 'norms',
    title: `Norms by layer: ${selected === null ? 'median' : `${tokens[selected]} (position ${selected})`}`,
    sentence: 'The Euclidean norm of the hidden state after each layer, and of what self-attention and the '
      + `feed-forward network add to it${note ? '' : ' before LayerNorm'}.`,
    note: joined(note, selected === null && 'The median over all tokens, since some, often [CLS] and [SEP], have '
      + 'norms many times as large: click a token to see its own.') });
}

/** The norms of one `kind` with a row for each layer and a column for each token. */
export function token_norms({ encoding, kind, hidden, norm_note: note = '', ...of }) {
  const name = NORM_NAMES[kind];
  const rows = { hidden, ...of }[kind];
  const labels = layerNames(hidden.length, 'layer ').slice(-rows.length);
  const peak = Math.max(...rows.flat());
  return strip(encoding, rows.map((values, at) =>
    scoreRow(labels[at], `Norm of the ${name}, ${labels[at]}`, values, { peak })),
  { title: `Norm of the ${name} at each layer`, note, file: `norms-${kind.replace('_', '-')}` });
}

/** The norm of each summand of the input embeddings, and its cosine with the sum, by name; those that a family lacks
 * have none. `note` says what it lacks. */
export function embedding_sum({ encoding, norms: all, cosines, note = '' }) {
  const parts = Object.keys(cosines).filter((name) => all[name].some((norm) => norm > 0));
  const isSum = parts.length > 1;
  const shown = isSum ? [...parts, 'sum'] : parts;
  const peak = Math.max(...shown.flatMap((name) => all[name]));
  const count = ['the token embedding alone', 'the sum of two learned vectors', 'the sum of three learned vectors'];
  return strip(encoding, [
    ...shown.map((name) => scoreRow(`norm ${name}`, `Norm of the ${name}${name === 'sum' ? '' : ' embedding'}`,
      all[name], { scale: 'bar', peak })),
    ...(isSum ? parts : []).map((name) => scoreRow(`cos ${name}`, `Cosine between the ${name} embedding and the sum: `
      + '1 is the same direction, 0 is orthogonal', cosines[name], { peak: 1, plus: true })),
  ], {
    title: isSum ? parts.join(' + ') : 'Token embedding', file: 'embeddings',
    sentence: `The input embedding is ${count[parts.length - 1]}; bars show ${isSum ? 'their norms' : 'norms'}.`,
    note: joined('LayerNorm then normalizes it (Devlin et al. 2018, figure 2).', note),
  });
}

// ---- sentences

const ALL_SIMILAR = 0.3; // a cosine; that of unrelated sentences is about 0 where a model was trained for similarity

const numbered = (texts) => texts.map((text, at) => `${at + 1}. ${text}`);

/** The cosine of each pair of sentences, of the products of their embeddings. */
export function similarity({ texts, products }) {
  const cosines = products.map((row, one) => row.map((_, other) => cosineOf(products, one, other)));
  const apart = cosines.flatMap((row, at) => row.filter((_, column) => column !== at));
  const least = apart.length ? Math.min(...apart) : 0;
  return matrix({ values: cosines, rows: numbered(texts), columns: texts.map((_, at) => String(at + 1)), peak: 1,
    scale: 'cosine', column_name: 'and', title: 'Cosine similarity of the sentences', file: 'similarity',
    sentence: 'Cosine between the sentence embeddings: 1 is the same direction.',
    note: least > ALL_SIMILAR ? `Every pair has at least ${least.toFixed(2)}: the embeddings of a model that was not `
      + 'trained for sentence similarity are all similar. Compare pairs rather than absolute values (Reimers and '
      + 'Gurevych 2019).' : '' });
}

/** Sentence embeddings in the plane of their first two principal components. */
export function sentence_map({ texts, products }) {
  const { points, explained } = principalPlane(products);
  return plane({ points, names: texts.map((_, at) => String(at + 1)), details: numbered(texts),
    title: 'Map of the sentences (PCA)', file: 'map',
    sentence: 'The first two principal components of the embeddings.',
    note: `They explain ${percent(explained, 0)} of the variance.` });
}

// ---- words

/** The nearest tokens as bars. */
export const neighbours = ({ word, neighbours: near }) => bars({ groups: near.map(({ token }) => token),
  series: [['cosine', near.map(({ cosine }) => cosine)]], title: `Nearest neighbors of ${word}`, number_format: '.2f',
  peak: 1, file: 'neighbours',
  sentence: 'By cosine between token embeddings, before any layer adds context.' });

/** A word in two contexts: its similarity at each layer, of the products of its vectors at all layers, those in A and
 * then those in B. `norm_note` says what the hidden states of a pre-norm model are. */
export function context_similarity({ word, products, norm_note: note = '' }) {
  const count = products.length / 2;
  const cosines = range(count).map((layer) => cosineOf(products, layer, count + layer));
  const moved = (first) => range(count).map((layer) =>
    (layer ? cosineOf(products, first + layer, first + layer - 1) : 1));
  return lines({
    places: layerNames(count), series: [['between the two', cosines], ['in A, to the previous layer', moved(0)],
      ['in B, to the previous layer', moved(count)]],
    title: `Contextual embeddings of ${word}`, place_name: 'layer', low: Math.min(0, ...cosines), high: 1,
    file: 'movement', note,
    sentence: "Cosines: a word's embedding starts almost the same and becomes contextual from layer to layer." });
}

/** The same as two paths through the layers, in one plane. */
export function context_paths({ word, products }) {
  const { points, explained } = principalPlane(products);
  const layers = layerNames(products.length / 2);
  const sides = ['in A', 'in B'];
  return plane({ points, names: sides.flatMap(() => ['start', ...layers.slice(1)]),
    groups: sides.flatMap((_, side) => layers.map(() => side)), group_names: sides,
    paths: sides.map((_, side) => layers.map((__, at) => side * layers.length + at)),
    details: sides.flatMap((name) => layers.map((layer) => `${name}: ${layer}`)),
    title: `Trajectory of ${word} through the layers`, file: 'way',
    note: `The first two principal components; they explain ${percent(explained, 0)} of the variance. What lies `
      + 'together here may differ in the others: the cosines above compare whole vectors.' });
}
