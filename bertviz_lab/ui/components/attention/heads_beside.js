// All heads of several models on one text. Rows are the tokens that look, columns those looked at.

import { onThemeChange } from 'lab/client/colors.js';
import { h, payloadView } from 'lab/client/dom.js';
import { percent } from 'lab/client/format.js';
import { pictureOf, saveDrawing } from 'lab/client/saving.js';
import { NO_LENS, headWeights, readAttention } from 'lab/components/attention/attention_data.js';
import { makeOverview } from 'lab/components/attention/attention_overview.js';

export default payloadView('Press Predict: the heads of every model are shown here.', (content, options, root) => {
  const LOOK = { scale: 'sqrt', lens: NO_LENS, order: '' };
  const host = h('div.models.tiles');
  const readout = h('p.readout', { 'aria-live': 'polite' });
  let made = []; // {overview, data}
  const buttons = saveDrawing('the heads', () => 'heads', { picture: () => pictureOf(host) });
  const about = h('p.quiet', 'Each square is a head: rows are attending tokens, columns are the tokens attended to, '
    + 'brighter is more weight (square-root scale).');
  content.append(h('div.bar', h('p.heading', 'Attention of every head'), buttons), about, host, readout);
  const draw = () => made.forEach(({ overview, data }) => overview.show(data, LOOK));
  onThemeChange(root, draw);

  /** The three largest weights of a head, in words. */
  function strongest(data, layer, head) {
    const weights = headWeights(data, layer, head);
    const places = [...weights.keys()].sort((one, other) => weights[other] - weights[one]).slice(0, 3);
    const [from, to] = [(place) => data.tokens[Math.floor(place / data.size)],
      (place) => data.tokens[place % data.size]];
    return places.map((place) => `${from(place)} → ${to(place)} ${percent(weights[place], 0)}`).join(', ');
  }

  return ({ grids, names }) => {
    readout.replaceChildren(h('span.quiet',
      'Choose a head, by a click or the arrow keys, to read what it attends to.'));
    const hosts = names.map((name) => h('div.grid', { role: 'grid', 'aria-label': `Heads of ${name}` }));
    host.replaceChildren(...names.map((name, place) => h('div.model', h('p.heading', name), hosts[place])));
    made = grids.map((text, place) => {
      const data = readAttention({ ...JSON.parse(text), title: names[place] });
      const overview = makeOverview(hosts[place], (layer, head) => {
        overview.mark(layer, head);
        readout.textContent = `${names[place]}, layer ${layer + 1}, head ${head + 1}: ${strongest(data, layer, head)}`;
      }, () => {});
      return { overview, data };
    });
    draw();
    made.forEach(({ overview }) => overview.mark(0, 0));
  };
});
