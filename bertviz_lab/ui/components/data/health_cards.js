// The health report of a text: how it was read, warnings in full sentences, the rest folded.

import { h, payloadView } from 'lab/client/dom.js';
import { percent } from 'lab/client/format.js';

const SHOWN_READINGS = 3; // of files; more are folded
const EMPTY = 'Choose a corpus above: its statistics are reported here before anything is trained.';

export default payloadView(EMPTY, (content) => {
  const more = h('details');
  return ({ name, verdict, cards, warnings, frequent, reading }) => {
    const card = ([term, value, about]) => h('div.card', { title: about }, h('dt.quiet.small', term), h('dd', value),
      about ? h('dd.quiet.about', about) : null);
    const warning = (text) => h('li.callout', h('span.sign', { 'aria-hidden': 'true' }, '!'), h('span.grow', text));
    const readings = (texts) =>
      h('ul.reading', { hidden: !texts.length }, ...texts.map((text) => h('li.quiet.small', text)));
    content.replaceChildren(h('p.verdict', h('b', name), ` ${verdict}`), readings(reading.slice(0, SHOWN_READINGS)),
      h('ul.warnings', { hidden: !warnings.length }, ...warnings.map(warning)), more);
    more.replaceChildren(h('summary', 'Statistics'), h('dl.cards.tiles', ...cards.map(card)),
      h('p.quiet', 'Most frequent tokens, as shares of all tokens:'),
      h('ol.frequent.line', ...frequent.map(([token, share]) => h('li', h('span.mono', token), ` ${percent(share)}`))),
      readings(reading.slice(SHOWN_READINGS)));
  };
});
