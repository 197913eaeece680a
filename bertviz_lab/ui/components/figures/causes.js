// What a prediction is caused by: activations that are patched, components of its logit, and the tokens that reach it.

import { percent } from 'lab/client/format.js';
import { bars, graph, matrix } from 'lab/components/figures/charts.js';
import { facts, titleOf } from 'lab/components/figures/explanations.js';
import { isNumber, peakOf, range, signed, sum } from 'lab/components/figures/numbers.js';
import { scoreRow, strip } from 'lab/components/figures/strips.js';

const TITLES = { residual: 'Residual state', attention: 'Attention output', feed_forward: 'Feed-forward output',
  head: 'Attention heads' };
const NO_PROOF = 'A patch shows that an activation is enough, or needed, for this change of the text: not that the '
  + 'model uses it for other texts, and components can compensate for each other (Zhang and Nanda 2024).';
const FEWEST_NATS = 0.01; // a smaller difference of two texts has no shares worth reading
const MOST_NAMED = 24; // tokens that all have their name and their numbers in a heat map
const MOST_BARS = 40;

/** A target's score as people read it: a probability, a log-ratio in nats, or the number of a regression. */
function scoreText({ is_regression: isRegression, against }, score) {
  if (isRegression) return score.toFixed(2);
  return against ? `log-ratio ${signed(score, 2)} nats` : percent(Math.exp(score));
}

const corruptionText = ({ positions, names }, tokens) =>
  positions.map((position, at) => `${tokens[position]} → ${names[at]}`).join(', ');

/** The predictions for both texts of a patching: `clean` and `corrupted` are the target's scores. */
export const corrupted = ({ encoding, target, corruption, clean, corrupted: other }) => facts([
  ['Prediction explained', titleOf(target)], ['Corruption', corruptionText(corruption, encoding.tokens)],
  ['Clean text', scoreText(target, clean)], ['Corrupted text', scoreText(target, other)]]);

const layerNames = (rows, component) => {
  const names = range(rows).map((layer) => `layer ${layer + 1}`);
  return component === 'residual' ? ['embeddings', ...names.slice(0, -1)] : names;
};

const isDenoising = (direction) => direction === 'denoising';

/** The effect of each patch of a component, layer by token or layer by head, as shares of the difference of the two
 * texts. `scores` are the target's with each patch. */
export function activation_patching({ encoding: { tokens }, target, direction, component, clean, corrupted: other,
  scores }) {
  const base = isDenoising(direction) ? other : clean;
  const total = isDenoising(direction) ? clean - other : other - clean;
  const effects = scores.map((row) => row.map((score) => score - base));
  const isHead = component === 'head';
  const isWide = !isHead && tokens.length > MOST_NAMED;
  const hasShares = Math.abs(total) >= FEWEST_NATS;
  const texts = effects.map((row) => row.map((effect) => {
    const share = hasShares ? (100 * effect) / total : 0;
    return isWide || Math.abs(share) < 0.5 ? '' : share.toFixed(0);
  }));
  const [into, from, what] = isDenoising(direction) ? ['corrupted', 'clean', 'returns']
    : ['clean', 'corrupted', 'is lost'];
  const unit = target.is_regression ? '' : 'nats';
  return matrix({
    values: effects, rows: layerNames(effects.length, component), texts, unit, scale: unit, axis: isWide ? 'token' : '',
    columns: isHead ? effects[0].map((_, head) => String(head + 1)) : tokens, column_name: isHead ? 'head' : '',
    peak: Math.max(Math.abs(total), peakOf(effects.flat())) || 1,
    picks: [range(effects.length), range(effects[0].length)],
    title: `${TITLES[component]}: ${direction} of ${titleOf(target)}`,
    sentence: `Each cell is the ${into} run with one activation of the ${from} run: how much of the prediction `
      + `${what}. `
      + (hasShares ? `100 is the whole difference of the two texts, ${`${signed(total, 2)} ${unit}`.trim()}.`
        : 'Both texts have nearly the same score: change another token.')
      + ' Click a cell to see the prediction with that patch.',
    note: NO_PROOF + (isHead ? ' A head is patched at all tokens.' : ''),
    file: `patching-${component.replace('_', '-')}`,
  });
}

/** The probabilities of some classes for the clean and the corrupted text, and with the patch of a cell, {component,
 * layer, index}; `rows` is how many layers its component has. */
export function patched({ encoding: { tokens }, target, direction, cell, rows, names, runs }) {
  const { component, layer, index } = cell;
  const at = component === 'head' ? `head ${index + 1}` : `${tokens[index]} (${index})`;
  const place = `${TITLES[component].toLowerCase()}, ${layerNames(rows, component)[layer]}, ${at}`;
  const [into, source] = isDenoising(direction) ? ['corrupted', 'clean'] : ['clean', 'corrupted'];
  return bars({ groups: names, number_format: target.is_regression ? '.2f' : '.1%', file: 'patched',
    series: ['clean text', 'corrupted text', 'with this patch'].map((name, run) => [name, runs[run]]),
    title: `Prediction with a patch: ${place}`,
    sentence: `The ${into} run with this one activation of the ${source} run.` });
}

/** What each component adds to a logit, next to the effect of patching it, where it can be patched: `patched` has
 * those of heads and feed-forward layers. */
export function logit_decomposition({ target, direction, logit, embeddings, heads, feed_forward: feedForward, biases,
  patched: effects }) {
  const rows = [
    ...Object.entries(embeddings).map(([name, value]) => [`${name} embedding`, value, null]),
    ...heads.flatMap((ofHeads, layer) => [
      ...ofHeads.map((value, head) => [`layer ${layer + 1} head ${head + 1}`, value, effects.heads[layer][head]]),
      [`layer ${layer + 1} feed-forward`, feedForward[layer], effects.feed_forward[layer]],
    ]),
    ['biases', biases, null],
  ];
  const total = rows.reduce((sum, [, value]) => sum + value, 0);
  if (rows.length > MOST_BARS) rows.sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]));
  const against = target.against ? ` minus that of “${target.against.name}”` : '';
  return bars({
    groups: rows.map(([name]) => name), number_format: '+.2f', ranked: 'largest contributions', file: 'decomposition',
    series: [['added to the logit', rows.map(([, value]) => value)],
      [`${isDenoising(direction) ? 'restored' : 'lost'} when patched`, rows.map(([, , effect]) => effect)]],
    peak: 1.25 * peakOf(rows.flatMap((row) => row.slice(1)).filter(isNumber)), // room for the numbers
    title: `Components of the logit of “${target.name}”${against}`,
    sentence: `The contributions sum to ${total.toFixed(4)}; the model computes ${logit.toFixed(4)}. Next to them is `
      + `the effect of patching the same component (${direction}).`,
    note: 'Direct contributions only, at the position of the prediction: what a component does through later ones is '
      + 'counted there, and patching counts it here. Patching measures the change to the corrupted text, heads at all '
      + 'tokens. A logit without a contrast is not a probability, which depends on all other logits too.',
  });
}

/** What a method of information flow measures. */
const FLOWS = {
  'raw attention': 'Mean attention of all layers and heads from the position',
  rollout: 'Attention rollout: mean attention of all heads, and the identity for the residual connection, multiplied '
    + 'through the layers (Abnar and Zuidema 2020)',
  'value zeroing': "Change of the position's state, as cosine distance, when the value vector of this token is zero "
    + '(Mohebbi et al. 2023)',
  norm: 'Norm of the vector that this token adds, through heads, residual connection and LayerNorm '
    + '(Kobayashi et al. 2021)',
  ALTI: 'How near that vector comes to the whole output (Ferrando et al. 2022)',
};

const reached = ({ tokens }, position) => `${tokens[position]} (${position})`;

/** Each token's contribution to a position after all layers, [[method, values], ...]. */
export const information_flow = ({ encoding, position, methods }) => strip(encoding,
  methods.map(([name, values]) => scoreRow(name, FLOWS[name], values)), {
    title: `What reaches ${reached(encoding, position)}`, file: 'information-flow',
    sentence: 'Each row sums to 1. Where the rows differ, attention alone does not show what flows.',
    note: 'A contribution is how much of a token is mixed in, not what it does to the prediction: it has no sign. '
      + 'Value zeroing measures the feed-forward layer too, norm and ALTI leave it out.',
  });

/** Each token's contribution to a position within every layer, by one method. */
export const flow_by_layer = ({ encoding, position, method, layers }) => strip(encoding,
  layers.map((values, at) => scoreRow(`layer ${at + 1}`, `Contribution within layer ${at + 1}`, values)), {
    title: `Contributions to ${reached(encoding, position)} layer by layer: ${method}`,
    file: `information-flow-${method.replace(' ', '-').toLowerCase()}`,
  });

/** The paths to a position through the layers: `edges` are [layer, from, to, share], of those above a threshold;
 * `through` has for each state, the embeddings first, the share that goes through each token. */
export function flow_graph({ tokens, position, method, threshold, edges, through }) {
  const rows = through.map((_, layer) => (layer ? `layer ${layer}` : 'embeddings'));
  const named = (at) => `${tokens[at]} (${at})`;
  const nodes = through.flatMap((shares, row) => shares.map((size, column) =>
    ({ row, column, size, detail: `${named(column)}, ${rows[row]}: ${percent(size)}` })))
    .filter(({ size }) => size >= threshold);
  const ordered = [...edges].sort((one, other) => other[0] - one[0] || other[3] - one[3]);
  const first = sum(edges.filter(([layer]) => layer === 0).map(([, , , share]) => share));
  return graph({ columns: tokens, rows, nodes, edges, table: { header: ['layer', 'from', 'to', 'share'],
    rows: ordered.map(([layer, from, to, share]) => [layer + 1, named(from), named(to), share]) },
  title: `Paths to ${named(position)} by ${method}`, file: 'information-flow-graph',
  sentence: "Each line is a layer's contribution from a token to another, times the share of that one that reaches "
    + `${tokens[position]}; those under ${percent(threshold, 0)} are left out. Together they have ${percent(first, 0)} `
    + 'of the first layer.',
  note: 'The product treats layers as if they mixed tokens linearly.' });
}
