// Attention weights as they came over the wire, and the colors they are painted in.

import { viridis } from 'lab/client/colors.js';
import { decodeBase64 } from 'lab/client/saving.js';
import { peakOf, range } from 'lab/components/figures/numbers.js';

/** Weights are sent as codes of their square roots (see figures/attention.py) of 16 bits, those of a snapshot
 * of 8. In a page of its own they are base64. */
export function readAttention(payload) {
  const { tokens, heads, bits } = payload;
  const perHead = tokens.length ** 2;
  const codesOf = (sent) => {
    if (typeof sent !== 'string') return sent;
    const bytes = decodeBase64(sent);
    return bits === 8 ? bytes : new Uint16Array(bytes.buffer);
  };
  const codes = codesOf(payload.cells);
  const stored = new Map(payload.sent.map((layer, place) => // layer -> its codes
    [layer, codes.subarray(place * heads * perHead, (place + 1) * heads * perHead)]));
  return { ...payload, cells: null, size: tokens.length, perHead, stored };
}

/** One square of many. */
const squareOf = (codes, place, { perHead }) => codes.subarray(place * perHead, (place + 1) * perHead);

/** Decode a weight; `top` is the largest code. Of a difference the middle code is 0. */
function decode(code, top, signed) {
  if (!signed) return (code / top) ** 2;
  const half = (top - 1) / 2;
  const root = (code - half) / half;
  return Math.sign(root) * root * root;
}

const topOf = (codes) => (codes.BYTES_PER_ELEMENT === 2 ? 65535 : 255);

const decodeAll = (codes, signed) => Float32Array.from(codes, (code) => decode(code, topOf(codes), signed));

/** The weights of one head. */
export const headWeights = (data, layer, head) =>
  decodeAll(squareOf(data.stored.get(layer), head, data), data.signed);

/** A function that returns the weight of one cell of a head, by its place among them. */
export function weightOf(data, layer, head) {
  const codes = squareOf(data.stored.get(layer), head, data);
  return (place) => decode(codes[place], topOf(codes), data.signed);
}

/** The weight of one cell in each head, as a metric of heads: {title, says, values}; NaN for layers not sent. */
export function cellMetric(data, row, column) {
  const title = `${data.number} from ${data.tokens[row]} (${row}) to ${data.tokens[column]} (${column})`;
  const weightIn = (layer, head) =>
    (data.stored.has(layer) ? weightOf(data, layer, head)(row * data.size + column) : NaN);
  return { title, says: 'of the cell that is selected',
    values: range(data.layers).map((layer) => range(data.heads).map((head) => weightIn(layer, head))) };
}

// ---- heads taken together

/** The mean of the heads of some layers. */
export function meanWeights(data, layers) {
  const sum = new Float32Array(data.perHead);
  for (const layer of layers) {
    for (let head = 0; head < data.heads; head += 1) {
      headWeights(data, layer, head).forEach((weight, place) => { sum[place] += weight; });
    }
  }
  return sum.map((weight) => weight / (layers.length * data.heads));
}

/** How much of each token has arrived in each token after a layer (attention rollout, Abnar and Zuidema 2020): the
 * residual connection is half of each layer. */
export function rollout(data, layer) {
  const { size } = data;
  const unit = (row) => Float32Array.from({ length: size }, (_, column) => Number(row === column));
  let flow = data.tokens.map((_, row) => unit(row)); // the rows of a matrix
  for (let at = 0; at <= layer; at += 1) {
    const weights = meanWeights(data, [at]);
    flow = flow.map((before, row) => {
      const after = before.map((share) => share / 2);
      flow.forEach((from, token) => {
        const weight = weights[row * size + token] / 2;
        for (let column = 0; column < size; column += 1) after[column] += weight * from[column];
      });
      return after;
    });
  }
  return Float32Array.from({ length: size * size }, (_, at) => flow[Math.floor(at / size)][at % size]);
}

// ---- what is looked at of them

export const QUARTERS = { all: 'all', aa: 'A → A', ab: 'A → B', ba: 'B → A', bb: 'B → B' };
export const NO_LENS = { quarter: 'all', special: 'shown' };

export const isPlain = (lens) => lens.quarter === 'all' && lens.special === 'shown';

/** How far a layer sees from a token to either side: in local attention half of its window, else to the end. */
export const reachOf = (data, layer) => (data.windows?.[layer] ? Math.floor(data.windows[layer] / 2) : data.size);

/** Whether each cell is within a layer's window and not hidden by the lens; null where all are. */
function visibleCells(data, lens, layer) {
  const { size, segments, special } = data;
  const reach = reachOf(data, layer);
  if (isPlain(lens) && reach >= size - 1) return null;
  const hides = lens.special !== 'shown';
  const isIn = (letter, position) => lens.quarter === 'all' || (letter === 'b') === (segments[position] === 1);
  const may = (letter, position) => isIn(letter, position) && !(hides && special[position]);
  const columns = data.tokens.map((_, column) => may(lens.quarter[1], column));
  const visible = new Uint8Array(size * size);
  for (let row = 0; row < size; row += 1) {
    if (!may(lens.quarter[0], row)) continue;
    for (let column = Math.max(0, row - reach); column <= Math.min(size - 1, row + reach); column += 1)
      visible[row * size + column] = Number(columns[column]);
  }
  return visible;
}

/** A layer's weights, with NaN outside its window and where the lens hides; renormalised, a row sums to 1 again. */
export function throughLens(data, weights, lens, layer) {
  const { size } = data;
  const visible = visibleCells(data, lens, layer);
  if (!visible) return weights;
  const seen = weights.map((weight, place) => (visible[place] ? weight : NaN));
  if (lens.special !== 'renormalised') return seen;
  for (let row = 0; row < size; row += 1) {
    const line = seen.subarray(row * size, (row + 1) * size);
    const sum = line.reduce((total, weight) => total + (weight || 0), 0);
    if (sum > 0) line.forEach((weight, column) => { line[column] = weight / sum; });
  }
  return seen;
}

/** The share of all attention that goes to special tokens. */
export const specialShare = (data, weights) =>
  weights.reduce((sum, weight, place) => sum + (data.special[place % data.size] ? weight : 0), 0) / data.size;

// ---- color scales: each turns a weight into a place (0 to 1) on the color bar

export const SCALES = {
  sqrt: { label: 'square root', says: 'square-root scale from 0 to 1: makes small weights visible',
    saysSigned: 'square-root scale, brown negative, blue positive: makes small numbers visible',
    place: (weight) => Math.sqrt(weight), ticks: () => [0, 0.01, 0.1, 0.25, 0.5, 1] },
  fixed: { label: 'linear', says: 'linear scale from 0 to 1, the same for all heads',
    saysSigned: 'linear scale, brown negative, blue positive, the same for all heads',
    place: (weight) => weight, ticks: () => [0, 0.25, 0.5, 0.75, 1] },
  head: { label: 'per head',
    says: 'linear scale from 0 to the largest weight of each head: colors are not comparable between heads',
    saysSigned: 'linear scale to the largest number of each head: colors are not comparable between heads',
    place: (weight, peak) => (peak > 0 ? weight / peak : 0),
    ticks: (peak) => [0, peak / 4, peak / 2, (3 * peak) / 4, peak] },
};

/** The scale of that name for these numbers. Differences have a sign: 0 lies in the middle. */
export function scaleOf({ signed }, name) {
  const { says, saysSigned, place, ticks } = SCALES[name];
  if (!signed) return { says, place, ticks };
  const middle = name === 'sqrt' ? 0.25 : 0.5;
  return { says: saysSigned, place: (weight, peak) => 0.5 + Math.sign(weight) * place(Math.abs(weight), peak) / 2,
    ticks: (peak) => [-1, -middle, 0, middle, 1].map((share) => share * (name === 'head' ? peak : 1)) };
}

/** Brown over white to blue. */
function diverging(share) {
  const ends = share < 0.5 ? [0x8c, 0x45, 0x0a] : [0x1d, 0x4e, 0xb8];
  const strength = Math.abs(share - 0.5) * 2;
  return ends.map((end) => Math.round(248 + strength * (end - 248)));
}

const ramp = (paint) => Array.from({ length: 256 }, (_, index) => paint(index / 255));
const RAMPS = { plain: ramp(viridis), signed: ramp(diverging) };
export const rampOf = (data) => (data.signed ? RAMPS.signed : RAMPS.plain);

/** Return a function from a weight to its color, in the byte order of image data. */
function painter(data, scale, peak) {
  const colors = rampOf(data).map(([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0);
  const { place } = scaleOf(data, scale);
  return (weight) => colors[Math.round(Math.min(Math.max(place(weight, peak), 0), 1) * 255)];
}

const TABLES = new Map(); // the colors of codes in a scale that is the same for all heads

/** The color of each code of 8 bits: those of 16 keep it in their upper half. */
function colorTable(data, scale, peak) {
  const make = () => {
    const colorOf = painter(data, scale, peak);
    return Uint32Array.from({ length: 256 }, (_, code) => colorOf(decode(code, 255, data.signed)));
  };
  if (scale === 'head') return make();
  const key = `${scale} ${Boolean(data.signed)}`;
  if (!TABLES.has(key)) TABLES.set(key, make());
  return TABLES.get(key);
}

/** Paint a canvas of one pixel a cell: `fill` is given its pixels, which are clear. */
function paintCells(canvas, size, fill) {
  if (canvas.width !== size || canvas.height !== size) [canvas.width, canvas.height] = [size, size];
  const image = new ImageData(size, size);
  fill(new Uint32Array(image.data.buffer));
  canvas.getContext('2d').putImageData(image, 0, 0);
}

/** Paint one head as it came over the wire, or what a lens leaves of it. */
export function paintHead(canvas, data, layer, head, scale, lens = NO_LENS) {
  const weights = () => throughLens(data, headWeights(data, layer, head), lens, layer);
  if (lens.special === 'renormalised') {
    paintWeights(canvas, data, weights(), scale, peakOf(weights()));
    return;
  }
  const codes = squareOf(data.stored.get(layer), head, data);
  const visible = visibleCells(data, lens, layer);
  const table = colorTable(data, scale, scale === 'head' ? peakOf(weights()) : 1);
  const shift = codes.BYTES_PER_ELEMENT === 2 ? 8 : 0;
  paintCells(canvas, data.size, (pixels) => {
    for (let place = 0; place < codes.length; place += 1)
      if (!visible || visible[place]) pixels[place] = table[codes[place] >> shift];
  });
}

/** Paint weights; what is not a number stays clear. */
export function paintWeights(canvas, data, weights, scale, peak) {
  const colorOf = painter(data, scale, peak);
  paintCells(canvas, data.size, (pixels) => weights.forEach((weight, place) => {
    if (!Number.isNaN(weight)) pixels[place] = colorOf(weight);
  }));
}
