// The picture of a model: its architecture, filled with the numbers of a text as far as they are known.

import { range } from 'lab/components/figures/numbers.js';
import { columnsOf } from 'lab/components/figures/strips.js';

const MOST_RESULTS = 4; // of a task

/** What a task's answer says of the text, [[words, probability], ...]. */
function resultsOf({ picture, labels, text, words, best }) {
  if (picture === 'classification') return labels.map(({ label, score }) => [label, score]);
  if (picture === 'answer') return best.map((one) => [one.text, one.probability]);
  const characters = [...text];
  return words.filter(({ label }) => label !== 'O').map(({ label, start, end, probability }) =>
    [`${characters.slice(start, end).join('')}: ${label}`, probability]);
}

/** The parts of a model (`describe_architecture` of interpret/architecture.py). Each of the numbers may be missing:
 * `encoding`, the norms of the summands of the input (`embeddings`) and of hidden states and updates (`norms`), the
 * weights of all heads (`attention`, as the grid takes them), the predictions for each [MASK] (`masks`), the NSP
 * probabilities (`next`), and the answer of a fine-tuned model (`answer`). `lights` are parts to be lit. */
export function architecture(given) {
  const { encoding = null, embeddings = null, norms = null, attention = null, masks = [], next = null, answer = null,
    lights = [], ...model } = given;
  return {
    ...model, embeddings, norms, masks, next, lights, given: { picture: 'architecture', ...given },
    title: `Architecture of ${model.name}`, file: 'architecture',
    texts: encoding ? [encoding.text_a, encoding.text_b].filter(Boolean) : [],
    columns: encoding && columnsOf(encoding),
    attention: typeof attention === 'string' ? JSON.parse(attention) : attention,
    results: answer && resultsOf(answer).slice(0, MOST_RESULTS),
  };
}

/** The order of computation: the steps of the whole model and its heads (`branches`), of one layer, and of an attention
 * head. A pre-norm model has no LayerNorm before the attention of its first layer, since the embeddings have just been
 * normalized (model/encoder.py). */
export function stepsOf(model, layer = 0) {
  const isRelative = model.positions !== 'absolute';
  const isRotary = model.positions === 'rotary'; // which turns queries and keys; the others add to the scores
  const branches = [
    ...(model.has_mlm ? [['mlm', 'predictions']] : []),
    ...(model.pair_objective ? [['pooler', 'nsp']] : model.has_mlm ? [['absent']] : []),
    ...(model.task === 'classification' ? [['pooler', 'task']] : model.task ? [['task']] : []),
  ];
  return {
    model: ['text', 'tokens', 'embeddings', 'layers', ...(model.is_prenorm ? ['final_norm'] : [])],
    branches,
    layer: model.is_prenorm
      ? [...(layer ? ['norm'] : []), 'attention', 'residual', 'norm', 'feed_forward', 'residual']
      : ['attention', 'residual', 'norm', 'feed_forward', 'residual', 'norm'],
    head: ['projections', ...(isRotary ? ['positions'] : []), 'scores',
      ...(isRelative && !isRotary ? ['positions'] : []), 'weights', 'context', 'output'],
  };
}

/** The level at which a part is drawn: the whole model, one layer, or one head. */
export function levelOf(part) {
  if (['layer', 'attention', 'residual', 'norm', 'feed_forward'].includes(part)) return 'layer';
  const inHead = ['head', 'projections', 'positions', 'scores', 'weights', 'context', 'output'];
  return inHead.includes(part) ? 'head' : 'model';
}

/** The size of a tensor by its letters, in symbols and in numbers: "BLD" is B × L × D and 1 × 12 × 256. */
export function shapeOf(model, letters) {
  const sizes = { B: 1, L: model.columns?.length ?? 'L', D: model.hidden, H: model.heads, K: model.head_size,
    F: model.feed_forward, V: model.vocabulary, C: model.labels.length || 2, 2: 2, E: model.embedding_size };
  const written = (each) => [...letters].map(each).join(' × ');
  return { symbols: written((letter) => letter), numbers: written((letter) => sizes[letter]) };
}

/** The layers that a stack of many shows, null in place of those that are left out. */
export function shownLayers({ layers }, chosen) {
  const all = range(layers);
  if (layers <= 12) return all;
  const kept = new Set([0, 1, 2, chosen - 1, chosen, chosen + 1, layers - 2, layers - 1]);
  return all.filter((at) => kept.has(at) || kept.has(at - 1)).map((at) => (kept.has(at) ? at : null));
}
