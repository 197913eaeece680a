// Strips of tokens with rows of words or numbers under them; the counterparts of `figures/strips.py`.

import { peak as peakOf, signed } from './numeric.js';

const MASKS = ['[MASK]', '<mask>'];

/** What every strip says of each position of an encoding. */
export function tokenColumns(encoding) {
  const covered = [0, 0]; // the characters of each text that the tokens so far cover
  const texts = [[...encoding.textA], [...(encoding.textB ?? '')]];
  return encoding.tokens.map((token, at) => {
    const [segment, special, word] = [encoding.types[at], encoding.special[at], encoding.words[at]];
    const [start, end] = encoding.offsets[at];
    const text = texts[encoding.textB === null ? 0 : segment];
    const kind = MASKS.includes(token) ? 'masked' : special ? 'special' : segment === 1 ? 'seg-b' : 'seg-a';
    const surface = text.slice(Math.max(start, covered[segment]), end).join('');
    covered[segment] = Math.max(covered[segment], end);
    return { token, id: encoding.ids[at], segment, mask: 1, special: Boolean(special),
      word: word === null ? null : `${segment}:${word}`, surface,
      spaced: start > 0 && /\s/u.test(text[start - 1]), kind };
  });
}

/** A row of numbers or nulls; `texts` replace the numbers, `kinds` their colors. */
export function scoreRow(label, says, numbers, { scale = 'shade', texts = null, peak = null, digits = 2, plus = false,
  kinds = null } = {}) {
  const values = Array.from(numbers, (value) => (Number.isFinite(value) ? value : null));
  const written = (value) => (plus ? signed(value, digits) : value.toFixed(digits));
  return { label, says, values, texts: texts ?? values.map((value) => (value === null ? '' : written(value))), scale,
    peak: peak ?? peakOf(values), kinds };
}

export const wordsRow = (label, says, texts, kinds = null) =>
  scoreRow(label, says, texts.map(() => null), { scale: 'none', texts, kinds });

export const strip = (encoding, rows, { title, sentence = '', note = '', file = 'tokens', columns = null, ...more }) =>
  ({ title, sentence, note, file, columns: columns ?? tokenColumns(encoding), rows, ...more });
