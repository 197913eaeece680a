// Layers: how a prediction comes about from layer to layer, and how large the vectors become.

export function mount(panel) {
  const { page } = panel;
  /** A chart that is about the selected token. */
  function ofSelected(label, id, question) {
    const drawing = panel.drawing('chart', label, { id });
    const part = panel.part([drawing.host], () => panel.show(drawing, question, { position: page.selected }));
    page.on('select', part.redraw);
  }

  ofSelected('Logit lens', 'lens', 'lens');
  ofSelected('Norms by layer', 'norms-by-layer', 'norms');
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
}
