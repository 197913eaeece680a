// Attention weights as they came over the wire, and the colors they are painted in.

import { viridis } from 'lab/client/colors.js';
import { decodeBase64 } from 'lab/client/saving.js';

/** Weights are sent as codes of their square roots (see figures/interpret/attention.py): 16 bits where that fits,
 * else 8, and then the exact numbers of one head are asked for when it is looked at. In a page of its own they are
 * base64. */
export function readAttention(payload) {
  const { tokens, heads, bits } = payload;
  const perHead = tokens.length ** 2;
  let codes = payload.cells;
  if (typeof codes === 'string') {
    codes = decodeBase64(codes);
    if (bits === 16) codes = new Uint16Array(codes.buffer);
  }
  const stored = new Map(payload.sent.map((layer, place) => // layer -> its codes
    [layer, codes.subarray(place * heads * perHead, (place + 1) * heads * perHead)]));
  return { ...payload, cells: null, size: tokens.length, perHead, stored, exact: new Map(), peaks: new Map(),
    special: payload.special ?? tokens.map((token) => /^\[(CLS|SEP|PAD)\]$/.test(token)) };
}

export const headId = (layer, head) => `${layer}/${head}`;

const headCodes = (data, layer, head) => data.stored.get(layer)
  .subarray(head * data.perHead, (head + 1) * data.perHead);

/** Decode a weight; `top` is the largest code. Of a difference the middle code is 0. */
function decode(code, top, signed) {
  if (!signed) return (code / top) ** 2;
  const half = (top - 1) / 2;
  const root = (code - half) / half;
  return Math.sign(root) * root * root;
}

/** The weights of one head, as right as they are known. */
export function headWeights(data, layer, head) {
  const exact = data.exact.get(headId(layer, head));
  if (exact) return exact;
  const codes = headCodes(data, layer, head);
  const top = codes.BYTES_PER_ELEMENT === 2 ? 65535 : 255;
  return Float32Array.from(codes, (code) => decode(code, top, data.signed));
}

/** Whether a head's numbers are right to four digits, and not only good enough for a picture. */
export const isPrecise = (data, layer, head) => data.stored.get(layer)?.BYTES_PER_ELEMENT === 2
  || data.exact.has(headId(layer, head));

/** The largest weight of a head, whichever its sign. */
export function peakOf(data, layer, head) {
  const id = headId(layer, head);
  if (!data.peaks.has(id)) data.peaks.set(id, largest(headWeights(data, layer, head)));
  return data.peaks.get(id);
}

export const largest = (weights) => weights.reduce((most, weight) => Math.max(most, Math.abs(weight) || 0), 0);

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

/** How much of each token has arrived in each token after a layer, were attention all that mixes them; half of a
 * layer's output is its input, by the residual connection (Abnar and Zuidema 2020). */
export function rollout(data, upTo) {
  const { size } = data;
  let flow = Float32Array.from({ length: data.perHead }, (_, place) => (place % (size + 1) === 0 ? 1 : 0));
  for (let layer = 0; layer <= upTo; layer += 1) {
    const mixing = meanWeights(data, [layer]);
    const next = new Float32Array(data.perHead);
    for (let row = 0; row < size; row += 1) {
      for (let middle = 0; middle < size; middle += 1) {
        const share = (mixing[row * size + middle] + (row === middle ? 1 : 0)) / 2;
        for (let column = 0; column < size; column += 1) {
          next[row * size + column] += share * flow[middle * size + column];
        }
      }
    }
    flow = next;
  }
  return flow;
}

// ---- what is looked at of them

export const QUARTERS = { all: 'all', aa: 'A → A', ab: 'A → B', ba: 'B → A', bb: 'B → B' };
export const NO_LENS = { quarter: 'all', special: 'shown' };

export const isPlain = (lens) => lens.quarter === 'all' && lens.special === 'shown';

/** How far a layer sees from a token to either side: in local attention half of its window, else to the end. */
export const reachOf = (data, layer) => (data.windows?.[layer] ? Math.floor(data.windows[layer] / 2) : data.size);

/** A layer's weights, with NaN outside its window and where the lens hides; renormalised, a row sums to 1 again. */
export function throughLens(data, weights, lens, layer) {
  const { size, segments, special } = data;
  const reach = reachOf(data, layer);
  if (isPlain(lens) && reach >= size - 1) return weights;
  const hides = lens.special !== 'shown';
  const letter = (position) => (segments[position] === 1 ? 'b' : 'a');
  const seen = weights.map((weight, place) => {
    const [row, column] = [Math.floor(place / size), place % size];
    if (Math.abs(row - column) > reach || (hides && (special[row] || special[column]))) return NaN;
    return lens.quarter === 'all' || lens.quarter === letter(row) + letter(column) ? weight : NaN;
  });
  if (lens.special !== 'renormalised') return seen;
  for (let row = 0; row < size; row += 1) {
    const line = seen.subarray(row * size, (row + 1) * size);
    const sum = line.reduce((total, weight) => total + (weight || 0), 0);
    if (sum > 0) line.forEach((weight, column) => { line[column] = weight / sum; });
  }
  return seen;
}

/** The share of all attention that goes to special tokens. */
export function specialShare(data, weights) {
  let share = 0;
  weights.forEach((weight, place) => { if (data.special[place % data.size]) share += weight; });
  return share / data.size;
}

// ---- color scales: each turns a weight into a place (0 to 1) on the color bar

export const SCALES = {
  sqrt: { label: 'square root', says: 'square-root scale from 0 to 1: makes small weights visible',
    place: (weight) => Math.sqrt(weight), ticks: () => [0, 0.01, 0.1, 0.25, 0.5, 1] },
  fixed: { label: 'linear', says: 'linear scale from 0 to 1, the same for all heads', place: (weight) => weight,
    ticks: () => [0, 0.25, 0.5, 0.75, 1] },
  head: { label: 'per head',
    says: 'linear scale from 0 to the largest weight of each head: colors are not comparable between heads',
    place: (weight, peak) => (peak > 0 ? weight / peak : 0),
    ticks: (peak) => [0, peak / 4, peak / 2, (3 * peak) / 4, peak] },
};
/** The same for differences, which have a sign: 0 lies in the middle. */
const signedScale = (name, says, middle) =>
  ({ says, ticks: (peak) => [-1, -middle, 0, middle, 1].map((share) => share * (name === 'head' ? peak : 1)),
  place: (weight, peak) => 0.5 + Math.sign(weight) * SCALES[name].place(Math.abs(weight), peak) / 2 });
const SIGNED_SCALES = {
  sqrt: signedScale('sqrt', 'square-root scale, brown negative, blue positive: makes small numbers visible', 0.25),
  fixed: signedScale('fixed', 'linear scale, brown negative, blue positive, the same for all heads', 0.5),
  head: signedScale('head', 'linear scale to the largest number of each head: colors are not comparable between heads',
    0.5),
};
export const scalesOf = (data) => (data.signed ? SIGNED_SCALES : SCALES);

/** Brown over white to blue. */
function diverging(share) {
  const ends = share < 0.5 ? [0x8c, 0x45, 0x0a] : [0x1d, 0x4e, 0xb8];
  const strength = Math.abs(share - 0.5) * 2;
  return ends.map((end) => Math.round(248 + strength * (end - 248)));
}

const ramp = (paint) => Array.from({ length: 256 }, (_, index) => paint(index / 255));
const RAMPS = { plain: ramp(viridis), signed: ramp(diverging) };
export const rampOf = (data) => (data.signed ? RAMPS.signed : RAMPS.plain);

/** Paint a canvas of one pixel a cell. `paint(pixels, pixelOf)` sets the pixels; `pixelOf(weight)` is the color of a
 * weight in the byte order of image data. What is not set stays clear. */
function paintCells(canvas, data, scale, peak, paint) {
  const { size } = data;
  if (canvas.width !== size || canvas.height !== size) [canvas.width, canvas.height] = [size, size];
  const image = new ImageData(size, size);
  const colors = rampOf(data).map(([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0);
  const { place } = scalesOf(data)[scale];
  paint(new Uint32Array(image.data.buffer),
    (weight) => colors[Math.round(Math.min(Math.max(place(weight, peak), 0), 1) * 255)]);
  canvas.getContext('2d').putImageData(image, 0, 0);
}

/** Paint one head as it came over the wire, or what a lens leaves of it. */
export function paintHead(canvas, data, layer, head, scale, lens = NO_LENS) {
  if (!isPlain(lens) || reachOf(data, layer) < data.size - 1) {
    const weights = throughLens(data, headWeights(data, layer, head), lens, layer);
    paintWeights(canvas, data, weights, scale, largest(weights));
    return;
  }
  paintCells(canvas, data, scale, scale === 'head' ? peakOf(data, layer, head) : 1, (pixels, pixelOf) => {
    const table = Uint32Array.from({ length: 256 }, (_, code) => pixelOf(decode(code, 255, data.signed)));
    const codes = headCodes(data, layer, head);
    const shift = codes.BYTES_PER_ELEMENT === 2 ? 8 : 0; // codes of 16 bits keep the color in their upper 8
    for (let place = 0; place < codes.length; place += 1) pixels[place] = table[codes[place] >> shift];
  });
}

/** Paint any weights; what is not a number stays clear. */
export function paintWeights(canvas, data, weights, scale, peak) {
  paintCells(canvas, data, scale, peak, (pixels, pixelOf) =>
    weights.forEach((weight, place) => { if (!Number.isNaN(weight)) pixels[place] = pixelOf(weight); }));
}
