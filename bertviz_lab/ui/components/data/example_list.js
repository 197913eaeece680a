// Examples under each other: what is true, what the model said and how sure it was, and the beginning of the text.

import { h, payloadView, setText, walkWithKeys } from 'lab/client/dom.js';
import { percent, whole } from 'lab/client/format.js';
import { saveDrawing } from 'lab/client/picture.js';

export default function exampleList(root, first, { label, events = {}, savePage } = {}) {
  const AT_ONCE = 50;
  const view = payloadView(root, label, 'No examples yet. They appear after the first evaluation.', show);
  const heading = h('p', { class: 'heading' });
  const sentence = h('p', { class: 'quiet' });
  const nothing = h('p', { class: 'empty' });
  const list = h('div', { class: 'list card', role: 'listbox' });
  const more = h('button', { type: 'button', class: 'more plain', onclick: showMore });
  const said = h('p', { class: 'hush', role: 'status' });
  let payload = null;
  let chosen = null; // index of the marked example
  let shown = 0;

  const buttons = saveDrawing('the examples', () => payload.file, { rows: fileRows, body: () => payload, savePage });
  view.content.append(h('div', { class: 'bar' }, heading, buttons), sentence, nothing, list, more, said);

  function show(body) {
    if (payload?.key !== body.key || !body.key) chosen = null;
    payload = body;
    heading.textContent = body.title;
    setText(sentence, body.sentence);
    setText(nothing, body.items.length ? '' : 'There are no examples of this kind.');
    list.hidden = buttons.hidden = body.items.length === 0;
    list.setAttribute('aria-label', body.title);
    list.replaceChildren();
    const marked = body.items.findIndex((item) => item.index === chosen);
    shown = 0;
    append(Math.max(AT_ONCE, marked + 1));
    list.scrollTo(0, 0);
    walk.moveTo(Math.max(0, marked), false);
  }

  /** Draw up to so many. */
  function append(goal) {
    const until = Math.min(goal, payload.items.length);
    list.append(...payload.items.slice(shown, until).map((item, place) => drawItem(item, shown + place)));
    shown = until;
    const left = payload.items.length - shown;
    setText(more, left && `Show ${whole(Math.min(AT_ONCE, left))} more of the ${whole(left)} left`);
  }

  function showMore() {
    const first = shown;
    append(shown + AT_ONCE);
    said.textContent = `${whole(shown)} of ${whole(payload.items.length)} are shown.`;
    walk.moveTo(first, true);
  }

  // ---- one example

  function drawItem(item, place) {
    const facts = item.facts.map(([name, value]) => h('span', { class: 'named' }, h('span', { class: 'quiet' },
      name && `${name} `),
      h(name ? 'b' : 'span', { dir: 'auto' }, value)));
    return h('div', { class: 'item', role: 'option', tabindex: '-1', 'data-place': place,
      'aria-selected': String(item.index === chosen), 'aria-setsize': payload.items.length, 'aria-posinset': place
        + 1 },
    h('p', { class: 'verdict line' }, typeof item.right === 'boolean' ? sign(item.right) : null, ...facts,
      Number.isFinite(item.probability) ? bar(item.probability) : null),
    ...(item.texts ?? []).map((text, at) => h('p', { class: at ? 'text two-lines second' : 'text two-lines',
      dir: 'auto' }, text)),
    item.words ? h('p', { class: 'words', dir: 'auto' }, ...item.words.flatMap((word) => [drawWord(...word), ' ']))
      : null,
    item.detail ? h('p', { class: 'quiet small cut', dir: 'auto' }, item.detail) : null);
  }

  /** Right or wrong, as a sign that needs no color. */
  const sign = (right) => h('span', { class: right ? 'sign right' : 'sign wrong', role: 'img', 'aria-label': right
    ? 'correct:' : 'wrong:' },
    right ? '✓' : '✗');

  const bar = (share) => h('span', { class: 'sure' }, h('span', { class: 'track', 'aria-hidden': 'true' },
    h('span', { class: 'fill', style: `width: ${100 * share}%` })), h('span', { class: 'share' }, percent(share)));

  /** A word with its label; under a wrong one the true label too. */
  function drawWord(word, truth, predicted) {
    const tag = (text) => h('span', { class: 'tag' }, text);
    if (truth !== predicted) {
      return h('span', { class: 'word wrong tinted' }, h('span', { class: 'said' }, word), ' ',
        tag(`${predicted}, not ${truth}`));
    }
    return truth === 'O' ? h('span', { class: 'word' }, word) : h('span', { class: 'word tagged tinted' }, word, ' ',
      tag(truth));
  }

  // ---- choosing

  const walk = walkWithKeys(list, { choose });
  list.addEventListener('click', (event) => {
    const node = event.target.closest('.item');
    if (node && !String(getSelection())) choose(Number(node.dataset.place)); // text can be marked for copying
  });

  function choose(place) {
    walk.moveTo(place, true);
    chosen = payload.items[place].index;
    for (const node of list.children) node.setAttribute('aria-selected', String(Number(node.dataset.place) === place));
    events.example_select?.({ index: chosen });
  }

  function fileRows() {
    const rows = payload.items.map(({ index, row, detail }) => ({ index, ...row, detail }));
    const names = [...new Set(rows.flatMap(Object.keys))];
    return [names, ...rows.map((row) => names.map((name) => row[name]))];
  }

  return view.start(first);
}
