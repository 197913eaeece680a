// Facts as they are read: "2 layers · hidden size 128 ...", each next to its name.

import { h, setText } from 'lab/client/dom.js';

export default function facts(root, first, { label, empty } = {}) {
  root.setAttribute('role', 'group');
  root.setAttribute('aria-label', label ?? 'Facts');
  const list = h('dl.line');
  const note = h('p.note.quiet', { role: 'status' });
  const more = h('details.fold', { hidden: true });
  root.append(list, note, more);

  return function show(payload) {
    const body = payload ?? {};
    const items = body.items ?? [];
    list.replaceChildren(...items.map(([name, value]) => h('div.fact', h('dt.quiet', name), h('dd', value))));
    list.hidden = items.length === 0;
    setText(note, body.note ?? body.message ?? (items.length ? '' : empty ?? ''));
    more.hidden = !body.more;
    more.replaceChildren(h('summary', body.more?.title ?? ''), ...(body.more?.lines ?? []).map((line) => h('p', line)));
    note.dataset.tone = body.tone ?? 'plain';
    return show;
  }(first);
}
