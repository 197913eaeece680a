// The lessons' texts as nodes, and what a person has done so far: kept in this browser and nowhere else; in a workshop,
// for the room that it belongs to.

import { h } from 'lab/client/dom.js';
import { recall, remember } from 'lab/client/saving.js';

export const marked = (text) => text.split('`').map((part, at) => (at % 2 ? h('code', {}, part) : part));

export const paragraph = (text, attributes = {}) => h('p', attributes, ...marked(text));

/** What was measured, as bars. Shares that are all small are drawn against the largest of them. */
export function drawBars(caption, bars) {
  const most = Math.max(...bars.map(([, share]) => share));
  const top = most < 0.2 ? most : 1;
  return h('figure', { class: 'bars card' }, h('figcaption', { class: 'quiet small' }, caption),
    h('dl', {}, ...bars.map(([name, share, words]) => h('div', { class: 'bar-row' }, h('dt', {}, name),
      h('dd', { class: 'track', 'aria-hidden': 'true' },
        h('span', { class: 'fill', style: `width: ${(100 * share) / top}%` })),
      h('dd', { class: 'share' }, words)))));
}

const KEY = 'bertviz-lab-lessons';
const before = recall(KEY);

export const memory = {
  at: Number.isInteger(before.at) ? before.at : 1,
  chosen: before.chosen && typeof before.chosen === 'object' ? before.chosen : {},
  done: Array.isArray(before.done) ? before.done.filter(Number.isInteger) : [],
  room: String(before.room ?? ''),
  called: Number.isInteger(before.called) ? before.called : 0, // the number of the leader's last call that was followed
};
export const keep = (changes) => remember(KEY, Object.assign(memory, changes));
