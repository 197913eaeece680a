// The health report of a text: a few large numbers, warnings in full sentences, the rest folded.

import { h, payloadView } from 'lab/client/dom.js';
import { percent } from 'lab/client/format.js';

export default function healthCards(root, first, { label } = {}) {
  const view = payloadView(root, label,
    'Choose a corpus above: its statistics are reported here before anything is trained.', show);
  const verdict = h('p', { class: 'verdict' });
  const cards = h('dl', { class: 'cards tiles' });
  const warnings = h('ul', { class: 'warnings' });
  const frequent = h('ol', { class: 'frequent line' });
  const reading = h('ul', { class: 'reading' });
  const more = h('details', {}, h('summary', {}, 'More statistics'),
    h('p', { class: 'quiet' }, 'Most frequent tokens, as shares of all tokens:'), frequent, reading);
  view.content.append(verdict, cards, warnings, more);

  function show(body) {
    verdict.replaceChildren(h('b', {}, body.name), ` ${body.verdict}`);
    cards.replaceChildren(...body.cards.map(([name, value, about]) => h('div', { class: 'card', title: about },
      h('dt', { class: 'quiet small' }, name), h('dd', {}, value), about ? h('dd', { class: 'quiet about' }, about)
        : null)));
    warnings.replaceChildren(...body.warnings
      .map((text) => h('li', { class: 'callout' }, h('span', { class: 'sign', 'aria-hidden': 'true' }, '!'),
      h('span', { class: 'grow' }, text))));
    warnings.hidden = body.warnings.length === 0;
    frequent.replaceChildren(...body.frequent.map(([token, share]) => h('li', {}, h('span', { class: 'mono' }, token),
      ` ${percent(share)}`)));
    reading.replaceChildren(...body.reading.map((text) => h('li', { class: 'quiet' }, text)));
  }

  return view.start(first);
}
