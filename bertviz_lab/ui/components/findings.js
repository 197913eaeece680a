// The findings report: numbered sentences, below each what it cannot show, and its picture.

import { h, payloadView } from 'lab/client/dom.js';
import { makeFrame, pictureOf } from 'lab/client/saving.js';
import drawChart from 'lab/components/charts/chart.js';
import { figureOf } from 'lab/components/figures/index.js';
import drawTokens from 'lab/components/tokens/token_strip.js';

const PICTURES = { chart: drawChart, tokens: drawTokens };

export default payloadView('Nothing has been measured yet.', (content, { events, savePage }) => {
  const list = h('ol.findings');
  const frame = makeFrame('the findings', { savePage, picture: (title) => pictureOf(list, title), rows: ({ items }) =>
    [['finding', 'what it does not show'], ...items.map(({ sentence, caveat }) => [sentence, caveat])] });
  content.append(...frame.top, list, frame.foot);

  function drawItem({ sentence, caveat, picture, place }) {
    const host = h(`section.lab.lab-${picture?.kind}`);
    let drawn = false;
    const ontoggle = () => {
      if (!drawn) PICTURES[picture.kind](host, figureOf(JSON.parse(picture.payload)), {});
      drawn = true;
    };
    const open = events.open && h('button.plain', { 'data-noexport': '', onclick: () => events.open(place) },
      'Open its panel');
    return h('li', h('p', sentence), h('p.quiet.small', caveat), open,
      picture ? h('details.fold', { ontoggle }, h('summary', 'Picture'), host) : null);
  }

  return (body) => {
    frame.caption(body);
    list.replaceChildren(...body.items.map(drawItem));
  };
});
