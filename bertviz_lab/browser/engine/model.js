// A published model: its facts, its tokenizer, and the graph that computes everything for one text.

import { cosine, largest, range } from './numeric.js';
import { makeTokenizer } from './tokenizer.js';

/** Numbers of 16 bits as floats: the low bytes of all come first. */
function fromHalves(bytes) {
  const table = new Float32Array(65536);
  for (let code = 0; code < 65536; code += 1) {
    const [exponent, fraction] = [(code >> 10) & 31, code & 1023];
    const size = exponent === 0 ? fraction * 2 ** -24
      : exponent === 31 ? (fraction ? NaN : Infinity) : (1 + fraction / 1024) * 2 ** (exponent - 15);
    table[code] = code & 0x8000 ? -size : size;
  }
  const count = bytes.length / 2;
  const floats = new Float32Array(count);
  for (let at = 0; at < count; at += 1) floats[at] = table[bytes[at] | (bytes[count + at] << 8)]; // faster than `from`
  return floats;
}

const ENCODINGS = 8;
const FLOATS = ['attention_mask', 'head_mask', 'noised']; // inputs; the others are integers
const BYTES_SHOWN = 2 ** 26; // of the results that are kept for what is asked next about the same text

/** Open a model: `load(name)` resolves to the bytes of one of its files, `libraries` to ONNX Runtime Web and that of
 * tokenizers. */
export async function openModel(facts, load, libraries) {
  const [{ ort: runtime, library }, graph, stored, tokenizerBytes] = await Promise.all([libraries,
    ...['graph', 'weights', 'tokenizer'].map((kind) => load(facts.files[kind]))]);
  const tokenizer = makeTokenizer(library, JSON.parse(new TextDecoder().decode(tokenizerBytes)), facts.tokenizer);
  const { bits, start, rows, size } = facts.weights;
  const floats = (bytes) => (bits === 16 ? fromHalves(new Uint8Array(bytes)) : new Float32Array(bytes));
  const createSession = (bytes, weights) => runtime.InferenceSession.create(new Uint8Array(bytes),
    { graphOptimizationLevel: 'disabled',
      externalData: [{ path: 'weights.bin', data: new Uint8Array(weights.buffer) }] });
  let [session, words] = [null, null];
  try {
    const weights = floats(stored);
    words = weights.slice(start, start + rows * size); // so that the rest can go
    session = await createSession(graph, weights);
  } catch {
    throw new Error(`The file of the model ${facts.name} is damaged or incomplete: reload the page.`);
  }
  let causes = null; // a promise of a session of the second graph
  const encodings = new Map(); // of the last texts: every view asks about the same
  const kept = new Map(); // results by what was asked, the newest last

  /** Run a session on those of the inputs, {name: [numbers, dims]}, that its graph has. */
  const compute = (graphs, inputs) => graphs.run(Object.fromEntries(graphs.inputNames.map((name) => {
    const [numbers, dims] = inputs[name];
    return [name, FLOATS.includes(name) ? new runtime.Tensor('float32', Float32Array.from(numbers), dims)
      : new runtime.Tensor('int64', BigInt64Array.from(numbers, BigInt), dims)];
  })));

  /** Encode a text or a pair. Throws an error where there is none, or the model reads single texts. */
  function encode(textA, textB = '') {
    if (!textA.trim() && !textB.trim()) throw new Error('Type a sentence first.');
    if (textB && !facts.reads_pairs) throw new Error('This model was made for single texts; leave sentence B empty.');
    const key = JSON.stringify([textA, textB]);
    if (!encodings.has(key)) encodings.set(key, tokenizer.encode(textA, textB, facts.max_length));
    for (const old of [...encodings.keys()].slice(0, -ENCODINGS)) encodings.delete(old);
    return encodings.get(key);
  }

  function masksOf(ids) {
    const masks = tokenizer.maskPositions({ ids });
    return masks.length ? masks.map((position) => [facts.layers, position]) : [[0, 0]];
  }

  /** Run the graph on ids of an encoding, by default its own. `rows` are [layer, position] pairs that the MLM head
   * reads, by default the masked tokens of the last layer, so that all views share a run; `causal` hides later tokens;
   * `without` are [layer, head] pairs that are ablated; `types` are other segment ids. Resolves to the outputs by name,
   * each {data, dims}. */
  async function run(encoding, { ids = encoding.ids, types = encoding.token_type_ids, causal = false, without = [],
    rows: read = masksOf(ids) } = {}) {
    const length = ids.length;
    const key = JSON.stringify([ids, types, causal, without, read]);
    if (kept.has(key)) return kept.get(key);
    const attended = new Float32Array(length * length).fill(1);
    if (causal) attended.forEach((_, at) => { attended[at] = Number(at % length <= Math.floor(at / length)); });
    const heads = new Float32Array(facts.layers * facts.heads_each).fill(1);
    for (const [layer, head] of without) heads[layer * facts.heads_each + head] = 0;
    const places = read.map(([layer, position]) => layer * length + position);
    const out = await compute(session, { input_ids: [ids, [1, length]], token_type_ids: [types, [1, length]],
      attention_mask: [attended, [1, length, length]], head_mask: [heads, [facts.layers, facts.heads_each]],
      rows: [places, [places.length]] });
    kept.set(key, out);
    let size = 0;
    for (const [old, result] of [...kept].reverse()) {
      size += Object.values(result).reduce((bytes, { data }) => bytes + data.byteLength, 0);
      if (size > BYTES_SHOWN && old !== key) kept.delete(old);
    }
    return out;
  }

  /** Run the second graph, which shares the weights; resolves as `run` does. */
  async function runCauses(inputs) {
    causes ??= Promise.all(['causes', 'weights'].map((kind) => load(facts.files[kind])))
      .then(([bytes, weights]) => createSession(bytes, floats(weights)));
    const opened = await causes.catch((error) => {
      causes = null; // it may be asked for again
      throw error;
    });
    return compute(opened, inputs);
  }

  /** One vector or row of an output, by its indices before the last dimension. */
  const rowOf = ({ data, dims }, ...at) => {
    const width = dims.at(-1);
    const place = at.reduce((before, index, axis) => before * dims[axis] + index, 0);
    return data.subarray(place * width, (place + 1) * width);
  };

  /** The rows of one matrix of an output. */
  const rowsOf = (output, at) => range(output.dims[1]).map((row) => rowOf(output, at, row));

  /** The embedding of a token. */
  const embedding = (id) => words.subarray(id * size, (id + 1) * size);

  const candidates = (shares, count) => largest(shares, Math.min(count, shares.length))
    .map((id) => ({ token: tokenizer.token(id), id, probability: shares[id] }));

  /** The tokens whose embeddings are nearest to that of another, {token, id, cosine}. */
  function nearest(id, count) {
    const cosines = range(rows).map((at) =>
      (at === id || at >= tokenizer.size ? -Infinity : cosine(embedding(at), embedding(id))));
    return largest(cosines, Math.min(count, tokenizer.size - 1))
      .map((at) => ({ token: tokenizer.token(at), id: at, cosine: cosines[at] }));
  }

  function requireHead(kind) {
    if (kind in facts.missing_heads) throw new Error(facts.missing_heads[kind]);
  }

  return { facts, tokenizer, encode, run, runCauses, rowOf, rowsOf, nearest, candidates, requireHead };
}
