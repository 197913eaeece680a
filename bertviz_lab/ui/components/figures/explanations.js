// What a prediction rests on: its tokens, its heads, and what it is after an intervention. A target is {kind, position,
// index, name, against, is_regression}: `against` is the class that it is contrasted with, or null.

import { aligned, percent, whole } from 'lab/client/format.js';
import { bars, matrix } from 'lab/components/figures/charts.js';
import { joined, peakOf, range, signed } from 'lab/components/figures/numbers.js';
import { scoreRow, strip } from 'lab/components/figures/strips.js';

const NOT_AN_EXPLANATION = 'Attention weights show where a head gathers information, not its effect on the prediction: '
  + 'tokens with high attention may contribute nothing, and others contribute by other paths.';
const DESCRIPTIONS = {
  'integrated gradients': (quantity) => `Contribution of each token to the ${quantity}, integrated along the path from `
    + 'an all-[MASK] baseline to this text; the contributions sum to the total change (Sundararajan et al. 2017)',
  'gradient x input': (quantity) => `The gradient of the ${quantity} times the token embedding`,
  occlusion: (quantity) => `Loss in ${quantity} when this token alone is replaced by [MASK] (Zeiler and Fergus 2014)`,
};
const ATTENTION = 'Attention from the position of the prediction to this token: mean over all heads and layers';

export const titleOf = ({ name, against }) => (against ? `${name} rather than ${against.name}` : name);

/** What the score of a target is, in words. */
function quantityOf({ is_regression: isRegression, against }) {
  if (isRegression) return 'predicted value';
  return against ? 'log-ratio' : 'log-probability';
}

export const facts = (items, note = '') => ({ items, note, tone: 'plain' });

/** The prediction that is explained: its probability, or the number of a regression, and of a token its rank. */
export const explained = ({ target, value, rank = null }) => facts([
  ['Prediction explained', target.name],
  target.is_regression ? ['Predicted value', value.toFixed(2)] : ['Probability', percent(value)],
  ...(rank === null ? [] : [['Rank in vocabulary', whole(rank)]]),
]);

/** A difference of log-probabilities as a likelihood ratio in words. */
function timesAsLikely(change) {
  const ratio = Math.exp(Math.min(Math.abs(change), 50));
  if (ratio < 1.05) return 'about as likely';
  if (ratio > 1e6) return change > 0 ? 'over a million times as likely' : 'less than a millionth as likely';
  const factor = ratio < 20 ? ratio.toFixed(1) : whole(ratio);
  return change > 0 ? `${factor} times as likely` : `1/${factor} as likely`;
}

/** What a target is about, in a sentence. */
function aboutOf(target, tokens) {
  const { kind, name, position } = target;
  if (kind === 'next') return `the prediction that ${titleOf(target)}`;
  if (kind === 'start' || kind === 'end') return `${name} as the ${kind} of the answer`;
  return kind === 'word' ? `${titleOf(target)} as the label of ${tokens[position]}` : titleOf(target);
}

/** The contribution of each token by `methods`, {method, scores, error}; `attention` is shown next to them for
 * contrast. `change` is the score of the text minus that of the text with every token masked. */
export function attribution({ encoding, target, methods, change, attention = null, title = '', note = '' }) {
  const quantity = quantityOf(target) + (target.is_regression ? '' : ', in nats');
  const rows = methods.map(({ method, scores }) => scoreRow(method, DESCRIPTIONS[method](quantity), scores,
    { plus: true, digits: peakOf(scores) >= 1 ? 2 : 3 }));
  if (attention) rows.push(scoreRow('attention', ATTENTION, attention, { scale: 'bar', digits: 3 }));
  const contrast = target.against ? `, against “${target.against.name}”,` : '';
  const said = target.is_regression
    ? `With this text the ${target.name} is ${signed(change, 2)} compared with every token masked.`
    : `With this text “${target.name}”${contrast} is ${timesAsLikely(change)} as with every token masked: the `
      + `logarithm of that is ${signed(change, 2)}.`;
  const residuals = methods.filter(({ error }) => (error ?? null) !== null).map(({ method, error }) =>
    `The ${method} attributions sum to that with a residual of ${Math.abs(error).toFixed(3)}.`);
  return strip(encoding, rows, { title: title || `Attribution for ${aboutOf(target, encoding.tokens)}`,
    sentence: 'Blue supports the prediction, brown opposes it.', file: 'attribution',
    note: joined(said, ...residuals, attention && NOT_AN_EXPLANATION, note) });
}

/** The effect of each head on the score of a target, (layers, heads), with a column for whole layers. With `off`, heads
 * can be selected to ablate them, and the ablated ones in it, [layer, head], are marked. With a `sharing_note` all
 * layers are one, and a head is ablated where that layer is used for one of them. */
export function head_ablation({ target, baseline, without_head: withoutHead, without_layer: withoutLayer, off = null,
  sharing_note: sharingNote = '' }) {
  const effects = withoutHead.map((row) => row.map((score) => baseline - score));
  const values = effects.map((row, layer) => [...row, baseline - withoutLayer[layer]]);
  const [layers, heads] = [effects.length, effects[0].length];
  const texts = values.map((row) => row.map(aligned(values.flat())));
  for (const [layer, head] of off ?? []) if (layer < layers && head < heads) texts[layer][head] = 'off';
  return matrix({
    values, rows: range(layers).map((layer) => `layer ${layer + 1}`), texts, column_name: 'head', file: 'heads',
    columns: [...range(heads).map((head) => String(head + 1)), 'all'], peak: peakOf(effects.flat()) || 1,
    scale: quantityOf(target) + (target.is_regression ? '' : ', in nats'),
    unit: target.is_regression ? '' : 'nats', picks: off ? [range(layers), range(heads + 1)] : [[], []],
    title: `Effect of each head on ${titleOf(target)}`,
    sentence: 'Ablated one at a time: blue heads support the prediction, brown ones oppose it; the last column ablates '
      + `all heads of a layer.${off ? ' Click a head to ablate it.' : ''}`,
    note: joined(`Values are the ${quantityOf(target)} with the head minus without it (Michel et al. 2019). Heads can `
      + 'compensate for each other, so a small effect does not mean that a head does nothing.', sharingNote,
    sharingNote && 'A head is ablated in one layer only.'),
  });
}

/** An intervention in words: heads that are ablated, [layer, head], a causal mask, and segment ids that are "zero" or
 * "swapped". */
const changeWords = ({ ablated, causal, segments }) => [
  ablated.length && `without ${ablated.map(([layer, head]) => `layer ${layer + 1} head ${head + 1}`).join(', ')}`,
  causal && 'causal mask',
  segments && (segments === 'zero' ? 'all segment ids 0' : 'segment ids swapped'),
].filter(Boolean).join(' and ');

/** What an intervention changed; `lacks_segments` where segment ids were to be changed that the model does not have. */
export function changes({ change, lacks_segments: lacksSegments }) {
  const changed = changeWords(change);
  const hint = 'Check the box, change the segment ids of a pair, or open Head ablation and click some heads.';
  const missing = 'This model has no segment embeddings, so it has no segment ids to change.';
  return facts([['Changed', changed || 'nothing changed yet']], lacksSegments ? missing : changed ? '' : hint);
}

/** The probabilities of some classes, or numbers for a regression, before and after an intervention: a `change`, or
 * `changed` in words. Without one there is nothing to draw twice. */
export function intervention({ names, before, after, change = null, changed = change ? changeWords(change) : '',
  is_regression: isRegression = false }) {
  const series = [['unmodified model', before], ...(changed ? [[changed, after]] : [])];
  return bars({ groups: names, series, title: 'Prediction before and after', file: 'what-if',
    number_format: isRegression ? '.2f' : '.1%' });
}
