// The findings report: numbered sentences, below each what it cannot show, and its picture.

import { elements, h, payloadView, setText } from 'lab/client/dom.js';
import { pictureOf, saveDrawing } from 'lab/client/saving.js';
import drawChart from 'lab/components/charts/chart.js';
import { figureOf } from 'lab/components/figures/index.js';
import drawTokens from 'lab/components/tokens/token_strip.js';

const PICTURES = { chart: drawChart, tokens: drawTokens };

export default payloadView('Nothing has been measured yet.', (content, { events, savePage }) => {
  let payload = null;

  const [heading, text, foot] = elements('p.heading', 'p.quiet', 'p.quiet.small');
  const list = h('ol.findings');
  const buttons = saveDrawing('the findings', () => payload.file, { body: () => payload, savePage,
    picture: () => pictureOf(list, payload.title),
    rows: () => [['finding', 'what it does not show'], ...payload.items.map((item) => [item.sentence, item.caveat])] });
  content.append(h('div.bar', heading, buttons), text, list, foot);

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
    payload = body;
    setText(heading, body.title);
    setText(text, body.text);
    setText(foot, body.note);
    list.replaceChildren(...body.items.map(drawItem));
  };
});
