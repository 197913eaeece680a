// Facts as they are read: "2 layers · hidden size 128 ...", each next to its name.

import { elements, h, setText } from 'lab/client/dom.js';

export default function facts(root, first, { label, empty } = {}) {
  Object.assign(root, { role: 'group', ariaLabel: label ?? 'Facts' });
  const [lead, list] = elements('p.lead', 'dl.line');
  const note = h('p.note.quiet', { role: 'status' });
  const more = h('details.fold');
  root.append(lead, list, note, more);

  return function show(payload) {
    const { items = [], lead: above = '', note: words, message, more: folded, tone = 'plain' } = payload ?? {};
    list.replaceChildren(...items.map(([name, value]) => h('div.fact', h('dt.quiet', name), h('dd', value))));
    list.hidden = !items.length;
    setText(lead, above);
    setText(note, words ?? message ?? (items.length ? '' : empty));
    note.dataset.tone = tone;
    more.hidden = !folded;
    if (folded) more.replaceChildren(h('summary', folded.title), ...folded.lines.map((line) => h('p', line)));
    return show;
  }(first);
}
