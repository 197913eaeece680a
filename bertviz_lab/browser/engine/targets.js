// Which prediction is explained, and its score: what Attribution and Causes share (interpret/targets.py).

import { largest, range, rankOf, softmax } from './numeric.js';
import { encodeMasked } from './predictions.js';
import { labelScores } from './task.js';
import { wordAt, wordsIn } from './tokenizer.js';

const KINDS = ['token', 'next', 'label', 'word', 'start', 'end'];
const SHOWN_CLASSES = 6; // of many, in each run
const NEXT_NAMES = ['B follows A', 'B comes from elsewhere'];

const kindsOf = ({ facts }) => KINDS.filter((kind) => !(kind in facts.missing_heads));
export const isAnswer = (kind) => kind === 'start' || kind === 'end';

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

/** The name of a class: a token, a label, or the token where an answer starts or ends. */
function nameOf(model, encoding, kind, index) {
  if (kind === 'token') return model.tokenizer.token(index);
  return isAnswer(kind) ? (index ? encoding.tokens[index] : 'no answer') : namesOf(model, kind)[index];
}

const namesOf = ({ facts }, kind) =>
  (kind === 'next' ? NEXT_NAMES : kind === 'label' || kind === 'word' ? facts.labels : []);

export async function targets({ model }, { text_a: a, text_b: b, kind: asked }) {
  const kind = resolveKind(model, a, b, asked);
  const names = namesOf(model, kind);
  const encoding = model.encode(a, pairOf(b, kind));
  return {
    kinds: kindsOf(model), kind,
    positions: [...(kind === 'word' ? [['', 'the first word with a label']] : []),
      ...placesOf(model, encoding, kind).map((at) => [at, `${encoding.tokens[at]} (${at})`])],
    classes: names, choosable: kind === 'token' || names.length > 1, heads: model.facts.heads_each,
    large: model.facts.is_large,
  };
}

/** The logits of the classes that a target's head chooses among, of all tokens' for an answer. */
async function logitsOf(model, encoding, { kind, position }, options = {}) {
  const rows = kind === 'token' ? [[model.facts.layers, position]] : undefined;
  const out = await model.run(encoding, { ...options, rows });
  if (kind === 'token') return model.rowOf(out.token, 0);
  if (kind === 'word') return model.rowOf(out.word, position);
  if (isAnswer(kind)) return encoding.ids.map((_, at) => model.rowOf(out.answer, at)[Number(kind === 'end')]);
  return out[kind].data;
}

/** The probabilities of the classes, or the number of a regression, from logits. */
export const scoresFrom = (model, { kind }, logits) =>
  (kind === 'label' ? labelScores(model, logits) : [...softmax(logits)]);

/** The same of a text. */
export const scoresOf = async (model, encoding, target, options) =>
  scoresFrom(model, target, await logitsOf(model, encoding, target, options));

/** The score in nats from `scoresOf`: a log-probability, with a contrast the log-ratio; of a regression the number. */
export function scoreFrom(scores, { is_regression: isRegression, index, against }) {
  if (isRegression) return scores[0];
  return Math.log(scores[index]) - (against ? Math.log(scores[against.index]) : 0);
}

export const scoreOf = async (model, encoding, target, options) =>
  scoreFrom(await scoresOf(model, encoding, target, options), target);

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
export async function explained(model, { text_a: a, text_b: b, kind: asked, position: place, choice, contrast }) {
  const { facts } = model;
  const kind = resolveKind(model, a, b, asked);
  const pair = pairOf(b, kind);
  const encoding = kind === 'token' ? encodeMasked(model, a, pair).encoding : model.encode(a, pair);
  const places = placesOf(model, encoding, kind);
  let position = places.includes(place) ? place : null;
  if (kind === 'next' && !encoding.token_type_ids.includes(1)) throw new Error('Type both text A and text B.');
  if (isAnswer(kind)) {
    if (encoding.text_b === null) throw new Error('Type a question as text A and a passage as text B.');
    const logits = await logitsOf(model, encoding, { kind });
    const passage = range(logits.length)
      .filter((at) => encoding.token_type_ids[at] === 1 && !encoding.special_tokens_mask[at]);
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
  const target = { kind, position, index, name: nameOf(model, encoding, kind, index), against: null,
    is_regression: kind === 'label' && facts.labels.length === 1 && !facts.is_multi_label };
  if (contrast.trim()) {
    const other = await classOf(model, encoding, target, contrast.trim());
    if (other === index) throw new Error(`${target.name} cannot be set against itself: name another one.`);
    target.against = { index: other, name: nameOf(model, encoding, kind, other) };
  }
  return { encoding, target };
}

/** The position that the head of a target reads; null where it reads all. */
export const readPosition = ({ facts }, { kind, position }) =>
  (isAnswer(kind) || (kind === 'label' && facts.reads_all) ? null : position);

/** The most probable classes of some runs. */
export const mostProbable = (runs) => runs.flatMap((scores) => largest(scores, SHOWN_CLASSES));

/** The names of classes where several are listed. */
export const listed = (model, encoding, { kind }, classes) => classes.map((index) => {
  const name = nameOf(model, encoding, kind, index);
  return isAnswer(kind) && index ? `${name} (${index})` : name;
});

/** The rank of a target's class among all; null where they are few. */
export const rankAmong = ({ kind, index }, scores) => (kind === 'token' ? rankOf(scores, index) : null);
