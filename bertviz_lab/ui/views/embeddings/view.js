// Embeddings: which sentences are similar, which tokens are neighbours, and how context changes a word's vector.

import { h } from 'lab/client/dom.js';

export function mount(panel) {
  const { page } = panel;
  const TYPING = 500; // milliseconds without a key until what was typed is compared
  const settings = panel.settings({ sentences: '', pooling: 'auto' }, () => {
    similarity.redraw();
    map.redraw();
  });
  const word = panel.settings({ word: '' }, () => near.redraw());
  const shared = panel.settings({ common: '' }, () => contexts.redraw());
  const compared = () => ({ lines: settings.values.sentences, pooling: settings.values.pooling });

  const table = panel.drawing('chart', 'Cosine similarity of the sentences', { id: 'similarity' });
  const sentences = settings.field('sentences', 'textarea',
    'Sentences, one per line (at most 20); empty: the texts above and examples', { id: 'similarity-sentences',
    rows: 5, rest: TYPING });
  const pooling = settings.field('pooling', 'select', 'Sentence embedding', { id: 'similarity-pooling',
    options: [['auto', "the model's own pooling"], ['mean', 'mean pooling'], ['cls', '[CLS] pooling']] });
  const similarity = panel.part([h('div.fields', sentences.node, pooling.node), table.host], async () => {
    panel.ask('sentences').then((text) => {
      if (text && !settings.values.sentences) sentences.input.placeholder = text;
    }, () => {});
    await panel.show(table, 'similarity', compared());
  });
  const map = panel.foldOf('map', 'Map (PCA)', ['chart', 'Map of the sentences (PCA)', { id: 'sentence-map' }],
    'sentence_map', { more: compared });
  const near = panel.foldOf('neighbours', 'Nearest neighbors of a word', ['chart', 'Nearest neighbors',
    { id: 'neighbours' }], 'neighbours', {
    more: () => word.values,
    fields: () => [word.field('word', 'text', 'Word, or click a token', { id: 'neighbours-word' })],
  });
  const contexts = panel.fold('contexts', 'One word in two contexts', (host) => {
    const similar = panel.drawing('chart', 'Similarity by layer', { id: 'contexts-similarity' });
    const path = panel.drawing('chart', 'Trajectory through the layers', { id: 'contexts-path' });
    const common = shared.field('common', 'text', 'Word in both texts', { id: 'contexts-word' });
    const texts = h('p.quiet', { id: 'contexts-texts' });
    host.append(h('div.fields', common.node), texts, similar.host, path.host);
    return async () => {
      const answer = await panel.showParts({ similarity: similar, path },
        panel.ask('contexts', { word: shared.values.common }));
      if (!answer?.path) return;
      common.input.placeholder = answer.word;
      texts.replaceChildren('A: ', answer.text_a, h('br'), 'B: ', answer.text_b,
        page.input.text_b.trim() ? '' : ' (an example: type text B for a comparison of your own)');
    };
  });

  // A selected token is the word whose neighbours are asked for.
  page.on('select', async (position) => {
    if (position === null) return;
    const token = await panel.ask('token_at', { position }).catch(() => undefined);
    if (token) word.change({ word: token });
  });
}
