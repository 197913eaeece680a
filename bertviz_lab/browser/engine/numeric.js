// Arithmetic on flat arrays, as the analyses need it.

export const range = (count) => Array.from({ length: count }, (_, index) => index);
export const sum = (values) => values.reduce((total, value) => total + value, 0);
export const mean = (values) => (values.length ? sum(values) / values.length : 0);
export const peak = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0);

export function softmax(logits) {
  const most = logits.reduce((largest, value) => Math.max(largest, value), -Infinity);
  const powers = Float64Array.from(logits, (value) => Math.exp(value - most));
  const total = sum(powers);
  return powers.map((power) => power / total);
}

export const sigmoid = (value) => 1 / (1 + Math.exp(-value));

/** The places of the `count` largest values, the largest first; of equal ones the first. */
export function largest(values, count) {
  const places = [];
  for (let place = 0; place < values.length; place += 1) {
    if (places.length === count && !(values[place] > values[places.at(-1)])) continue;
    let at = places.length;
    while (at > 0 && values[places[at - 1]] < values[place]) at -= 1;
    places.splice(at, 0, place);
    if (places.length > count) places.pop();
  }
  return places;
}

export const rankOf = (values, place) => values.reduce((rank, value) => rank + (value > values[place] ? 1 : 0), 1);
export const dot = (one, other) => one.reduce((total, value, at) => total + value * other[at], 0);
export const norm = (vector) => Math.sqrt(dot(vector, vector));

/** The cosine of two vectors; 0 where one of them is 0. */
export function cosine(one, other) {
  const lengths = norm(one) * norm(other);
  return lengths > 0 ? dot(one, other) / lengths : 0;
}

/** The text of most characters; of equal ones the first, of none "". */
export function longest(texts) {
  let most = '';
  for (const text of texts) if ([...text].length > [...most].length) most = text;
  return most;
}

/** The scalar product of each two vectors. */
export const productsOf = (vectors) => vectors.map((one) => vectors.map((other) => dot(one, other)));

/** Codes of 16 bits of weights (0 to 1) or of numbers with a sign (-1 to 1), as `sqrt_codes` of Python writes them. */
export function sqrtCodes(values, isSigned = false) {
  const codes = new Uint16Array(values.length); // which cuts off what is behind the point
  for (let at = 0; at < values.length; at += 1) {
    const root = Math.sqrt(Math.min(1, Math.abs(values[at])));
    codes[at] = isSigned ? 32767.5 + 32767 * (values[at] < 0 ? -root : root) : 65535 * root + 0.5;
  }
  return codes;
}

/** Random numbers from 0 to 1 from seeds (splitmix32). */
export function randomNumbers(...seeds) {
  let state = seeds.reduce((mixed, seed) => Math.imul(mixed ^ seed, 0x9e3779b1) + 0x7f4a7c15, 1) | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

export const whole = (value) => value.toLocaleString('en-US');
export const joined = (...sentences) => sentences.filter(Boolean).join(' ');
