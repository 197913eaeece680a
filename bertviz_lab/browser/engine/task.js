// What fine-tuned models predict: the labels of a text, its entities, and the answer in a passage
// (interpret/predictions.py and token_labels.py, data/tasks/question_answering.py).

import { largest, range, sigmoid, softmax } from './numeric.js';
import { wordsIn } from './tokenizer.js';

const [WINDOW, OVERLAP, LONGEST_QUESTION] = [384, 128, 64]; // tokens, as in interpret/token_labels.py
const [LONGEST_ANSWER, ANSWERS] = [30, 5];

/** A classifier's scores: probabilities, or the number of a regression. */
export function labelScores({ facts }, logits) {
  if (facts.is_multi_label) return Array.from(logits, sigmoid);
  return facts.labels.length === 1 ? [...logits] : [...softmax(logits)];
}

async function labels(model, a, b) {
  const { facts } = model;
  const { label } = await model.run(model.encode(a, b.trim() ? b : ''));
  const scores = labelScores(model, label.data);
  const order = range(scores.length).sort((one, other) => scores[other] - scores[one]);
  const limit = (at) => facts.thresholds[at] ?? facts.thresholds[0] ?? 0.5;
  const named = order.map((at) => facts.labels[at]);
  return { picture: 'classification', labels: order.map((at) => ({ label: facts.labels[at], score: scores[at] })),
    multi_label: facts.is_multi_label,
    predicted: facts.is_multi_label ? named.filter((_, place) => scores[order[place]] >= limit(order[place])) : named };
}

/** Windows over `count` tokens that share `stride` tokens: {first, end, from, to}; most context from `from` to `to`. */
function windowsOver(count, capacity, stride) {
  const firsts = [0];
  while (firsts.at(-1) + capacity < count) firsts.push(firsts.at(-1) + capacity - stride);
  const ends = firsts.map((first) => Math.min(first + capacity, count));
  // Google's score of a token in a window: the context on its shorter side, and a little for longer windows.
  const score = (at, token) =>
    Math.min(token - firsts[at], ends[at] - 1 - token) + 0.01 * (ends[at] - firsts[at]);
  const edges = [0, ...range(firsts.length - 1).map((at) => firsts[at + 1] + range(stride)
    .filter((token) => score(at, firsts[at + 1] + token) >= score(at + 1, firsts[at + 1] + token)).length), count];
  return firsts.map((first, at) => ({ first, end: ends[at], from: edges[at], to: edges[at + 1] }));
}

/** An encoding of ids and segments alone, as the graph takes it. */
const rawInput = (ids, types) => ({ ids, token_type_ids: types });

async function entities(model, text, progress) {
  const { facts, tokenizer } = model;
  const characters = [...text];
  const encoding = tokenizer.encode(text, null, Infinity);
  const spans = wordsIn(encoding).map((at) => [encoding.offsets[at[0]][0], encoding.offsets[at.at(-1)][1]])
    .filter(([start, end]) => end > start);
  if (!spans.length) throw new Error('Type a sentence first.');
  const pieces = spans.map((span) => { // every word is tokenized by itself, as in fine-tuning
    const word = characters.slice(...span).join('');
    if (word === tokenizer.special.mask) return [tokenizer.mask_id];
    const ids = tokenizer.tokensOf(` ${word}`, true).map(({ id }) => id);
    return ids.length ? ids : [tokenizer.unk_id];
  });
  const ids = pieces.flat();
  const firsts = pieces.map((_, word) => pieces.slice(0, word).flat().length);
  const room = facts.max_length - 2;
  const words = [];
  const windows = windowsOver(ids.length, room, Math.floor(room / 2));
  for (const [place, { first, end, from, to }] of windows.entries()) {
    await progress(place / windows.length);
    const row = [tokenizer.cls_id, ...ids.slice(first, end), tokenizer.sep_id];
    const { word } = await model.run(rawInput(row, row.map(() => 0)));
    firsts.forEach((at, index) => {
      if (at < from || at >= to) return;
      const shares = softmax(model.rowOf(word, at - first + 1));
      const [best] = largest(shares, 1);
      const [start, stop] = spans[index];
      words[index] = { start, end: stop, label: facts.labels[best], probability: shares[best] };
    });
  }
  return { picture: 'entities', text, words, labels: facts.labels };
}

async function answers(model, question, passage, progress) {
  const { facts, tokenizer } = model;
  if (!question.trim() || !passage.trim()) throw new Error('Type a question as text A and a passage as text B.');
  if (!facts.reads_pairs)
    throw new Error('This model was made for single texts, and cannot read a question with its passage.');
  const length = Math.min(WINDOW, facts.max_length);
  const separators = facts.tokenizer.layout.pair.slice(0, -1).filter((item) => Array.isArray(item)).length - 1;
  const prefix = [tokenizer.cls_id, ...tokenizer.tokensOf(question, true)
    .slice(0, Math.min(LONGEST_QUESTION, Math.floor((length - 3) / 2))).map(({ id }) => id),
  ...Array(separators).fill(tokenizer.sep_id)];
  const tokens = tokenizer.tokensOf(passage, true);
  const capacity = length - prefix.length - 1;
  const windows = windowsOver(tokens.length, capacity, Math.min(OVERLAP, Math.floor(capacity / 2)));
  const spans = [];
  let none = Infinity; // the score of no answer, the least of all windows
  for (const [place, { first, end, from, to }] of windows.entries()) {
    await progress(place / windows.length);
    const ids = [...prefix, ...tokens.slice(first, end).map(({ id }) => id), tokenizer.sep_id];
    const { answer } = await model.run(rawInput(ids, ids.map((_, at) => Number(at >= prefix.length))));
    const score = (at, which) => model.rowOf(answer, at)[which];
    none = Math.min(none, score(0, 0) + score(0, 1));
    for (let start = from; start < to; start += 1) {
      for (let stop = start; stop < Math.min(end, start + LONGEST_ANSWER); stop += 1) {
        spans.push([score(start - first + prefix.length, 0) + score(stop - first + prefix.length, 1),
          tokens[start].offsets[0], tokens[stop].offsets[1]]);
      }
    }
  }
  const most = spans.reduce((peak, [score]) => Math.max(peak, score), none);
  const total = spans.reduce((sum, [score]) => sum + Math.exp(score - most), Math.exp(none - most));
  spans.sort((one, other) => other[0] - one[0] || one[1] - other[1] || one[2] - other[2]);
  const characters = [...passage];
  const best = new Map(); // of spans with the same text the best counts
  for (const [score, start, end] of spans) {
    const text = characters.slice(start, end).join('');
    if (!best.has(text)) best.set(text, { text, start, end, score, probability: Math.exp(score - most) / total });
    if (best.size === ANSWERS) break;
  }
  const hasAnswer = best.size && !(none - spans[0][0] > (facts.no_answer_threshold ?? Infinity));
  return { picture: 'answer', question, passage, text: hasAnswer ? [...best.keys()][0] : '', best: [...best.values()],
    no_answer_probability: Math.exp(none - most) / total, threshold: facts.no_answer_threshold };
}

export async function task({ model, progress }, { text_a: a, text_b: b }) {
  const { facts } = model;
  if (!facts.heads.task) throw new Error('This model has not been fine-tuned for a task.');
  if (!('label' in facts.missing_heads)) return labels(model, a, b);
  return 'word' in facts.missing_heads ? answers(model, a, b, progress) : entities(model, a, progress);
}
