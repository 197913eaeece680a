// Examples under each other: what is true, what the model said and how sure it was, and the beginning of the text.

import { h, payloadView, setText, track, walkWithKeys } from 'lab/client/dom.js';
import { percent } from 'lab/client/format.js';
import { makeFrame, rowsOf } from 'lab/client/saving.js';

export default payloadView('No examples yet. They appear after the first evaluation.',
  (content, { events, server, savePage, captionOf }) => {
  let payload = null;
  let chosen = null; // index of the marked example

  const nothing = h('p.empty');
  const list = h('div.list.card.box', { role: 'listbox' });
  const frame = makeFrame('the examples', { savePage, captionOf, rows: async ({ items }) =>
    rowsOf(await server?.rows?.() ?? items.map(({ row, detail }) => ({ ...row, detail }))) });
  const walk = walkWithKeys(list, { choose });
  content.append(...frame.top, nothing, list);

  function show(body) {
    if (payload?.key !== body.key || !body.key) chosen = null;
    payload = body;
    frame.caption(body);
    setText(nothing, body.items.length ? '' : 'There are no examples of this kind.');
    list.hidden = frame.buttons.hidden = body.items.length === 0;
    list.setAttribute('aria-label', body.title);
    list.replaceChildren(...body.items.map(drawItem));
    list.scrollTo(0, 0);
    walk.moveTo(Math.max(0, body.items.findIndex((item) => item.index === chosen)), false);
  }

  function drawItem({ index, right, facts, probability, texts = [], words, detail }) {
    // Right or wrong, as a sign that needs no color.
    const sign = typeof right !== 'boolean' ? null : h(right ? 'span.sign.right' : 'span.sign.wrong',
      { role: 'img', 'aria-label': right ? 'correct:' : 'wrong:' }, right ? '✓' : '✗');
    const named = facts.map(([name, value]) =>
      h('span.named', h('span.quiet', name && `${name} `), h(name ? 'b' : 'span', { dir: 'auto' }, value)));
    const sure = Number.isFinite(probability)
      ? h('span.sure', track(probability, { 'aria-hidden': 'true' }), h('span.share', percent(probability))) : null;
    return h('div.item', { role: 'option', tabindex: '-1', 'aria-selected': String(index === chosen) },
      h('p.verdict.line', sign, ...named, sure),
      ...texts.map((text, at) => h(at ? 'p.text.two-lines.second' : 'p.text.two-lines', { dir: 'auto' }, text)),
      words ? h('p.words', { dir: 'auto' }, ...words.flatMap((word) => [drawWord(...word), ' '])) : null,
      detail ? h('p.quiet.small.cut', { dir: 'auto' }, detail) : null);
  }

  /** A word with its label; under a wrong one the true label too. */
  function drawWord(word, truth, predicted) {
    const tag = (text) => h('span.tag', text);
    if (truth !== predicted)
      return h('span.word.wrong.tinted', h('span.said', word), ' ', tag(`${predicted}, not ${truth}`));
    return truth === 'O' ? h('span.word', word) : h('span.word.tagged.tinted', word, ' ', tag(truth));
  }

  function choose(place, { type }) {
    if (type === 'click' && String(getSelection())) return; // text can be marked for copying
    walk.moveTo(place, true);
    chosen = payload.items[place].index;
    [...list.children].forEach((node, at) => node.setAttribute('aria-selected', String(at === place)));
    events.example_select?.({ index: chosen });
  }

  return show;
});
