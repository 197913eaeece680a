// Attention weights as they came over the wire, and the colours they are painted in.

/**
 * Weights are sent as codes of their square roots (see figures/payload.py): 16 bits where that fits, else 8, and
 * then the exact numbers of one head are asked for when it is looked at.
 */
function readAttention(payload) {
  const size = payload.tokens.length;
  const perHead = size * size;
  const bytes = decodeBase64(payload.cells);
  const codes = payload.bits === 16 ? new Uint16Array(bytes.buffer) : bytes;
  const layers = new Map(); // layer -> its codes
  payload.sent.forEach((layer, place) => {
    layers.set(layer, codes.subarray(place * payload.heads * perHead, (place + 1) * payload.heads * perHead));
  });
  return { ...payload, cells: null, size, perHead, stored: layers, exact: new Map(), peaks: new Map() };
}

const headId = (layer, head) => `${layer}/${head}`;

/** The codes of one head, or null where its layer was not sent. */
function headCodes(data, layer, head) {
  const codes = data.stored.get(layer);
  return codes ? codes.subarray(head * data.perHead, (head + 1) * data.perHead) : null;
}

/** Codes of 16 bits keep the colour in their upper 8. */
const shiftOf = (codes) => (codes.BYTES_PER_ELEMENT === 2 ? 8 : 0);

/** One weight, as right as it is known. */
function weightAt(data, layer, head, row, column) {
  const exact = data.exact.get(headId(layer, head));
  const place = row * data.size + column;
  if (exact) return exact[place];
  const codes = headCodes(data, layer, head);
  return (codes[place] / (codes.BYTES_PER_ELEMENT === 2 ? 65535 : 255)) ** 2;
}

/** Whether a head's numbers are right to four digits, and not only good enough for a picture. */
const isPrecise = (data, layer, head) => data.stored.get(layer)?.BYTES_PER_ELEMENT === 2
  || data.exact.has(headId(layer, head));

/** The largest weight of a head. */
function peakOf(data, layer, head) {
  const id = headId(layer, head);
  if (!data.peaks.has(id)) {
    const codes = headCodes(data, layer, head);
    let top = 0;
    for (let place = 0; place < codes.length; place += 1) if (codes[place] > top) top = codes[place];
    data.peaks.set(id, (top / (codes.BYTES_PER_ELEMENT === 2 ? 65535 : 255)) ** 2);
  }
  return data.peaks.get(id);
}

// ---- colour scales: each turns a weight into a place (0 to 1) on the colour bar

const SCALES = {
  sqrt: { label: 'small lifted', says: 'square-root scale from 0 to 1: small weights are lifted so that they can be seen',
    place: (weight) => Math.sqrt(weight), ticks: () => [0, 0.01, 0.1, 0.25, 0.5, 1] },
  fixed: { label: '0 to 1', says: 'even scale from 0 to 1, the same for all heads',
    place: (weight) => weight, ticks: () => [0, 0.25, 0.5, 0.75, 1] },
  head: { label: 'per head', says: 'even scale from 0 to the largest weight of each head: heads cannot be compared by colour',
    place: (weight, peak) => (peak > 0 ? weight / peak : 0), ticks: (peak) => [0, peak / 4, peak / 2, (3 * peak) / 4, peak] },
};

const RAMP = Array.from({ length: 256 }, (_, index) => viridis(index / 255));
const packed = ([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;

/** For each of the 256 codes its pixel, in the byte order of image data. */
function pixelTable(scale, peak) {
  return Uint32Array.from({ length: 256 }, (_, code) => {
    const place = SCALES[scale].place((code / 255) ** 2, peak);
    return packed(RAMP[Math.round(Math.min(Math.max(place, 0), 1) * 255)]);
  });
}

const evenTables = { sqrt: pixelTable('sqrt', 1), fixed: pixelTable('fixed', 1) };

/** Paint one head into a canvas of one pixel a cell. */
function paintHead(canvas, data, layer, head, scale) {
  const codes = headCodes(data, layer, head);
  if (canvas.width !== data.size || canvas.height !== data.size) {
    canvas.width = data.size;
    canvas.height = data.size;
  }
  const table = evenTables[scale] ?? pixelTable('head', peakOf(data, layer, head));
  const image = new ImageData(data.size, data.size);
  const pixels = new Uint32Array(image.data.buffer);
  const shift = shiftOf(codes);
  for (let place = 0; place < codes.length; place += 1) pixels[place] = table[codes[place] >> shift];
  canvas.getContext('2d').putImageData(image, 0, 0);
}

/** What every export says about itself. */
function headTable(data, layer, head) {
  const weights = [];
  for (let row = 0; row < data.size; row += 1) {
    weights.push(Array.from({ length: data.size },
      (_, column) => Number(weightAt(data, layer, head, row, column).toFixed(5))));
  }
  return { title: data.title, layer: layer + 1, head: head + 1, tokens: data.tokens, segment_ids: data.segments,
    meaning: 'weights[from][to]; each row sums to 1', precise: isPrecise(data, layer, head), weights };
}
