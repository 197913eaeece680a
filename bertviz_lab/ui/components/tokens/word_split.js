// Greedy longest match (WordPiece), merges (BPE) or the best path (Unigram), one word at a time, as it was worked out.

import { h, payloadView } from 'lab/client/dom.js';
import { plural, whole } from 'lab/client/format.js';

export default payloadView('Type a sentence above to see how the tokenizer splits its words.',
  (content) => ({ rule, words, entire, more }) => content.replaceChildren(h('p.quiet.rule', rule),
  h('div.list', ...words.map(drawWord)), h('p.wholes', ...(entire.length ? [
    h('span.quiet', 'In the vocabulary as a whole: '), h('span.mono', entire.join('  '))] : [])),
  h('p.quiet', more ? `${plural(more, 'more word')} not shown.` : '')));

function drawWord({ word, pieces, steps, note }) {
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
