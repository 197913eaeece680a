// What Attribution asks, as far as forward passes carry it: occlusion, head ablation and other interventions on one
// prediction (interpret/targets.py and attribution.py; figures/interpret/attribution.py).

import { bars, matrix } from './charts.js';
import { general, joined, largest, peak, percent, range, rankOf, signed, softmax, whole } from './numeric.js';
import { encodeMasked } from './predictions.js';
import { scoreRow, strip } from './strips.js';
import { labelScores } from './task.js';
import { wordAt, wordsIn } from './tokenizer.js';

const KINDS = ['token', 'next', 'label', 'word', 'start', 'end'];
const NEXT_NAMES = ['B follows A', 'B comes from elsewhere'];
const SHOWN_CLASSES = 6; // of many, before and after an intervention

const kindsOf = ({ facts }) => KINDS.filter((kind) => !(kind in facts.missing_heads));
const isAnswer = (kind) => kind === 'start' || kind === 'end';

/** The kind that was chosen where the model has a head for it, else the one that suits the text. */
function resolveKind(model, a, b, kind) {
  const kinds = kindsOf(model);
  if (!kinds.length)
    throw new Error(`${model.facts.name} has no prediction head, so there is no prediction to explain.`);
  if (kinds.includes(kind)) return kind;
  if (kinds.includes('next') && b.trim()) {
    const { tokenizer } = model;
    const isMasked = [a, b].some((text) => tokenizer.maskPositions(tokenizer.encode(text, null, Infinity)).length);
    return isMasked && kinds.includes('token') ? 'token' : 'next';
  }
  return kinds[0];
}

/** Text B where there is one; words are labeled in text A alone. */
const pairOf = (b, kind) => (b.trim() && kind !== 'word' ? b : '');

/** Masked tokens, or the first token of each word, where a prediction is about one of several. */
function placesOf({ tokenizer }, encoding, kind) {
  if (kind === 'token') return tokenizer.maskPositions(encoding);
  return kind === 'word' ? wordsIn(encoding).map(([first]) => first) : [];
}

const namesOf = ({ facts }, kind) =>
  (kind === 'next' ? NEXT_NAMES : kind === 'label' || kind === 'word' ? facts.labels : []);

export async function targets({ model, texts }, { text_a: a, text_b: b, kind: asked }) {
  const kind = resolveKind(model, a, b, asked);
  const names = namesOf(model, kind);
  const encoding = model.encode(a, pairOf(b, kind));
  return {
    kinds: kindsOf(model).map((name) => [name, texts.target_kinds[name]]), kind,
    positions: [...(kind === 'word' ? [['', 'the first word with a label']] : []),
      ...placesOf(model, encoding, kind).map((at) => [at, `${encoding.tokens[at]} (${at})`])],
    classes: names, choosable: kind === 'token' || names.length > 1, heads: model.facts.heads_each,
    large: model.facts.is_large,
  };
}

/** The logits of the classes that a target's head chooses among. */
async function logitsOf(model, encoding, { kind, position }, options = {}) {
  const rows = kind === 'token' ? [[model.facts.layers, position]] : undefined;
  const out = await model.run(encoding, { ...options, rows });
  if (kind === 'token') return model.rowOf(out.token, 0);
  if (kind === 'word') return model.rowOf(out.word, position);
  if (isAnswer(kind)) return range(encoding.length).map((at) => model.rowOf(out.answer, at)[Number(kind === 'end')]);
  return out[kind].data;
}

/** The probabilities of the classes, or the number of a regression. */
const scoresOf = async (model, encoding, target, options) => {
  const logits = await logitsOf(model, encoding, target, options);
  return target.kind === 'label' ? labelScores(model, logits) : [...softmax(logits)];
};

/** The score in nats: a log-probability, with a contrast the log-ratio; of a regression the number. */
async function scoreOf(model, encoding, target, options) {
  const scores = await scoresOf(model, encoding, target, options);
  if (target.isRegression) return scores[0];
  return Math.log(scores[target.index]) - (target.against ? Math.log(scores[target.against.index]) : 0);
}

/** The class `choice`, or the most probable. */
async function classOf(model, encoding, { kind, position }, choice) {
  const names = namesOf(model, kind);
  if (choice && isAnswer(kind))
    throw new Error("An answer's first or last token is named by its position, and set against nothing.");
  if (choice && kind === 'token') return model.tokenizer.singleToken(choice);
  if (choice) {
    if (!names.includes(choice)) throw new Error(`${choice} is not one of ${names.join(', ')}.`);
    return names.indexOf(choice);
  }
  const logits = await logitsOf(model, encoding, { kind, position });
  return largest(logits, 1)[0];
}

/** What is explained: {encoding, target}. */
async function explained(model, { text_a: a, text_b: b, kind: asked, position: place, choice, contrast }) {
  const { facts, tokenizer } = model;
  const kind = resolveKind(model, a, b, asked);
  const pair = pairOf(b, kind);
  const encoding = kind === 'token' ? encodeMasked(model, a, pair).encoding : model.encode(a, pair);
  const places = placesOf(model, encoding, kind);
  let position = places.includes(place) ? place : null;
  const nameOf = (index) => {
    if (kind === 'token') return tokenizer.token(index);
    return isAnswer(kind) ? (index ? encoding.tokens[index] : 'no answer') : namesOf(model, kind)[index];
  };
  if (kind === 'next' && !encoding.types.includes(1)) throw new Error('Type both sentence A and sentence B.');
  if (isAnswer(kind)) {
    if (encoding.textB === null) throw new Error('Type both a question and a passage.');
    const logits = await logitsOf(model, encoding, { kind });
    const passage = range(encoding.length).filter((at) => encoding.types[at] === 1 && !encoding.special[at]);
    position = passage[largest(passage.map((at) => logits[at]), 1)[0]];
    if (position === undefined)
      throw new Error('An answer starts and ends in the passage: choose one of its tokens, or 0 for no answer.');
  } else if (kind === 'word' && position === null) {
    if (!places.length) throw new Error('There is no word at this place: choose a token of the text.');
    const { word } = await model.run(encoding);
    position = places.find((at) => facts.labels[largest(model.rowOf(word, at), 1)[0]] !== 'O') ?? places[0];
  } else if (kind === 'word') [position] = wordAt(encoding, position);
  else position ??= kind === 'token' ? places[0] : 0;
  const index = isAnswer(kind) && !choice.trim() ? position
    : await classOf(model, encoding, { kind, position }, choice.trim());
  const target = { kind, position, index, name: nameOf(index), against: null,
    isRegression: kind === 'label' && facts.labels.length === 1 && !facts.is_multi_label };
  if (contrast.trim()) {
    const other = await classOf(model, encoding, target, contrast.trim());
    if (other === index) throw new Error(`${target.name} cannot be set against itself: name another one.`);
    target.against = { index: other, name: nameOf(other) };
  }
  target.title = target.against ? `${target.name} rather than ${target.against.name}` : target.name;
  target.quantity = target.isRegression ? 'predicted value' : target.against ? 'log-ratio' : 'log-probability';
  return { encoding, target, nameOf };
}

const factsOf = (items, note = '') => ({ items, note, tone: 'plain' });

export async function attribution({ model, texts, progress }, args) {
  const { encoding, target } = await explained(model, args);
  const { kind, position } = target;
  const mask = model.tokenizer.mask_id;
  const score = await scoreOf(model, encoding, target);
  const effects = Array(encoding.length).fill(0);
  const places = range(encoding.length).filter((at) => !encoding.special[at] && encoding.ids[at] !== mask);
  for (const [done, place] of places.entries()) {
    await progress(done / places.length);
    const ids = encoding.ids.map((id, at) => (at === place ? mask : id));
    effects[place] = score - await scoreOf(model, encoding, target, { ids });
  }
  const hidden = encoding.ids.map((id, at) => (encoding.special[at] ? id : mask));
  const change = score - await scoreOf(model, encoding, target, { ids: hidden });
  const scores = await scoresOf(model, encoding, target);
  const rows = [scoreRow('occlusion', texts.attribution.occlusion
    .replace('{quantity}', target.quantity + (target.isRegression ? '' : ', in nats')), effects,
  { plus: true, digits: peak(effects) >= 1 ? 2 : 3 })];
  const readsOne = !isAnswer(kind) && !(kind === 'label' && model.facts.reads_all);
  if (readsOne) {
    const { attentions } = await model.run(encoding);
    const heads = model.facts.layers * model.facts.heads_each;
    const toward = range(encoding.length).map((at) => range(heads).reduce((total, head) => total
      + attentions.data[(head * encoding.length + position) * encoding.length + at] / heads, 0));
    rows.push(scoreRow('attention', texts.attribution.attention, toward, { scale: 'bar', digits: 3 }));
  }
  const value = scores[target.index];
  const contrast = target.against ? `, against “${target.against.name}”,` : '';
  const note = target.isRegression
    ? `With this text the ${target.name} is ${signed(change, 2)} compared with every token masked.`
    : `With this text “${target.name}”${contrast} is ${timesAsLikely(change)} as with every token masked: the `
      + `logarithm of that is ${signed(change, 2)}.`;
  const about = { next: `the prediction that ${target.title}`,
    start: `${target.name} as the start of the answer`, end: `${target.name} as the end of the answer`,
    word: `${target.title} as the label of ${encoding.tokens[position]}` }[kind] ?? target.title;
  return {
    facts: factsOf([['Prediction explained', target.name],
      target.isRegression ? ['Predicted value', value.toFixed(2)] : ['Probability', percent(value)],
      ...(kind === 'token' ? [['Rank in vocabulary', whole(rankOf(scores, target.index))]] : [])]),
    tokens: strip(encoding, rows, { title: `Attribution for ${about}`, file: 'attribution',
      sentence: 'Blue supports the prediction, brown opposes it.',
      note: joined(note, readsOne && texts.not_an_explanation, texts.no_gradients) }),
  };
}

/** A difference of log-probabilities as a likelihood ratio in words. */
function timesAsLikely(change) {
  const ratio = Math.exp(Math.min(Math.abs(change), 50));
  if (ratio < 1.05) return 'about as likely';
  if (ratio > 1e6) return change > 0 ? 'over a million times as likely' : 'less than a millionth as likely';
  const factor = ratio < 20 ? ratio.toFixed(1) : whole(Math.round(ratio));
  return change > 0 ? `${factor} times as likely` : `1/${factor} as likely`;
}

export async function head_effects({ model, progress }, args) {
  const { encoding, target } = await explained(model, args);
  const { layers, heads_each: heads, notes } = model.facts;
  const baseline = await scoreOf(model, encoding, target);
  const effects = [];
  for (const layer of range(layers)) {
    effects.push([]);
    for (const head of range(heads + 1)) { // the last one is all of them
      await progress((layer * (heads + 1) + head) / (layers * (heads + 1)));
      const without = head < heads ? [[layer, head]] : range(heads).map((one) => [layer, one]);
      effects[layer].push(baseline - await scoreOf(model, encoding, target, { without }));
    }
  }
  const texts = effects.map((row) => row.map((value) => general(value)));
  for (const [layer, head] of args.ablated) if (head < heads && layer < layers) texts[layer][head] = 'off';
  return matrix(effects, range(layers).map((layer) => `layer ${layer + 1}`),
    [...range(heads).map((head) => String(head + 1)), 'all'], {
      columnName: 'head', texts, peak: peak(effects.flatMap((row) => row.slice(0, heads))) || 1,
      unit: target.isRegression ? '' : 'nats', picks: [range(layers), range(heads + 1)], file: 'heads',
      title: `Effect of each head on ${target.title}`,
      sentence: 'Ablated one at a time: blue heads support the prediction, brown ones oppose it; the last column '
        + 'ablates all heads of a layer. Click a head to ablate it.',
      note: `Values are the ${target.quantity} with the head minus without it (Michel et al. 2019). Heads can `
        + `compensate for each other, so a small effect does not mean that a head does nothing.${notes.sharing
          ? ` ${notes.sharing} A head is ablated in one layer only.` : ''}`,
    });
}

export async function intervention({ model }, args) {
  const { encoding, target, nameOf } = await explained(model, args);
  const { layers, heads_each: heads, has_segments: hasSegments } = model.facts;
  const without = args.ablated.filter(([layer, head]) => layer < layers && head < heads)
    .sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  const { segments, causal } = args;
  const types = encoding.types.map((type) => (segments === 'zero' ? 0 : 1 - type));
  const isChanged = segments && args.text_b && hasSegments;
  const before = await scoresOf(model, encoding, target);
  const after = await scoresOf(model, encoding, target,
    { without, causal, ...(isChanged && { types }) });
  const classes = [...new Set([...largest(before, SHOWN_CLASSES), ...largest(after, SHOWN_CLASSES), target.index])];
  const changes = [without.length && `without ${without.map(([layer, head]) => `layer ${layer + 1} head ${head + 1}`)
    .join(', ')}`, causal && 'causal mask',
  isChanged && (segments === 'zero' ? 'all segment ids 0' : 'segment ids swapped')].filter(Boolean);
  const changed = changes.join(' and ');
  const missing = 'This model has no segment embeddings, so it has no segment ids to change.';
  const hint = 'Tick the box, change the segment ids of a pair, or open Head ablation and click some heads.';
  const note = segments && !hasSegments ? missing : changes.length ? '' : hint;
  const name = (index) => (isAnswer(target.kind) && index ? `${nameOf(index)} (${index})` : nameOf(index));
  const series = [['unmodified model', classes.map((index) => before[index])],
    ...(changed ? [[changed, classes.map((index) => after[index])]] : [])];
  return { facts: factsOf([['Changed', changed || 'nothing changed yet']], note),
    chart: bars(classes.map(name), series, { title: 'Prediction before and after', file: 'what-if',
      format: target.isRegression ? '.2f' : '.1%' }) };
}
