// Texts with one or two marked tokens and a number each, in groups: where a head attends, where a neuron fires.

import { h, payloadView, track, walkWithKeys } from 'lab/client/dom.js';
import { makeFrame, pictureOf } from 'lab/client/saving.js';

const MARKS = { from: 'attends', to: 'attended to' };

export default payloadView('Nothing has been found yet.', (content, { events, savePage }) => {
  let picks = []; // what is sent of each text
  const list = h('div.contexts');
  const walk = walkWithKeys(list, { items: () => [...list.querySelectorAll('.context')],
    choose: (place) => events.context_select?.(picks[place]) });
  const rows = ({ groups }) => [['group', 'value', 'text', 'marked'],
    ...groups.flatMap(({ name, items: of }) => of.map(({ parts, value }) => [name, value,
      parts.map(([text]) => text).join(''), parts.filter(([, mark]) => mark).map(([text]) => text).join(' → ')]))];
  const frame = makeFrame('the texts', { rows, savePage, picture: (title) => pictureOf(list, title) });
  content.append(...frame.top, list, frame.foot);

  const drawPart = ([text, mark]) => (mark ? h(`mark.${mark}`, { title: MARKS[mark] }, text) : text);

  const drawItem = ({ parts, value, words }) => h('button.context', { tabindex: '-1', dir: 'auto' },
    track(value, { 'aria-hidden': 'true' }), h('span.share', words), h('span.text', ...parts.map(drawPart)));

  return (body) => {
    frame.caption(body);
    picks = body.groups.flatMap(({ items }) => items.map(({ pick }) => pick));
    list.replaceChildren(...body.groups.map(({ name, items: of }) =>
      h('section', h('p.quiet.small.named', name), ...of.map(drawItem))));
    walk.moveTo(0, false);
  };
});
