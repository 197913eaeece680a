// A text: the strip of its tokens with rows of words or numbers below them, or the text with marked spans.

import { isNumber, peakOf, signed } from 'lab/components/figures/numbers.js';

/** How tokenizers spell them: BERT's way and RoBERTa's. */
export const MASKS = ['[MASK]', '<mask>'];
const PADDINGS = ['[PAD]', '<pad>'];
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

function kindOf(token, segment, mask, isSpecial) {
  if (PADDINGS.includes(token) && !mask) return 'pad';
  if (MASKS.includes(token)) return 'masked';
  return isSpecial ? 'special' : segment === 1 ? 'seg-b' : 'seg-a';
}

/** What every strip says of each position of an encoding: `word` is equal for the pieces of a word and null outside
 * words; `surface` is what the token adds to the input text, empty for added tokens, for a space alone, and after the
 * first of several tokens that make up a character; `spaced`, whether white space precedes it there; `kind`, its color.
 */
export function columnsOf({ text_a: a, text_b: b, ids, tokens, token_type_ids: types, attention_mask: masks,
  special_tokens_mask: specials, offsets, word_ids: words }) {
  const covered = [0, 0]; // the characters of each text that the tokens so far cover
  const texts = [[...a], [...(b ?? a)]];
  return tokens.map((token, at) => {
    const [segment, mask, special, word] = [types[at], masks[at], Boolean(specials[at]), words[at]];
    const [start, end] = offsets[at];
    const surface = texts[segment].slice(Math.max(start, covered[segment]), end).join('');
    covered[segment] = Math.max(covered[segment], end);
    return { token, id: ids[at], segment, mask, special,
      word: word === null ? null : `${segment}:${word}`, // word ids restart in sentence B
      surface, spaced: start > 0 && /\s/u.test(texts[segment][start - 1]),
      kind: kindOf(token, segment, mask, special) };
  });
}

/** A row of a strip: a number or null for each token. `scale` is how it is drawn: "none", as a "bar" from 0 to the
 * peak, or as a "shade". `texts` replace the numbers, `kinds` their colors; `peak` is the value of a full bar or shade,
 * by default the row's largest; with `plus` positive numbers have a sign too. */
export function scoreRow(label, says, numbers, { scale = 'shade', texts = null, peak = null, digits = 2, plus = false,
  kinds = null } = {}) {
  const values = numbers.map((value) => (isNumber(value) ? value : null));
  const written = (value) => (plus ? signed(value, digits) : value.toFixed(digits));
  return { label, says, values, texts: texts ?? values.map((value) => (value === null ? '' : written(value))), scale,
    peak: peak ?? peakOf(values), kinds };
}

export const wordsRow = (label, says, texts, kinds = null) =>
  scoreRow(label, says, texts.map(() => null), { scale: 'none', texts, kinds });

/** A strip. `more` may hold `tokens_label` (of the first row), `details` (of each token a sentence as a list, whose
 * every second part is emphasized), `legend` ([[color, sign, words]]), `glossary` ([[term, meaning]], by default of the
 * rows) and `table` ({title, header, rows}). */
export const strip = (encoding, rows, { title, sentence = '', note = '', file = 'tokens', ...more }) =>
  ({ title, sentence, note, file, columns: columnsOf(encoding), rows, ...more });

/** Rows of numbers under the tokens of a text; each is {label, says, values} and what `scoreRow` may have. */
export const scores = ({ encoding, rows, ...captions }) =>
  strip(encoding, rows.map(({ label, says, values, ...more }) => scoreRow(label, says, values, more)), captions);

/** A text with marked spans, {start, end, label, score} in code points. `alternatives` are answers, {text, start, end,
 * probability}, the most probable first; `chosen` is the one that is marked first, or null. */
export const marked = ({ text, spans = [], alternatives = [], chosen = 0, sentence = '', ...captions }) => ({
  sentence, file: 'marked', text, direction: RIGHT_TO_LEFT.test(text.match(/\p{L}/u)?.[0] ?? '') ? 'rtl' : 'ltr',
  spans: [...spans].sort((one, other) => one.start - other.start), alternatives,
  chosen: alternatives.length ? chosen : null, ...captions,
});
