// Layers: how a prediction comes about from layer to layer, and how large the vectors become.

const settings = panel.settings({ norms: 'hidden' }, () => strip.redraw());
const position = () => ({ position: page.selected });

const predictions = panel.drawing('chart', 'Logit lens', { id: 'lens' });
const lens = panel.part([predictions.host], () => panel.show(predictions, 'lens', position()));
const lines = panel.drawing('chart', 'Norms by layer', { id: 'norms-by-layer' });
const norms = panel.part([lines.host], () => panel.show(lines, 'norms', position()));
const strip = panel.fold('token_norms', 'Norms of each token', (host) => {
  const tokens = panel.drawing('scores', 'Norms of each token', { id: 'norms-of-tokens', linked: true });
  const kind = settings.field('norms', 'select', 'Norm of the', { id: 'norms-kind', options: [
    ['hidden', 'hidden state (output of the layer)'], ['attention', 'attention output'], ['feed_forward', 'feed-forward output']] });
  host.append(h('div', { class: 'fields' }, kind.node), tokens.host);
  return () => panel.show(tokens, 'token_norms', { of: settings.values.norms });
});
panel.fold('sum', 'Input embeddings: the sum of three vectors', (host) => {
  const sum = panel.drawing('scores', 'token + segment + position', { id: 'embedding-sum', linked: true });
  host.append(sum.host);
  return () => panel.show(sum, 'embedding_sum');
});
page.on('select', () => [lens, norms].forEach((part) => part.redraw()));
