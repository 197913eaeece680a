// Greedy longest match (WordPiece), merges (BPE) or the best path (Unigram), one word at a time, as it was worked out.

import { h, payloadView } from 'lab/client/dom.js';
import { plural, whole } from 'lab/client/format.js';

const RULES = {
  wordpiece: 'WordPiece takes the longest prefix of the word that is in the vocabulary, then the longest piece '
    + 'that continues it, marked with ##, and so on. If no piece matches, the word becomes [UNK].',
  bpe: 'Byte-pair encoding (BPE) starts from single bytes and repeatedly merges the adjacent pair that was learned '
    + 'first, until no learned pair is left. Ġ marks the space before a word.',
  unigram: 'Unigram takes the split with the largest sum of log-probabilities. Each line has the piece taken, after '
    + 'others that end at the same place, with the best sum up to there. ▁ marks the space before a word.',
};
// Of a word that is not in the vocabulary as a whole, and was not searched.
const WITHOUT_STEPS = {
  wordpiece: 'The word has more characters than WordPiece takes: it becomes [UNK] without a search.',
  bpe: 'None of its pairs was learned: its bytes stay single.',
};

export default payloadView('Type a sentence above to see how the tokenizer splits its words.',
  (content) => ({ algorithm, words, more }) => {
  // [UNK] may be typed.
  const isSplit = ({ word, pieces, unknown }) => pieces.length > 1 || (unknown && word !== pieces[0]);
  const entire = [...new Set(words.filter((word) => !isSplit(word)).map(({ word }) => word))];
  content.replaceChildren(h('p.quiet.rule', RULES[algorithm] ?? ''), h('div.list', ...words.filter(isSplit)
    .map(drawWord)), h('p.wholes', ...(entire.length ? [h('span.quiet', 'In the vocabulary as a whole: '),
    h('span.mono', entire.join('  '))] : [])), h('p.quiet', more ? `${plural(more, 'more word')} not shown.` : ''));
});

function drawWord({ word, pieces, steps, omitted, kind }) {
  const note = steps.length ? omitted && `${plural(omitted, 'more step')} not shown.` : WITHOUT_STEPS[kind];
  return h('details.card', h('summary', h('b', word), ' → ',
    h('span.pieces.line', ...pieces.map((piece) => h('span.piece.mono.small.card', piece)))),
    h('ol', ...steps.map(drawStep)), note ? h('p.quiet', note) : null);
}

/** A merge, or a search for the longest piece. */
function drawStep({ before, pair, rank, tried, found, skipped }) {
  if (pair) return h('li', h('span.mono.quiet', before.join(' ')), ' merge ', h('span.hit.mono', pair.join(' + ')),
    h('span.quiet', ` (merge rule ${whole(rank + 1)})`));
  const misses = found === null ? tried : tried.slice(0, -1);
  return h('li', ...misses.flatMap((piece) => [h('span.miss.mono.quiet.small', piece), ' ']),
    skipped ? h('span.quiet', `… ${whole(skipped)} more …`) : null,
    found === null ? ' no match: the word becomes ' : null, h('span.hit.mono', found ?? '[UNK]'));
}
