// Principal components and cosines of vectors of which the page has the products alone: `products[i][j]` is the scalar
// product of two.

import { range, sum } from 'lab/components/figures/numbers.js';

const DOUBLINGS = 40; // the power that separates two eigenvalues is 2 to this

/** The cosine of two of the vectors; 0 where one of them is 0. */
export function cosineOf(products, one, other) {
  const lengths = Math.sqrt(products[one][one] * products[other][other]);
  return lengths > 0 ? products[one][other] / lengths : 0;
}

const dot = (one, other) => sum(one.map((value, at) => value * other[at]));
const norm = (vector) => Math.sqrt(dot(vector, vector));
const trace = (rows) => sum(rows.map((row, at) => row[at]));
const furthest = (values) => values.reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most), 0);

/** The largest eigenvalue of a symmetric matrix without negative ones, and its vector: {value, vector}. */
function dominant(matrix) {
  let power = matrix;
  for (let round = 0; round < DOUBLINGS && trace(power) > 0; round += 1) {
    const scale = trace(power);
    const scaled = power.map((row) => row.map((value) => value / scale));
    power = scaled.map((row) => scaled.map((other) => dot(row, other))); // symmetric: rows are columns
  }
  const column = power.reduce((longest, row) => (norm(row) > norm(longest) ? row : longest));
  const vector = column.map((value) => value / (norm(column) || 1));
  return { value: dot(vector, matrix.map((row) => dot(row, vector))), vector };
}

/** The vectors in the plane of their first two principal components: {points, explained}, the share of the variance.
 * The sign of a component is chosen so that the coordinate furthest from 0 is positive. */
export function principalPlane(products) {
  const means = products.map((row) => sum(row) / row.length);
  const middle = sum(means) / means.length;
  let centered = products.map((row, at) => row.map((value, column) => value - means[at] - means[column] + middle));
  const total = trace(centered);
  let explained = 0;
  const axes = range(2).map(() => {
    const { value, vector } = dominant(centered);
    if (!(value > 1e-12 * total)) return means.map(() => 0);
    explained += value;
    centered = centered.map((row, at) => row.map((entry, column) => entry - value * vector[at] * vector[column]));
    return vector.map((share) => share * Math.sqrt(value) * Math.sign(furthest(vector)));
  });
  return { points: means.map((_, at) => [axes[0][at], axes[1][at]]), explained: total > 0 ? explained / total : 1 };
}
