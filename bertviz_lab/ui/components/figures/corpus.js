// What heads and neurons do on a corpus: all heads by two metrics, one head or neuron with examples, and searches.

import { percent, whole } from 'lab/client/format.js';
import { METRICS } from 'lab/components/figures/attention.js';
import { bars, columns, lines, matrix, points } from 'lab/components/figures/charts.js';
import { facts } from 'lab/components/figures/explanations.js';
import { peakOf, range, signed } from 'lab/components/figures/numbers.js';

/** The metrics of a corpus index. */
const NAMES = ['content', 'position', 'previous', 'next', 'same', 'same_word', 'separator', 'cls', 'entropy',
  'distance'];
const NOT_SHARES = ['entropy', 'distance'];
const NO_USE = 'Attention shows where a head gathers information, not whether a prediction uses it (Jain and Wallace '
  + '2019): Causes and head ablation measure that.';
const NEURON_NOTE = 'The strongest examples make a neuron look purer than it is: most of its activations are weaker '
  + 'and may be about something else (Bolukbasi et al. 2021).';

/** The metrics of a corpus index to choose from, [[name, title], ...]. */
export const CORPUS_METRICS = NAMES.map((name) => [name, METRICS[name][0]]);

const roleName = (role) => (role ? METRICS[role][0] : 'no single role');

/** A head or neuron as papers write it: "3.2" is the second of the third layer. */
const placeName = (layer, number) => `${layer + 1}.${number + 1}`;

/** What was indexed. */
export const indexed_corpus = ({ name, texts, tokens }) =>
  facts([['Corpus', name], ['Texts', whole(texts)], ['Tokens', whole(tokens)]]);

/** What the four colors of the layers are: a layer each, or a quarter of many. */
function layerGroups(layers) {
  const count = Math.min(4, layers);
  return range(count).map((group) => {
    const own = range(layers).filter((layer) => Math.floor((layer * count) / layers) === group);
    return own.length > 1 ? `layers ${own[0] + 1} to ${own.at(-1) + 1}` : `layer ${own[0] + 1}`;
  });
}

/** All heads by two `axes`, {name, values: (layers, heads)}; a click sends a head's number, counted through all
 * layers. `roles` are names of metrics, "" for none. */
export function corpus_heads({ axes: [x, y], roles, chosen, texts, tokens }) {
  const layers = roles.length;
  const places = roles.flatMap((row, layer) => row.map((role, head) => ({ layer, head, role })));
  const [across, up] = [x, y].map(({ name }) => METRICS[name]);
  return points({
    points: places.map(({ layer, head }) => [x.values[layer][head], y.values[layer][head]]),
    names: places.map(({ layer, head, role }) => `head ${placeName(layer, head)}: ${roleName(role)}`),
    axes: [across[0], up[0]], picks: range(places.length), what: 'head',
    fits: NOT_SHARES.includes(y.name), fits_across: NOT_SHARES.includes(x.name),
    groups: places.map(({ layer }) => Math.floor((layer * Math.min(4, layers)) / layers)),
    group_names: layerGroups(layers),
    marked: places.map(({ layer, head }) => layer === chosen[0] && head === chosen[1]),
    title: `All heads on ${whole(texts)} texts`, file: 'heads-on-corpus', note: NO_USE,
    sentence: `Means over ${whole(tokens)} tokens: ${across[0]} is ${across[1]}; ${up[0]}, ${up[1]}. The cross is head `
      + `${placeName(...chosen)}. Click a head to see where it attends.`,
  });
}

/** What a head does on average: `metrics` has a number for each name. */
export const corpus_head = ({ layer, head, role, metrics }) => facts([
  ['Head', placeName(layer, head)], ['Role on the corpus', roleName(role)],
  ...CORPUS_METRICS.map(([name, title]) =>
    [title, NOT_SHARES.includes(name) ? metrics[name].toFixed(2) : percent(metrics[name], 0)])]);

/** A head's mean weight by distance, between tokens of a text: the middle one of `values` is to the token itself. */
export function head_profile({ layer, head, values }) {
  const reach = (values.length - 1) / 2;
  const names = range(values.length).map((at) => (at === reach ? 'itself' : signed(at - reach, 0)));
  for (const end of [0, names.length - 1]) names[end] += ' or more';
  return columns({ values, names, details: names.map((name, at) => `${name}: ${values[at].toFixed(3)}`),
    title: `Head ${placeName(layer, head)}: mean weight by distance`, file: 'distance-profile',
    sentence: 'Between tokens of the text, in tokens: what is left of 0 comes before.' });
}

/** Texts with marked tokens. An item has `parts` [text, mark], `value` (0 to 1), `words` for it, and what a click sends
 * as `pick`. */
const contexts = (groups, captions) => ({ title: '', sentence: '', note: '', ...captions,
  groups: groups.filter(({ items }) => items.length) });

/** Where a head attends: the `strongest` examples {parts, value, pick}, and random ones of each of `intervals`, [low,
 * high, share of tokens, examples]. */
export function head_examples({ layer, head, strongest, intervals }) {
  const group = (name, examples) =>
    ({ name, items: examples.map((example) => ({ ...example, words: example.value.toFixed(2) })) });
  const ofInterval = ([low, high, share, examples]) =>
    group(`${low} to ${Math.min(1, high)}: ${percent(share, 0)} of tokens`, examples);
  return contexts([group('The strongest attention, one pair a text', strongest), ...intervals.map(ofInterval)], {
    title: `Where head ${placeName(layer, head)} attends`, file: `head-${placeName(layer, head)}-examples`,
    sentence: 'The attending token is underlined, the one that it attends to most is filled. Below the strongest: '
      + 'random tokens by their largest weight to another token. Choose a text to explore it.',
  });
}

/** For each head how much more it links tokens like those of an example than their distance explains. */
export function head_search({ example: [query, key], masked, alike, pairs, example_weights: here, weights, expected,
  largest }) {
  const lift = weights.map((row, layer) => row.map((weight, head) => weight - expected[layer][head]));
  const [queries, keys] = alike.map((tokens) => tokens.slice(0, 5).join(', '));
  const heads = lift.flatMap((row, layer) => row.map((value, head) => ({ layer, head, value })));
  const best = heads.reduce((one, other) => (other.value > one.value ? other : one));
  const ofBest = (values) => values[best.layer][best.head];
  return matrix({
    values: lift, rows: range(lift.length).map((layer) => `layer ${layer + 1}`),
    columns: range(lift[0].length).map((head) => String(head + 1)), column_name: 'head',
    texts: lift.map((row) => row.map((value) => signed(value, 2))),
    details: lift.map((row, layer) => row.map((_, head) => `head ${placeName(layer, head)}: `
      + `${weights[layer][head].toFixed(3)} on average, ${expected[layer][head].toFixed(3)} at these distances, `
      + `largest of the text in ${percent(largest[layer][head], 0)}; here ${here[layer][head].toFixed(3)}`)),
    peak: Math.max(0.2, peakOf(lift.flat())), picks: [range(lift.length), range(lift[0].length)],
    title: `Heads that link ${query}${masked && ` (${masked}, masked)`} to ${key}`, file: 'head-search',
    sentence: `${whole(pairs)} pairs of the corpus (${keys ? `${queries} → ${keys}` : `the same twice: ${queries}`}): `
      + 'the mean weight minus what the head gives to the same distances anyway. Head '
      + `${placeName(best.layer, best.head)} gives them ${ofBest(weights).toFixed(2)} instead of `
      + `${ofBest(expected).toFixed(2)}, more than to any other token of the text in ${percent(ofBest(largest), 0)}.`,
    note: `Tokens are alike by their word embeddings, which do not know the sentence. ${NO_USE}`,
  });
}

/** The neurons {layer, neuron, share, parts} that fire at a token, each with its strongest example of the corpus. */
export function firing_neurons({ token, position, neurons }) {
  const items = neurons.map(({ layer, neuron, share, parts }) => {
    const name = placeName(layer, neuron);
    return { parts: [[`${name}: `, ''], ...parts], value: Math.min(1, share), words: percent(share, 0), pick: name };
  });
  return contexts([{ name: 'Activation here, as a share of the largest in the corpus', items }], {
    title: `Neurons that fire at ${token} (${position})`, file: 'firing-neurons', note: NEURON_NOTE,
    sentence: 'Each with its most activating text. Choose one to see more of it.' });
}

/** The most activating tokens of a neuron in their texts: `examples` have `parts`, `value` (the activation) and `pick`;
 * `active` is its share of tokens. */
export function neuron_examples({ layer, neuron, active, examples }) {
  const peak = Math.max(0, ...examples.map(({ value }) => value)) || 1;
  const items = examples.map((example) =>
    ({ ...example, value: Math.max(0, example.value / peak), words: example.value.toFixed(2) }));
  return contexts([{ name: `Active (above 0) at ${percent(active, 0)} of tokens`, items }], {
    title: `Neuron ${placeName(layer, neuron)}: most activating tokens, one a text`, note: NEURON_NOTE,
    file: `neuron-${placeName(layer, neuron)}` });
}

/** The tokens [token, change] that a neuron promotes and suppresses. */
export function promoted_tokens({ layer, neuron, promoted, suppressed, is_exact: isExact }) {
  const tokens = [...promoted, ...[...suppressed].reverse()];
  return bars({ groups: tokens.map(([token]) => token), series: [['', tokens.map(([, change]) => change)]],
    number_format: '+.3f', file: 'promoted-tokens',
    title: `Neuron ${placeName(layer, neuron)}: tokens that it promotes and suppresses`,
    sentence: "Change of the log-probability in nats: the masked-LM head on this layer's output with the neuron, minus "
      + 'without it, at its most activating tokens (after Geva et al. 2022).'
      + `${isExact ? '' : ' The layers after this one are skipped, as by the logit lens.'}`,
    note: 'What a neuron writes goes through LayerNorm and the head, so what it promotes depends on the state that it '
      + 'is added to: at other tokens it may be different.' });
}

/** How a head came to do what it does: its four largest shares at the end, at each of `steps`. */
export function head_over_training({ layer, head, steps, metrics, texts }) {
  const names = NAMES.filter((name) => !NOT_SHARES.includes(name))
    .sort((one, other) => metrics[other].at(-1) - metrics[one].at(-1)).slice(0, 4);
  return lines({ places: steps.map(whole), series: names.map((name) => [METRICS[name][0], metrics[name]]),
    place_name: 'step', low: 0, high: 1, title: `Head ${placeName(layer, head)} over training`,
    sentence: `The same index at each snapshot, over ${whole(texts)} texts of the corpus.`,
    file: 'head-over-training' });
}
