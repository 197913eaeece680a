// The words of the attention grid, and an attention score taken apart.

import { columns } from 'lab/components/figures/charts.js';
import { joined, peakOf, range, signed, sum } from 'lab/components/figures/numbers.js';

/** Each head metric of a text or a corpus: its name on the page, and what it is. Means over the query tokens. */
export const METRICS = {
  entropy: ['attention entropy', 'in nats: 0 is a single token, ln(tokens) is uniform attention'],
  distance: ['distance', 'mean distance of the tokens attended to, in tokens'],
  previous: ['previous token', 'share of attention to the previous token'],
  next: ['next token', 'share of attention to the next token'],
  same: ['token itself', 'share of attention to the token itself'],
  special: ['special tokens', 'share of attention to special tokens, such as [CLS] and [SEP]'],
  across: ['other sentence', 'share of attention from one sentence to the other'],
  same_word: ['same word', 'share of attention to other places of the same token, where there are any'],
  separator: ['separator', 'share of attention to the separator, [SEP]'],
  cls: ['[CLS]', 'share of attention to [CLS]'],
  content: ['content-based', 'squared weights that distance does not explain'],
  position: ['position-based', 'squared weights that the mean weight at each distance explains'],
};

/** What the grid can show besides attention weights: the score before the softmax, or one of its terms. */
const SCORES = {
  score: 'attention score (before the softmax)',
  query_key: 'query times key',
  content_to_content: 'content-to-content term',
  content_to_position: 'content-to-position term',
  position_to_content: 'position-to-content term',
  relative_bias: 'relative position bias',
};

const SQUARES = 'Each square is one head; layers go down, heads go across.';
const ROWS = 'Within a square a row is the attending token (from), a column the token attended to (to).';
const GUIDES = {
  weight: `${SQUARES} ${ROWS} The weights of a row sum to 1: the output for the token is the weighted sum of the value `
    + 'vectors.',
  difference: `${SQUARES} Blue is positive: more attention than in the one that is subtracted; brown is negative: `
    + 'less. Every row sums to 0.',
  score: `${SQUARES} ${ROWS} Blue is positive, brown is negative. The softmax over a row of scores gives its attention `
    + 'weights.',
};

/** The content of the grid with its words. `metrics` are rows of heads by name; `windows` are those of local attention,
 * null for layers that see all tokens; `shown` is the term of scores that the numbers are, of `terms` that there are;
 * `matched` are the numbers of tokens of two models that were matched; `roles` of heads on a corpus are names of
 * `METRICS`, "" for none. */
export function attention({ title = '', note = '', number, metrics = null, windows = [], shown = '', terms = null,
  matched = null, roles = null, ...body }) {
  const { length } = body.tokens;
  const local = windows.filter((window) => window !== null);
  const isCut = local.length && Math.floor(Math.max(...local) / 2) < length - 1;
  return {
    ...body, number,
    title: [title, SCORES[shown]].filter(Boolean).join(': '),
    guide: joined(GUIDES[number], note, matched && matchedWords(length, matched),
      isCut && 'Gray cells are outside the window.'),
    ...(metrics && { metrics: Object.fromEntries(Object.entries(metrics).map(([name, values]) =>
      [name, { title: METRICS[name][0], says: METRICS[name][1], values }])) }),
    ...(roles && { roles: roles.map((row) => row.map((role) => role && METRICS[role][0])) }),
    ...(local.length && { windows }),
    ...(terms && { shown: shown || 'weights',
      choices: [['weights', 'attention weights'], ...terms.map((term) => [term, SCORES[term]])] }),
  };
}

/** How the tokens of two models were matched, where they differ. */
function matchedWords(stretches, [first, second]) {
  if (stretches === first && first === second) return '';
  return `The models split this text into ${first} and ${second} tokens, which are matched by their characters: tokens `
    + `that overlap form one of ${stretches} stretches. Attention to several tokens is summed, from several averaged `
    + '(Clark et al. 2019, section 4.1).';
}

/** An attention score: the query times the key, dimension by dimension, and what relative positions add. */
export function query_key({ query, key, products, divisor, added, score, weight, is_masked: isMasked, note = '' }) {
  const size = query.length;
  const root = divisor === size ? `√${size}` : `√(${divisor / size} × ${size})`;
  const details = products.map((product, at) =>
    `dimension ${at + 1}: query ${query[at].toFixed(3)} × key ${key[at].toFixed(3)} / ${root} = ${product.toFixed(3)}`);
  const terms = Object.entries(added).map(([name, value]) => [SCORES[name], value]);
  const words = terms.map(([name, value]) => `${signed(value, 2)} for the ${name}`).join(' and ');
  const total = terms.length ? `${sum(products).toFixed(2)}; with ${words} the score is ${score.toFixed(2)}`
    : `a score of ${score.toFixed(2)}`;
  const most = products.findIndex((product) => Math.abs(product) === peakOf(products));
  const then = isMasked ? 'the key is masked, so the weight is 0'
    : `the softmax over all tokens turns it into the weight ${weight.toFixed(4)}`;
  return columns({
    values: [...products, ...terms.map(([, value]) => value)],
    names: [...range(size).map((at) => String(at + 1)), ...terms.map(([name]) => name)],
    details: [...details, ...terms.map(([name, value]) => `${name}: ${value.toFixed(3)}`)],
    marked: [...products.map(() => false), ...terms.map(() => true)], title: 'Query times key', file: 'query-key',
    sentence: `The ${size} products sum to ${total}; ${then}. Largest: ${details[most]}.`,
    note: joined(terms.length && 'The paler columns are what relative positions add.', note),
  });
}
