// Layers: how a prediction comes about from layer to layer, and how large the vectors become.

import { h } from 'lab/client/dom.js';

export function mount(panel) {
  const { page } = panel;
  const settings = panel.settings({ norms: 'hidden' }, () => strip.redraw());
  const position = () => ({ position: page.selected });

  const predictions = panel.drawing('chart', 'Logit lens', { id: 'lens' });
  const lens = panel.part([predictions.host], () => panel.show(predictions, 'lens', position()));
  const lines = panel.drawing('chart', 'Norms by layer', { id: 'norms-by-layer' });
  const norms = panel.part([lines.host], () => panel.show(lines, 'norms', position()));
  const KINDS = [['hidden', 'hidden state (output of the layer)'], ['attention', 'attention output'],
    ['feed_forward', 'feed-forward output']];
  const strip = panel.foldOf('token_norms', 'Norms of each token',
    ['tokens', 'Norms of each token', { id: 'norms-of-tokens', linked: true }], 'token_norms', {
      more: () => ({ of: settings.values.norms }),
      above: () => [h('div.fields', settings.field('norms', 'select', 'Norm of the',
        { id: 'norms-kind', options: KINDS }).node)],
    });
  panel.foldOf('sum', 'Input embeddings: the vectors that are added',
    ['tokens', 'Input embeddings', { id: 'embedding-sum', linked: true }], 'embedding_sum');
  page.on('select', () => [lens, norms].forEach((part) => part.redraw()));
}
