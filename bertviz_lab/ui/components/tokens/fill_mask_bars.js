// The sentence with its blanks, and for each blank the likeliest tokens as bars.

import { NO_SELECTION, barRow, h, payloadView } from 'lab/client/dom.js';
import { percent, plural, short, whole } from 'lab/client/format.js';
import { pictureOf, saveDrawing } from 'lab/client/picture.js';

export default function fillMaskBars(root, first, { label, events = {}, selection = NO_SELECTION, savePage } = {}) {
  const view = payloadView(root, label, 'Write a sentence with [MASK] in it, then press Predict.', show);
  const sentence = h('div', { class: 'sentence', role: 'group',
    'aria-label': 'The sentence; click a word to mask it' });
  const hint = h('p', { class: 'quiet small', 'data-noexport': '' },
    'Click a prediction to read it in the sentence. Click a word of the sentence to mask or unmask it.');
  const said = h('p', { class: 'hush', 'aria-live': 'polite' });
  const lists = h('div', { class: 'blanks tiles' });
  const picture = h('div');
  let payload = null;
  let blanks = new Map(); // position -> place among the masks
  let filled = new Map(); // position -> candidate put into the blank
  let selected = null; // the token that is selected in all panels

  const buttons = saveDrawing('the predictions', () => 'fill-mask', {
    picture: () => pictureOf(picture),
    rows: () => [['masked_token', 'position', 'rank', 'token', 'id', 'probability'],
      ...payload.masks.flatMap((mask, blank) => mask.candidates.map((candidate, rank) =>
        [blank + 1, mask.position, rank + 1, candidate.token, candidate.id, candidate.probability]))],
    body: () => payload,
    savePage,
  });
  picture.append(h('div', { class: 'top line' }, sentence, buttons), lists);
  view.content.append(picture, hint, said);

  /** A token as it reads inside a sentence: the marks of WordPiece and of byte-level BPE are for the tokenizer. */
  const plainToken = (token) => token.replace(/^##/, '').replace(/^[Ġ▁]/u, '');

  function show(body) {
    const same = payload && JSON.stringify(payload.columns) === JSON.stringify(body.columns);
    payload = body;
    blanks = new Map(body.masks.map((mask, blank) => [mask.position, blank]));
    // The same sentence asked of another model keeps nothing: its candidates are others.
    if (!same || ![...filled].every(([position, candidate]) => body.masks[blanks.get(position)]?.candidates
      .some((other) => other.id === candidate.id))) filled = new Map();
    drawSentence();
    lists.replaceChildren(...body.masks.map(drawBlank));
    if (!body.masks.length) lists.replaceChildren(h('p', { class: 'quiet' },
      'There is no masked token in this sentence.'));
  }

  function drawSentence() {
    const focused = sentence.contains(document.activeElement) ? document.activeElement.dataset.position : null;
    const nodes = [];
    payload.columns.forEach((column, position) => {
      if (column.special || !column.mask) {
        // The seam between sentence A and B is worth a sign; the other special tokens are not.
        const next = payload.columns[position + 1];
        if (position && next?.mask && !next.special) nodes.push(h('span', { class: 'seam quiet' }, '|'));
        return;
      }
      if (!column.surface) return; // a space alone, or the rest of a character of several tokens
      if (nodes.length && spaced(column, position)) nodes.push(' ');
      nodes.push(blanks.has(position) ? drawHole(position) : drawWord(column, position));
    });
    sentence.replaceChildren(...nodes);
    markSelected();
    if (focused !== null) sentence.querySelector(`[data-position="${focused}"]`)?.focus();
  }

  /** The token that is selected in every panel is marked. */
  function markSelected() {
    for (const node of sentence.querySelectorAll('[data-position]')) node.classList.toggle('selected',
      Number(node.dataset.position) === selected);
  }
  selection.follow((position) => {
    selected = position;
    markSelected();
  });

  /** Whether a space goes before this token: as in the person's text, and none before a filled-in word ending. */
  function spaced(column, position) {
    if (filled.get(position)?.token.startsWith('##')) return false;
    return column.spaced;
  }

  function drawWord(column, position) {
    return h('button', { type: 'button', class: 'word', 'data-position': position, title: 'Mask this word',
      onclick: () => events.toggle_mask?.({ position, token: column.token, masked: true }) }, column.surface);
  }

  function drawHole(position) {
    const blank = blanks.get(position) + 1;
    const candidate = filled.get(position);
    const name = payload.masks.length === 1 ? 'masked token' : `masked token ${blank}`;
    const text = candidate ? plainToken(candidate.token) : name;
    return h('button', { type: 'button', class: candidate ? 'hole full tinted' : 'hole', 'data-position': position,
      'aria-label': candidate ? `${name}, filled with ${text}` : name, title: 'Unmask this word',
      onclick: () => events.toggle_mask?.({ position, token: '[MASK]', masked: false }) }, text);
  }

  function drawBlank(mask, blank) {
    const total = mask.candidates.reduce((sum, candidate) => sum + candidate.probability, 0);
    const rows = mask.candidates.map((candidate) => {
      const name = candidate.token.replace(/^[Ġ▁]/u, '') || candidate.token;
      return barRow(h('span', { class: 'mono' }, name), candidate.probability, percent(candidate.probability), 'button',
        {
        type: 'button', class: 'candidate', 'data-id': candidate.id,
          title: `token ${candidate.token}, id ${candidate.id}`,
        'aria-pressed': String(filled.get(mask.position)?.id === candidate.id),
        'aria-label': `${name}, ${percent(candidate.probability)}`, onclick: () => choose(mask, candidate) });
    });
    const others = payload.vocab_size ? payload.vocab_size - mask.candidates.length : 0;
    const rest = `Together ${percent(total)}; the other ${percent(Math.max(0, 1 - total))} is spread over `
      + `${others > 0 ? `the other ${plural(others, 'token')}` : 'the rest'} of the vocabulary.`;
    const title = payload.masks.length === 1 ? 'Predictions' : `Predictions for masked token ${blank + 1}`;
    return h('div', { class: 'blank', role: 'group', 'aria-label': title, 'data-mask': mask.position },
      h('p', { class: 'heading' }, title), ...rows, h('p', { class: 'quiet small' }, rest), askedWords(mask));
  }

  /** The rank of the word that a person named. */
  function askedWords({ asked }) {
    if (!asked) return null;
    const place = `${whole(asked.rank)}${payload.vocab_size ? ` of ${whole(payload.vocab_size)}` : ''}`;
    return h('p', { class: 'small asked' }, h('b', { class: 'mono' }, asked.token),
      ` has ${short(100 * asked.probability)}%: rank ${place}.`);
  }

  function choose(mask, candidate) {
    const again = filled.get(mask.position)?.id === candidate.id;
    if (again) filled.delete(mask.position);
    else filled.set(mask.position, candidate);
    for (const button of lists.querySelectorAll(`[data-mask="${mask.position}"] .candidate`)) {
      button.setAttribute('aria-pressed', String(!again && Number(button.dataset.id) === candidate.id));
    }
    drawSentence();
    said.textContent = again ? 'The word is masked again.' : `The sentence now reads: ${sentence.textContent}`;
  }

  return view.start(first);
}
