// One sentence, set with textContent: it may quote what a person typed.

import { h } from 'lab/client/dom.js';

export default function notice(root, first) {
  root.classList.add('callout');
  const SIGNS = { error: '!', warning: '!', info: 'i', good: '✓' };
  const sign = h('span.sign', { 'aria-hidden': 'true' });
  const text = h('p.text');
  root.append(sign, h('div.grow', text));

  return function show(body) {
    root.hidden = !body;
    // Errors are read out at once, the rest when the reader pauses.
    root.setAttribute('role', body?.tone === 'error' ? 'alert' : 'status');
    root.dataset.tone = body?.tone ?? '';
    sign.textContent = SIGNS[body?.tone] ?? '';
    text.textContent = body?.text ?? '';
    return show;
  }(first);
}
