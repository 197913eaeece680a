// Layers: how a prediction comes about from layer to layer, how large the vectors become, and what they hold.

import { h, whileBusy } from 'lab/client/dom.js';
import { addProbes } from 'lab/views/layers/probes.js';

const LENSES = [['logit', 'logit lens'], ['tuned', 'tuned lens']];

export function mount(panel) {
  const { page } = panel;
  const lensSettings = panel.settings({ lens: 'logit' }, () => lens.redraw());
  const kind = lensSettings.field('lens', 'select', 'Lens', { id: 'lens-kind', options: LENSES });
  const chart = panel.drawing('chart', 'Logit lens', { id: 'lens' });
  const fit = panel.drawing('chart', 'Fit of the tuned lens', { id: 'lens-fit' });
  const fitButton = h('button.action', { id: 'lens-fit-button', onclick: fitLens }, 'Fit a tuned lens');
  const offer = h('p.quiet', { id: 'lens-offer', hidden: true },
    'No tuned lens has been fitted for this model. That trains an affine map for each layer, on the model\'s own text '
    + 'or a sample: up to two minutes. ', fitButton);

  const lens = panel.part([h('div.fields', kind.node), offer, chart.host, fit.host], async () => {
    const asked = { position: page.selected };
    const isTuned = lensSettings.values.lens === 'tuned';
    if (!isTuned) {
      offer.hidden = fit.host.hidden = true;
      chart.host.hidden = false;
      await panel.show(chart, 'lens', asked);
      return;
    }
    const answer = await panel.showParts({ lens: chart, fit }, panel.ask('tuned', asked)
      .then((known) => (lensSettings.values.lens === 'tuned' ? known : undefined)));
    if (answer) offer.hidden = Boolean(answer.lens);
  });

  async function fitLens() {
    fit.showIfAny({ message: 'Fitting …' });
    await whileBusy(fitButton, () => panel.ask('fit_lens').then(lens.redraw), fit.say);
  }

  const norms = panel.drawing('chart', 'Norms by layer', { id: 'norms-by-layer' });
  const byLayer = panel.part([norms.host], () => panel.show(norms, 'norms', { position: page.selected }));
  page.on('select', () => [lens, byLayer].forEach((part) => part.redraw()));

  const settings = panel.settings({ norms: 'hidden' }, () => strip.redraw());
  const KINDS = [['hidden', 'hidden state (output of the layer)'], ['attention', 'attention output'],
    ['feed_forward', 'feed-forward output']];
  const strip = panel.foldOf('token_norms', 'Norms of each token',
    ['tokens', 'Norms of each token', { id: 'norms-of-tokens', linked: true }], 'token_norms', {
      more: () => ({ of: settings.values.norms }),
      fields: () => [settings.field('norms', 'select', 'Norm of the', { id: 'norms-kind', options: KINDS })],
    });
  panel.foldOf('sum', 'Input embeddings: the vectors that are added',
    ['tokens', 'Input embeddings', { id: 'embedding-sum', linked: true }], 'embedding_sum');
  addProbes(panel);
}
