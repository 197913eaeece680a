// Greedy longest match (WordPiece), merges (BPE) or the best path (Unigram), one word at a time, as it was worked out.

import { h, payloadView } from 'lab/client/dom.js';
import { plural, whole } from 'lab/client/format.js';

export default function wordSplit(root, first, { label } = {}) {
  const view = payloadView(root, label, 'Type a sentence above to see how the tokenizer splits its words.', show);
  const rule = h('p', { class: 'quiet rule' });
  const entireLine = h('p', { class: 'wholes' });
  const list = h('div', { class: 'list' });
  const rest = h('p', { class: 'quiet' });
  view.content.append(rule, list, entireLine, rest);

  const RULES = {
    wordpiece: 'WordPiece takes the longest prefix of the word that is in the vocabulary, then the longest piece '
      + 'that continues from there, marked with ##, and so on. If no piece matches, the word becomes [UNK].',
    bpe: 'Byte-pair encoding (BPE) starts from single bytes and repeatedly merges the adjacent pair that was learned '
      + 'first, until no learned pair is left. Ġ marks the space before a word.',
    unigram: 'Unigram (SentencePiece) takes the split with the largest sum of log-probabilities. Each line has the '
      + 'piece taken, after others that end at the same place, with the best sum up to there. ▁ marks the space '
      + 'before a word.',
  };

  // Of a word that is not in the vocabulary as a whole, and was not searched.
  const WITHOUT_STEPS = {
    wordpiece: 'The word has more characters than WordPiece takes: it becomes [UNK] without a search.',
    bpe: 'None of its pairs was learned: its bytes stay single.',
  };

  function show(body) {
    rule.textContent = RULES[body.algorithm] ?? '';
    // [UNK] may be typed
    const split = body.words.filter(({ word, pieces, unknown }) => pieces.length > 1
      || (unknown && word !== pieces[0]));
    const entire = body.words.filter((word) => !split.includes(word)).map((word) => word.word);
    list.replaceChildren(...split.map(drawWord));
    entireLine.replaceChildren(...(entire.length ? [h('span', { class: 'quiet' }, 'In the vocabulary as a whole: '),
      h('span', { class: 'mono' }, [...new Set(entire)].join('  '))] : []));
    rest.textContent = body.more ? `${plural(body.more, 'more word')} not shown.` : '';
  }

  function drawWord(word) {
    const pieces = h('span', { class: 'pieces line' }, ...word.pieces
      .map((piece) => h('span', { class: 'piece mono small card' }, piece)));
    const note = word.steps.length ? word.omitted && `${plural(word.omitted, 'more step')} not shown.`
      : WITHOUT_STEPS[word.kind];
    return h('details', { class: 'card' }, h('summary', {}, h('b', {}, word.word), ' → ', pieces),
      h('ol', {}, ...word.steps.map(word.kind === 'bpe' ? drawMerge : drawSearch)), note ? h('p', { class: 'quiet' },
        note) : null);
  }

  function drawSearch(step) {
    const misses = step.tried.slice(0, step.found === null ? undefined : -1)
      .map((piece) => h('span', { class: 'miss mono quiet small' }, piece));
    const skipped = step.skipped ? [h('span', { class: 'quiet' }, `… ${whole(step.skipped)} more …`)] : [];
    const hit = step.found === null ? h('span', {}, ' no match: the word becomes ', h('span', { class: 'hit mono' },
      '[UNK]'))
      : h('span', { class: 'hit mono' }, step.found);
    return h('li', {}, ...misses.flatMap((node) => [node, ' ']), ...skipped, hit);
  }

  function drawMerge(step) {
    return h('li', {}, h('span', { class: 'mono quiet' }, step.before.join(' ')), ' merge ',
      h('span', { class: 'hit mono' }, step.pair.join(' + ')), h('span', { class: 'quiet' },
        ` (merge rule ${whole(step.rank + 1)})`));
  }

  return view.start(first);
}
