// What Causes asks: activation patching, the parts of a logit, and information flow (interpret/causes/patching.py,
// decomposition.py and flow.py). Its forward passes are the second graph of a model (browser/causes_graph.py).

import { occlusion } from './attribution.js';
import { largest, mean, range, sum } from './numeric.js';
import { sharesAt } from './predictions.js';
import { explained, isAnswer, listed, mostProbable, scoreFrom, scoreOf, scoresFrom } from './targets.js';

export { targets } from './targets.js';

const COMPONENTS = ['residual', 'attention', 'feed_forward', 'head', 'value']; // as the graph counts them
const [MOST_TOKENS, TOKENS_AT_ONCE] = [128, 2048];
const SUBSTITUTES = 20; // tokens of which the one that changes the prediction most is proposed
const METHODS = ['attention', 'value zeroing']; // of information flow

// ---- the clean and the corrupted text

/** The likeliest other tokens of the same kind at a position. */
async function substitutes(model, encoding, position) {
  const { tokenizer, facts } = model;
  const own = encoding.ids[position];
  const isContinuing = (id) => tokenizer.continues(tokenizer.token(id));
  const isAlike = (id) => id !== own && id < tokenizer.size && !tokenizer.special_ids.includes(id)
    && /[\p{L}\p{N}]/u.test(tokenizer.token(id)) && isContinuing(id) === isContinuing(own);
  let order = model.nearest(own, 10 * SUBSTITUTES).map(({ id }) => id);
  if (!('token' in facts.missing_heads)) {
    const ids = encoding.ids.with(position, tokenizer.mask_id);
    const [shares] = await sharesAt(model, encoding, [position], { ids });
    order = range(shares.length).sort((one, other) => shares[other] - shares[one]);
  }
  return order.filter(isAlike).slice(0, SUBSTITUTES);
}

/** The ids of a corrupted text that somebody wrote. */
function idsOf({ tokenizer, encode }, clean, text) {
  const corrupted = encode(text, clean.text_b ?? '');
  if (corrupted.ids.length !== clean.ids.length || corrupted.token_type_ids.join() !== clean.token_type_ids.join())
    throw new Error(`The corrupted text has ${corrupted.ids.length} tokens and the clean one ${clean.ids.length}: `
      + 'replace words by others of as many tokens.');
  const masks = tokenizer.maskPositions(corrupted);
  if (!tokenizer.maskPositions(clean).every((at) => masks.includes(at)))
    throw new Error('The corrupted text must have its [MASK] where the clean one has it.');
  if (corrupted.ids.join() === clean.ids.join())
    throw new Error('Both texts have the same tokens: change a word in the corrupted one.');
  return corrupted.ids;
}

/** The corrupted text: its ids, and the positions where noise is added. */
async function corrupted({ model, progress }, encoding, target, { corruption: kind, changed, replacement }) {
  const { tokenizer } = model;
  const { ids } = encoding;
  if (kind === 'text') return { ids: idsOf(model, encoding, replacement), noised: [] };
  const changeable = tokenizer.unmaskedPositions(encoding);
  if (!changeable.length)
    throw new Error('The text has no token that could be changed: type a word beside the one to predict.');
  let position = changed;
  if (position === null) {
    const { scores } = await occlusion(model, encoding, target, progress);
    position = changeable[largest(changeable.map((at) => scores[at]), 1)[0]];
  }
  if (!changeable.includes(position))
    throw new Error('Choose a token of the text to change, not a masked or special one.');
  if (kind === 'noise') return { ids, noised: [position] };
  if (kind === 'mask') return { ids: ids.with(position, tokenizer.mask_id), noised: [] };
  if (replacement.trim()) return { ids: ids.with(position, tokenizer.singleToken(replacement.trim())), noised: [] };
  const variants = (await substitutes(model, encoding, position)).map((id) => ids.with(position, id));
  const scores = [];
  for (const variant of variants) {
    await progress(0);
    scores.push(-await scoreOf(model, encoding, target, { ids: variant }));
  }
  return { ids: variants[largest(scores, 1)[0]], noised: [] };
}

/** The clean run twice, {encoding, target, base, source}; a run is {ids, noised}. */
async function cleanRuns(model, args) {
  const { encoding, target } = await explained(model, args);
  const length = encoding.ids.length;
  if (length > MOST_TOKENS)
    throw new Error(`This text has ${length} tokens, and a browser traces up to ${MOST_TOKENS}: use the lab for it.`);
  const clean = { ids: encoding.ids, noised: [] };
  return { encoding, target, base: clean, source: clean };
}

/** Clean and corrupted run in the direction of a question, with the corruption. */
async function bothRuns(context, args) {
  const { encoding, target, base: clean } = await cleanRuns(context.model, args);
  const length = encoding.ids.length;
  const other = await corrupted(context, encoding, target, args);
  const positions = range(length).filter((at) => other.ids[at] !== clean.ids[at] || other.noised.includes(at));
  const names = positions.map((at) =>
    (other.noised.length ? `${encoding.tokens[at]} + noise` : context.model.tokenizer.token(other.ids[at])));
  const isDenoising = args.direction === 'denoising';
  const [base, source] = isDenoising ? [other, clean] : [clean, other];
  return { encoding, target, direction: args.direction, base, source, corruption: { positions, names } };
}

// ---- forward passes

const NONE = [[0, -1, 0], [1, -1, 0]]; // the base run and the source run as they are

/** Run variants through the second graph: `rows` are those of each layer. */
function run({ facts, runCauses }, { encoding, target, base, source }, rows = range(facts.layers + 1).map(() => NONE)) {
  const runs = [base, source];
  const length = encoding.ids.length;
  const classes = target.kind === 'token' ? [target.index, target.against?.index ?? target.index] : [0, 0];
  return runCauses({ input_ids: [runs.flatMap(({ ids }) => ids), [2, length]],
    token_type_ids: [encoding.token_type_ids, [1, length]], position: [[target.position], [1]], classes: [classes, [2]],
    noised: [runs.flatMap(({ noised }) => range(length).map((at) => Number(noised.includes(at)))), [2, length]],
    ...Object.fromEntries(rows.map((cells, layer) => [`cells_${layer}`, [cells.flat(), [cells.length, 3]]])) });
}

/** The logits of the classes that a target's head chooses among, in a row of the last variants. */
const logitsOf = (model, { encoding, target: { kind } }, out, row) => (isAnswer(kind)
  ? encoding.ids.map((_, at) => model.rowOf(out.answer, row, at)[Number(kind === 'end')])
  : model.rowOf(out[kind], row));

/** Patch cells, [layer, component, index] each, in the order of layers. Resolves to the scores of all classes in the
 * base run, in the source run, and with each cell patched. */
async function patch({ model, progress }, both, cells) {
  const size = Math.max(1, Math.floor(TOKENS_AT_ONCE / both.encoding.ids.length));
  const scores = [];
  for (let first = 0; first < cells.length; first += size) {
    await progress(first / cells.length);
    const some = cells.slice(first, first + size);
    const rows = range(model.facts.layers + 1).map((layer) => [...NONE,
      ...some.filter(([of]) => of < layer).map((_, at) => [NONE.length + at, -1, 0]),
      ...some.filter(([of]) => of === layer).map(([, name, index]) => [0, COMPONENTS.indexOf(name), index])]);
    const out = await run(model, both, rows);
    const ofRows = range(NONE.length + some.length)
      .map((row) => scoresFrom(model, both.target, logitsOf(model, both, out, row)));
    scores.push(...(first ? ofRows.slice(NONE.length) : ofRows));
  }
  return scores;
}

const runsBody = ({ encoding, target, direction }, [base, source]) => ({ encoding, target, direction,
  ...(direction === 'denoising' ? { clean: source, corrupted: base } : { clean: base, corrupted: source }) });

const layersOf = ({ facts }, component) => facts.layers + Number(component === 'residual');

export async function patching(context, { component, ...args }) {
  const both = await bothRuns(context, args);
  const { model } = context;
  const { tokens } = both.encoding;
  const width = component === 'head' ? model.facts.heads_each : tokens.length;
  const layers = range(layersOf(model, component));
  const cells = layers.flatMap((layer) => range(width).map((index) => [layer, component, index]));
  const [base, source, ...scores] = (await patch(context, both, cells)).map((all) => scoreFrom(all, both.target));
  const body = runsBody(both, [base, source]);
  return { facts: { picture: 'corrupted', corruption: both.corruption, ...body },
    map: { picture: 'activation_patching', ...body, component,
      scores: layers.map((layer) => scores.slice(layer * width, (layer + 1) * width)) },
    tokens: [['', 'proposed by occlusion'], ...model.tokenizer.unmaskedPositions(both.encoding)
      .map((at) => [at, `${tokens[at]} (${at})`])] };
}

export async function patched(context, { component, layer, index, ...args }) {
  const both = await bothRuns(context, args);
  const { encoding, target } = both;
  const [base, source, changed] = await patch(context, both, [[layer, component, index]]);
  const runs = both.direction === 'denoising' ? [source, base, changed] : [base, source, changed];
  const classes = [...new Set([target.index, ...mostProbable(runs)])];
  return { picture: 'patched', cell: { component, layer, index }, rows: layersOf(context.model, component),
    names: listed(context.model, encoding, target, classes), runs: runs.map((all) => classes.map((at) => all[at])),
    ...runsBody(both, [base, source].map((all) => scoreFrom(all, target))) };
}

// ---- the logit as a sum

export async function decomposition(context, args) {
  const { model } = context;
  const { facts } = model;
  const both = await bothRuns(context, args);
  const { encoding, target } = both;
  if (target.kind === 'label' && facts.reads_all)
    throw new Error('This classifier reads the mean of all tokens: only a head that reads one is decomposed.');
  const clean = both.direction === 'denoising' ? both.source : both.base;
  const out = await run(model, { ...both, base: clean, source: clean });
  const output = out[`parts_${isAnswer(target.kind) ? 'answer' : target.kind}`];
  const [one, other] = target.kind === 'token' ? [0, 1]
    : isAnswer(target.kind) ? [Number(target.kind === 'end')] : [target.index, target.against?.index];
  const difference = (row, index, against) => row[index] - (target.against ? row[against] : 0);
  const [biases, ...parts] = range(output.dims[0]).map((part) => difference(model.rowOf(output, part), one, other));
  const embeddings = Object.fromEntries(facts.embeddings.map((name) => [name, parts.shift()]));
  const each = facts.heads_each;
  const layers = range(facts.layers);
  const inLayer = (layer) => [...range(each).map((index) => [layer, 'head', index]),
    [layer, 'feed_forward', target.position]];
  const [base, , ...scores] = (await patch(context, both, layers.flatMap(inLayer)))
    .map((all) => scoreFrom(all, target));
  const effects = scores.map((score) => (both.direction === 'denoising' ? score - base : base - score));
  const ofLayer = (values, layer) => values.slice(layer * (each + 1), (layer + 1) * (each + 1));
  const split = (values) => ({ heads: layers.map((layer) => ofLayer(values, layer).slice(0, each)),
    feed_forward: layers.map((layer) => ofLayer(values, layer)[each]) });
  return { picture: 'logit_decomposition', encoding, target, direction: both.direction, embeddings, biases,
    logit: difference(logitsOf(model, both, out, 0), target.index, target.against?.index), ...split(parts),
    patched: split(effects) };
}

// ---- information flow

/** Rows that sum to 1; one without any contribution is of the token itself. */
const sharesOf = (rows) => rows.map((row, at) =>
  row.map((value, other) => (sum(row) > 0 ? value / sum(row) : Number(other === at))));

/** The contributions of each layer by value zeroing: how far each token's state moves without another's value. */
async function valueZeroing({ model, progress }, both) {
  const length = both.encoding.ids.length;
  const size = Math.max(1, Math.floor(TOKENS_AT_ONCE / length));
  const { layers } = model.facts;
  const columns = range(layers).map(() => []);
  for (let first = 0; first < length; first += size) {
    await progress(first / length);
    const tokens = range(length).slice(first, first + size);
    const zeroed = [...NONE, ...tokens.map((at) => [0, COMPONENTS.indexOf('value'), at])];
    const { distances } = await run(model, both, [...range(layers).map(() => zeroed), NONE]);
    columns.forEach((of, layer) => of.push(...tokens.map((_, at) =>
      model.rowOf(distances, layer * zeroed.length + NONE.length + at))));
  }
  return columns.map((of) => sharesOf(range(length).map((at) => of.map((column) => Math.max(0, column[at])))));
}

/** How much of a position's final state takes each edge of each layer, and comes from each token. */
function paths(layers, position) {
  let reaches = layers[0].map((_, at) => Number(at === position));
  const edges = layers.map(() => []);
  for (const layer of range(layers.length).reverse()) {
    const shares = reaches;
    edges[layer] = layers[layer].map((row, at) => row.map((share) => shares[at] * share));
    reaches = columnSums(edges[layer]);
  }
  return { edges, reaches };
}

const columnSums = (rows) => rows[0].map((_, at) => sum(rows.map((row) => row[at])));

export async function flow(context, { method, threshold, ...args }) {
  if (!METHODS.includes(method))
    throw new Error('A browser computes attention and value zeroing: use the lab for norm and ALTI.');
  const { model } = context;
  const both = await cleanRuns(model, args);
  const { encoding, target: { position } } = both;
  const length = encoding.ids.length;
  const { attentions } = await model.run(encoding);
  const heads = range(model.facts.heads_each);
  const attention = range(model.facts.layers).map((layer) => range(length).map((at) => range(length).map((to) =>
    mean(heads.map((head) => model.rowOf(attentions, layer, head, at)[to])))));
  const zeroing = await valueZeroing(context, both);
  // Half of each layer is the residual connection, as in rollout (Abnar and Zuidema 2020).
  const mixed = attention.map((rows) =>
    rows.map((row, at) => row.map((share, other) => (share + Number(at === other)) / 2)));
  const [rollout, zeroed] = [mixed, zeroing].map((layers) => paths(layers, position));
  const { edges } = method === 'attention' ? rollout : zeroed;
  const about = { encoding, position };
  return {
    methods: { picture: 'information_flow', ...about, methods: [
      ['raw attention', range(length).map((at) => mean(attention.map((rows) => rows[position][at])))],
      ['rollout', rollout.reaches], ['value zeroing', zeroed.reaches]] },
    layers: { picture: 'flow_by_layer', ...about, method,
      layers: (method === 'attention' ? attention : zeroing).map((rows) => rows[position]) },
    graph: { picture: 'flow_graph', tokens: encoding.tokens, position, method, threshold,
      edges: edges.flatMap((rows, layer) => rows.flatMap((row, to) => row.flatMap((share, from) =>
        (share >= threshold ? [[layer, from, to, share]] : [])))),
      through: [columnSums(edges[0]), ...edges.map((rows) => rows.map(sum))] },
  };
}
