// Texts with one or two marked tokens and a number each, in groups: where a head attends, where a neuron fires.

import { elements, h, payloadView, setText, track, walkWithKeys } from 'lab/client/dom.js';
import { pictureOf, saveDrawing } from 'lab/client/saving.js';

const MARKS = { from: 'attends', to: 'attended to' };

export default payloadView('Nothing has been found yet.', (content, { events, savePage }) => {
  let payload = null;

  const [heading, sentence, list, foot] = elements('p.heading', 'p.quiet', 'div.contexts', 'p.quiet.small');
  const items = () => [...list.querySelectorAll('.context')];
  const all = () => payload.groups.flatMap((group) => group.items);
  const choose = (place) => events.context_select?.(all()[place].pick);
  const walk = walkWithKeys(list, { items, choose });
  const rows = () => [['group', 'value', 'text', 'marked'],
    ...payload.groups.flatMap(({ name, items: of }) => of.map(({ parts, value }) => [name, value,
      parts.map(([text]) => text).join(''), parts.filter(([, mark]) => mark).map(([text]) => text).join(' → ')]))];
  const buttons = saveDrawing('the texts', () => payload.file, { rows, body: () => payload, savePage,
    picture: () => pictureOf(list, payload.title) });
  content.append(h('div.bar', heading, buttons), sentence, list, foot);

  const drawPart = ([text, mark]) => (mark ? h(`mark.${mark}`, { title: MARKS[mark] }, text) : text);

  function drawItem({ parts, value, words }, place) {
    const onclick = () => {
      walk.moveTo(place, false);
      choose(place);
    };
    return h('button.context', { tabindex: '-1', onclick, dir: 'auto' }, track(value, { 'aria-hidden': 'true' }),
      h('span.share', words), h('span.text', ...parts.map(drawPart)));
  }

  return (body) => {
    payload = body;
    let place = 0;
    setText(heading, body.title);
    setText(sentence, body.sentence);
    setText(foot, body.note);
    list.replaceChildren(...body.groups.map(({ name, items: of }) => h('section', h('p.quiet.small.named', name),
      ...of.map((item) => {
        place += 1;
        return drawItem(item, place - 1);
      }))));
    walk.moveTo(0, false);
  };
});
