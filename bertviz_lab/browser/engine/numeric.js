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

export function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length / 2;
  return sorted.length % 2 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Eigenvalues and eigenvectors of a symmetric matrix, the largest first (cyclic Jacobi rotations). */
function eigen(matrix) {
  const size = matrix.length;
  const values = matrix.map((row) => [...row]);
  const vectors = values.map((_, row) => values.map((__, column) => Number(row === column)));
  for (let sweep = 0; sweep < 60; sweep += 1) {
    let off = 0;
    for (let p = 0; p < size; p += 1) {
      for (let q = p + 1; q < size; q += 1) {
        off += values[p][q] ** 2;
        if (Math.abs(values[p][q]) < 1e-300) continue;
        const angle = (values[q][q] - values[p][p]) / (2 * values[p][q]);
        const t = (angle < 0 ? -1 : 1) / (Math.abs(angle) + Math.sqrt(angle * angle + 1));
        const c = 1 / Math.sqrt(t * t + 1);
        const s = t * c;
        for (const row of values) [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]];
        for (let k = 0; k < size; k += 1) {
          const [x, y] = [values[p][k], values[q][k]];
          [values[p][k], values[q][k]] = [c * x - s * y, s * x + c * y];
        }
        for (const row of vectors) [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]];
      }
    }
    if (off < 1e-24 * sum(values.map((row, at) => row[at] ** 2))) break;
  }
  return range(size).map((at) => ({ value: values[at][at], vector: vectors.map((row) => row[at]) }))
    .sort((one, other) => other.value - one.value);
}

/** Vectors in the plane of their first two principal components: {points, explained}. The sign of a component is
 * chosen so that the coordinate furthest from 0 is positive. */
export function principalPlane(vectors) {
  const center = Array.from(vectors[0], (_, at) => mean(vectors.map((vector) => vector[at])));
  const centered = vectors.map((vector) => center.map((value, at) => vector[at] - value));
  const parts = eigen(centered.map((one) => centered.map((other) => dot(one, other)))); // of the Gram matrix
  const total = sum(parts.map(({ value }) => Math.max(0, value)));
  const axes = range(2).map((axis) => {
    const { value, vector } = parts[axis] ?? { value: 0, vector: [] };
    if (!(value > 1e-12 * total)) return vectors.map(() => 0);
    const scaled = vector.map((share) => share * Math.sqrt(value));
    const furthest = scaled.reduce((most, one) => (Math.abs(one) > Math.abs(most) ? one : most), 0);
    return furthest < 0 ? scaled.map((one) => -one) : scaled;
  });
  const explained = total > 0 ? sum(parts.slice(0, 2).map(({ value }) => Math.max(0, value))) / total : 1;
  return { points: vectors.map((_, at) => [axes[0][at], axes[1][at]]), explained };
}

/** Codes of 16 bits of weights (0 to 1) or of numbers with a sign (-1 to 1), as `sqrt_codes` of Python writes them. */
export function sqrtCodes(values, isSigned = false) {
  return Uint16Array.from(values, (value) => {
    const clipped = Math.min(1, Math.max(isSigned ? -1 : 0, value));
    return isSigned ? Math.round(32767 + 32767 * Math.sign(clipped) * Math.sqrt(Math.abs(clipped)))
      : Math.round(65535 * Math.sqrt(clipped));
  });
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

// ---- numbers as text, as Python's format writes them

export const whole = (value) => value.toLocaleString('en-US');
export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)}%`;
export const signed = (value, digits) => `${value < 0 ? '' : '+'}${value.toFixed(digits)}`;
export const counted = (count, noun) => `${whole(count)} ${noun}${count === 1 ? '' : 's'}`;
export const joined = (...sentences) => sentences.filter(Boolean).join(' ');

/** `digits` significant ones, without zeros at the end. */
export function general(value, digits = 3) {
  if (!Number.isFinite(value)) return String(value);
  const [, exponent] = value.toExponential(digits - 1).split('e');
  if (exponent < -4 || exponent >= digits) {
    const [mantissa] = value.toExponential(digits - 1).split('e');
    return `${Number(mantissa)}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  }
  return String(Number(value.toPrecision(digits)));
}

const FORMATS = { '%': percent, f: (value, digits) => value.toFixed(digits), g: general };

/** A number in one of Python's formats: ".1%", ".2f", ".3g". */
export const formatted = (value, format) => FORMATS[format.at(-1)](value, Number(format.slice(1, -1)));
