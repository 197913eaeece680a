// All heads of several models on one text. Rows are the tokens that look, columns those looked at.

import { onThemeChange } from 'lab/client/colors.js';
import { h, payloadView } from 'lab/client/dom.js';
import { percent } from 'lab/client/format.js';
import { pictureOf, saveDrawing } from 'lab/client/picture.js';
import { NO_LENS, headWeights, readAttention } from 'lab/components/attention/attention_data.js';
import { makeOverview } from 'lab/components/attention/attention_overview.js';

export default function headsBeside(root, first, { label } = {}) {
  const view = payloadView(root, label, 'Press Predict: the heads of every model are shown here.', show);
  const host = h('div', { class: 'models tiles' });
  const readout = h('p', { class: 'readout', 'aria-live': 'polite' });
  let made = [];
  view.content.append(h('div', { class: 'bar' }, h('p', { class: 'heading' }, 'Attention of every head'),
    saveDrawing('the heads', () => 'heads', { picture: () => pictureOf(host) })),
  h('p', { class: 'quiet' },
    'Each square is a head: rows are attending tokens, columns are the tokens attended to, brighter is more weight '
    + '(square-root scale).'), host, readout);

  function show(body) {
    readout.replaceChildren(h('span', { class: 'quiet' },
      'Choose a head, by a click or the arrow keys, to read what it attends to.'));
    made = body.grids.map((text, place) => {
      const data = readAttention({ ...JSON.parse(text), title: body.names[place] });
      const grid = h('div', { class: 'grid', role: 'grid', 'aria-label': `Heads of ${body.names[place]}` });
      const overview = makeOverview(grid, (layer, head) => {
        overview.mark(layer, head);
        readout.textContent = `${body.names[place]}, layer ${layer + 1}, head ${head + 1}: ${strongest(data, layer,
          head)}`;
      }, () => {});
      const node = h('div', { class: 'model' }, h('p', { class: 'heading' }, body.names[place]), grid);
      return { overview, node, data };
    });
    host.replaceChildren(...made.map(({ node }) => node));
    for (const { overview, data } of made) {
      overview.show(data, { scale: 'sqrt', lens: NO_LENS, order: '' });
      overview.mark(0, 0);
    }
  }

  /** The three largest weights of a head, in words. */
  function strongest(data, layer, head) {
    const weights = headWeights(data, layer, head);
    const places = [...weights.keys()].sort((one, other) => weights[other] - weights[one]).slice(0, 3);
    return places.map((place) =>
      `${data.tokens[Math.floor(place / data.size)]} → ${data.tokens[place % data.size]} ${percent(weights[place],
      0)}`).join(', ');
  }

  onThemeChange(root, () => made.forEach(({ overview, data }) => overview.show(data, { scale: 'sqrt', lens: NO_LENS,
    order: '' })));

  return view.start(first);
}
