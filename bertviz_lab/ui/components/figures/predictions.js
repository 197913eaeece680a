// Predictions of one model or several: masked tokens, the next sentence, labels, entities and answers.

import { percent, plural, whole } from 'lab/client/format.js';
import { bars } from 'lab/components/figures/charts.js';
import { isNumber, range, sum } from 'lab/components/figures/numbers.js';
import { columnsOf, marked, scoreRow, strip, wordsRow } from 'lab/components/figures/strips.js';

const SHOWN_FILLS = 8;

/** The fill-mask bars. With `vocab_size` they say over how many other tokens the remaining probability is spread. */
export const fill_mask = ({ encoding, ...body }) => ({ title: '', ...body, columns: columnsOf(encoding) });

/** The NSP prediction: two probabilities that sum to 1. */
export const next_sentence = ({ is_next: isNext, is_random: isRandom }) => bars({
  groups: ['B follows A', 'B comes from elsewhere'], series: [['probability', [isNext, isRandom]]],
  title: isNext > 0.5 ? 'Prediction: is next' : 'Prediction: not next', number_format: '.1%', file: 'next-sentence' });

/** Each model's probability that B follows A; null for one without an NSP head. */
export const next_sentences = ({ names, shares }) => (shares.every((share) => share === null)
  ? { message: 'None of these models has an NSP head.' }
  : bars({ groups: names, series: [['B follows A', shares]], title: 'Does B follow A? (NSP)', number_format: '.1%',
    missing: 'no NSP head', file: 'next-sentence',
    sentence: 'Probability under each model that B is the next sentence; 50% is chance.' }));

/** The labels of a text with their probabilities; of a regression the predicted number. */
export function classification({ labels, multi_label: isMultiLabel, predicted }) {
  const [names, scores] = [labels.map(({ label }) => label), labels.map(({ score }) => score)];
  if (names.length === 1 && !isMultiLabel) return bars({ groups: names, series: [['number', scores]],
    title: 'Predicted value', number_format: '.2f', file: 'value' });
  const named = isMultiLabel ? predicted.join(', ') || 'none of its labels' : names[0];
  return bars({ groups: names, series: [['probability', scores]], title: `Predicted label: ${named}`,
    number_format: '.1%', ranked: 'most probable labels', file: 'labels',
    sentence: isMultiLabel ? 'Each label has its own probability (multi-label).' : '' });
}

/** Entities of BIO labels as [type, first word, word after the last], as seqeval's default mode reads them
 * (metrics/entities.py). */
function entitySpans(tags) {
  const parts = (tag) => {
    if (!tag || tag === 'O' || tag.startsWith('O-')) return ['O', ''];
    return /^[BIES](-|$)/.test(tag) ? [tag[0], tag.slice(2) || '_'] : ['I', tag];
  };
  const spans = [];
  let [start, kind, isClosed] = [0, '', true];
  tags.forEach((tag, at) => {
    const [prefix, type] = parts(tag);
    if (kind && ('OBS'.includes(prefix) || isClosed || type !== kind)) {
      spans.push([kind, start, at]);
      kind = '';
    }
    if (prefix !== 'O' && !kind) [start, kind] = [at, type];
    isClosed = 'ES'.includes(prefix);
  });
  return kind ? [...spans, [kind, start, tags.length]] : spans;
}

/** A text with its entities marked, or all its words, {start, end, label, probability}, if the labels form no entities
 * (parts of speech). The probability of an entity is the mean over its words. */
export function entities({ text, words, labels }) {
  const isEntity = labels.some((label) => /^[BI]-/.test(label));
  const found = !isEntity ? [] : entitySpans(words.map(({ label }) => label)).map(([label, first, after]) => {
    const part = words.slice(first, after);
    return { label, start: part[0].start, end: part.at(-1).end,
      probability: sum(part.map(({ probability }) => probability)) / part.length };
  });
  const spans = isEntity ? found : words;
  const many = spans.length ? plural(spans.length, 'entity', 'entities') : 'no entities';
  return marked({ text, spans: spans.map(({ start, end, label, probability: score }) => ({ start, end, label, score })),
    title: 'Entities', file: 'entities',
    sentence: found.length || !spans.length ? `${many} in ${whole(words.length)} words.` : '' });
}

/** The answer to a question marked in its passage, and the next best ones. */
export const answer = ({ question, passage, text, best, no_answer_probability: none, threshold }) => marked({
  text: passage, alternatives: best, title: question, chosen: text ? 0 : null, file: 'answers',
  sentence: `${text ? `Answer: “${text}”.` : 'Prediction: the passage has no answer.'} Probability of no answer: `
    + `${percent(none)}.${threshold ? ` No answer is predicted where its score is more than ${threshold.toFixed(2)} `
      + 'nats above the best span’s.' : ''}` });

/** The same masked tokens by several models, side by side. */
export function fill_comparison({ names, masks }) {
  const rows = masks.flatMap((mask, place) => mask.map(({ token, probabilities }) =>
    [masks.length > 1 ? `${place + 1}: ${token}` : token, probabilities]));
  return bars({ groups: rows.map(([name]) => name),
    series: names.map((name, model) => [name, rows.map(([, shares]) => shares[model])]),
    title: [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' and '), number_format: '.1%',
    missing: 'not in its vocabulary', file: 'comparison', sentence: `Top predictions of ${names.length === 2 ? 'both'
      : 'all'}, and their probability under each model.` });
}

/** The joint fills of all masked tokens, the best first, next to the independent predictions. */
export function joint_fill({ joint, independent }) {
  const nameOf = ({ tokens }) => tokens.join(' · ');
  const fills = new Map(joint.slice(0, SHOWN_FILLS).map((fill) => [nameOf(fill), Math.exp(fill.log_probability)]));
  const alone = nameOf(independent);
  const mark = fills.has(alone) ? ' (also independently)' : ' (independently)';
  if (!fills.has(alone)) fills.set(alone, Math.exp(independent.log_probability));
  const order = joint[0].order.map((place) => `masked token ${place + 1}`).join(' then ');
  return bars({ groups: [...fills.keys()].map((name) => `${name}${name === alone ? mark : ''}`),
    series: [['probability', [...fills.values()]]], title: 'All masked tokens jointly', number_format: '.2%',
    file: 'together',
    sentence: `The most confident masked token is filled first, then the model runs again: here ${order}. Predicted `
      + 'independently, masked tokens need not agree with each other.',
    note: 'Products of conditional probabilities, each given the tokens filled before it. Another order may give '
      + 'other numbers: BERT does not define one joint probability of a sentence (Torroba Hennigen and Kim 2023).' });
}

/** Each token's surprisal in nats, with the top prediction where it differs. */
export function pseudo_log_likelihood({ encoding, log_probabilities: logs, expected, linked }) {
  const known = logs.filter(isNumber);
  const perplexity = Math.exp(-sum(known) / known.length).toFixed(1);
  const chances = logs.map((log) => (isNumber(log) ? Math.exp(log) : null));
  return strip(encoding, [
    scoreRow('surprisal', '-log of its probability, in nats; 0 is certain',
      logs.map((log) => (isNumber(log) ? -log : null)), { digits: 1 }),
    scoreRow('probability', 'Of the token itself when it and the later pieces of its word are masked', chances,
      { scale: 'none', texts: chances.map((chance) => (chance === null ? '' : percent(chance))) }),
    wordsRow('expected', 'The top prediction in its place, where it differs', range(logs.length).map((at) =>
      (expected[at] && expected[at].token !== encoding.tokens[at] ? expected[at].token : ''))),
  ], {
    title: 'Surprisal of each token', file: 'surprisal', linked,
    sentence: 'Each token is masked in turn, with the later pieces of its word; darker means higher surprisal.',
    note: `Pseudo-log-likelihood ${sum(known).toFixed(1)} nats, pseudo-perplexity ${perplexity}: the model is on `
      + `average as uncertain as among ${perplexity} equally likely tokens (Salazar et al. 2020; Kauf and Ivanova `
      + '2023).',
  });
}
