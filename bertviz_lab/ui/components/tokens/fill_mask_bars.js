// The sentence with its blanks, and for each blank the likeliest tokens as bars.

import { barRow, h, payloadView } from 'lab/client/dom.js';
import { percent, plural, readable, short, whole } from 'lab/client/format.js';
import { pictureOf, saveDrawing } from 'lab/client/saving.js';

export default payloadView('Type a text with [MASK] in it.',
  (content, { events, selection, savePage, captionOf }) => {
  let payload = null;
  let blanks = new Map(); // position -> place among the masks
  let filled = new Map(); // position -> candidate put into the blank

  const sentence = h('div.sentence', { dir: 'auto', role: 'group',
    'aria-label': 'The sentence; click a word to mask it' });
  const hint = h('p.quiet.small', { 'data-noexport': '' },
    'Click a prediction to read it in the sentence. Click a word of the sentence to mask or unmask it.');
  const said = h('p.hush', { 'aria-live': 'polite' });
  const lists = h('div.blanks.tiles');
  const buttons = saveDrawing('the predictions', () => 'fill-mask', {
    picture: () => pictureOf(picture),
    rows: () => [['masked_token', 'position', 'rank', 'token', 'id', 'probability'],
      ...payload.masks.flatMap(({ position, candidates }, blank) =>
      candidates.map(({ token, id, probability }, rank) => [blank + 1, position, rank + 1, token, id, probability]))],
    body: () => payload,
    savePage,
    captionOf,
  });
  const picture = h('div', h('div.top.line', sentence, buttons), lists);
  content.append(picture, hint, said);

  function show(body) {
    const isSame = payload && JSON.stringify(payload.columns) === JSON.stringify(body.columns);
    payload = body;
    blanks = new Map(body.masks.map((mask, blank) => [mask.position, blank]));
    // The same sentence asked of another model keeps nothing: its candidates are others.
    const isOffered = ([position, { id }]) => body.masks[blanks.get(position)]?.candidates
      .some((other) => other.id === id);
    if (!isSame || ![...filled].every(isOffered)) filled = new Map();
    drawSentence();
    lists.replaceChildren(...(body.masks.length ? body.masks.map(drawBlank)
      : [h('p.quiet', 'There is no masked token in this sentence.')]));
  }

  function drawSentence() {
    const focused = sentence.contains(document.activeElement) ? document.activeElement.dataset.position : null;
    const nodes = [];
    payload.columns.forEach((column, position) => {
      if (column.special || !column.mask) {
        // The seam between sentence A and B is worth a sign; the other special tokens are not.
        const next = payload.columns[position + 1];
        if (position && next?.mask && !next.special) nodes.push(h('span.seam.quiet', '|'));
        return;
      }
      if (!column.surface) return; // a space alone, or the rest of a character of several tokens
      // As in the person's text; none before a filled-in word ending.
      if (nodes.length && column.spaced && !filled.get(position)?.token.startsWith('##')) nodes.push(' ');
      nodes.push(blanks.has(position) ? drawHole(position) : drawWord(column, position));
    });
    sentence.replaceChildren(...nodes);
    selection.mark();
    if (focused !== null) sentence.querySelector(`[data-position="${focused}"]`)?.focus();
  }

  const drawWord = ({ token, surface }, position) => h('button.word', { 'data-position': position,
    title: 'Mask this word', onclick: () => events.toggle_mask?.({ position, token, masked: true }) }, surface);

  /** "Predictions", or with several masked tokens "Predictions for masked token 2". */
  const named = (one, many, blank) => (payload.masks.length === 1 ? one : `${many} ${blank + 1}`);

  function drawHole(position) {
    const candidate = filled.get(position);
    const name = named('masked token', 'masked token', blanks.get(position));
    const text = candidate ? readable(candidate.token) : name;
    return h(candidate ? 'button.hole.full.tinted' : 'button.hole', { 'data-position': position,
      'aria-label': candidate ? `${name}, filled with ${text}` : name, title: 'Unmask this word',
      onclick: () => events.toggle_mask?.({ position, token: '[MASK]', masked: false }) }, text);
  }

  function drawBlank({ position, candidates, asked }, blank) {
    const total = candidates.reduce((sum, candidate) => sum + candidate.probability, 0);
    const rows = candidates.map((candidate) => {
      const { token, id, probability } = candidate;
      const name = token.replace(/^[Ġ▁]/u, '') || token;
      return barRow(h('span.mono', name), probability, percent(probability), 'button.bar-row.candidate',
        { 'data-id': id, title: `token ${token}, id ${id}`, 'aria-pressed': String(filled.get(position)?.id === id),
        'aria-label': `${name}, ${percent(probability)}`, onclick: () => choose(position, candidate) });
    });
    const others = payload.vocab_size ? payload.vocab_size - candidates.length : 0;
    const rest = `Together ${percent(total)}; the other ${percent(Math.max(0, 1 - total))} is spread over `
      + `${others > 0 ? `the other ${plural(others, 'token')}` : 'the rest'} of the vocabulary.`;
    const title = named('Predictions', 'Predictions for masked token', blank);
    const rank = asked && `${whole(asked.rank)}${payload.vocab_size ? ` of ${whole(payload.vocab_size)}` : ''}`;
    return h('div.blank', { role: 'group', 'aria-label': title, 'data-mask': position }, h('p.heading', title),
      ...rows, h('p.quiet.small', rest), asked && h('p.small.asked', h('b.mono', asked.token),
      ` has ${short(100 * asked.probability)}%: rank ${rank}.`)); // of the word that a person named
  }

  function choose(position, candidate) {
    const again = filled.get(position)?.id === candidate.id;
    if (again) filled.delete(position);
    else filled.set(position, candidate);
    for (const button of lists.querySelectorAll(`[data-mask="${position}"] .candidate`)) {
      button.setAttribute('aria-pressed', String(!again && Number(button.dataset.id) === candidate.id));
    }
    drawSentence();
    said.textContent = again ? 'The word is masked again.' : `The sentence now reads: ${sentence.textContent}`;
  }

  return show;
});
