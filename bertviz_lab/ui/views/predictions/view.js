// Predictions: what the model makes of the text. Which parts there are depends on the model's heads.

import { h, setText } from 'lab/client/dom.js';
import { makeMaskedWords } from 'lab/views/predictions/masked_words.js';

export function mount(panel) {
  const { page } = panel;
  const masked = makeMaskedWords(page);
  const settings = panel.settings({ top_k: 5, word: '' }, () => mlm.redraw());
  const bars = panel.drawing('fill', 'Masked-token predictions', { id: 'fill-bars', linked: true,
    events: { toggle_mask: ({ position }) => masked.toggle(position).catch(({ message }) => mlm.say(message)) } });
  const chart = (label, id) => panel.drawing('chart', label, { id });
  const passage = panel.drawing('marked', 'Predictions in the text', { id: 'task-marked' });
  const labels = chart('Prediction', 'task-labels');
  const verdict = chart('Next-sentence prediction', 'nsp-verdict');
  const comparison = chart('Two models', 'fill-comparison');
  const nspHint = h('p.quiet', 'Type text B to predict whether it follows text A (next-sentence prediction, NSP).');
  const topK = settings.field('top_k', 'range', 'Predictions per masked token (top k)',
    { min: 1, max: 20, step: 1, id: 'fill-top-k' });
  const word = settings.field('word', 'text', 'Probability of this word', { id: 'fill-word' });
  const knobs = h('div.fields', topK.node, word.node);

  const lacking = h('p.quiet', { hidden: true });
  panel.part([lacking, labels.host, passage.host], async () => {
    const { task: architecture, note } = await heads().catch((error) => {
      for (const node of [lacking, labels.host, passage.host]) node.hidden = true; // they are about another model
      throw error;
    });
    setText(lacking, note);
    labels.host.hidden = architecture !== 'BertForSequenceClassification';
    passage.host.hidden = !architecture || !labels.host.hidden;
    if (architecture) await panel.show(labels.host.hidden ? passage : labels, 'task');
  });
  const mlm = panel.part([bars.host, knobs], async () => {
    const able = (await headsIfAny()).mlm;
    const appearing = folds.filter(({ node }) => able && node.hidden);
    for (const node of [bars.host, knobs, ...folds.map((fold) => fold.node)]) node.hidden = !able;
    appearing.forEach((fold) => fold.redraw());
    if (able) await panel.show(bars, 'mlm', settings.values);
  });
  panel.part([verdict.host, nspHint], async () => {
    const able = (await headsIfAny()).nsp;
    const pair = able && page.input.text_b.trim() !== '';
    verdict.host.hidden = !pair;
    nspHint.hidden = !able || pair;
    if (pair) await panel.show(verdict, 'nsp');
  });
  const why = h('p.quiet');
  panel.part([why, comparison.host], async () => {
    const { text_a, text_b, model, other } = page.input;
    const isAble = async (name) => (await heads(name)).mlm;
    const lacking = !other ? '' : !await isAble(model) ? 'This model'
      : other !== 'before' && !await isAble(other) ? `The model to compare with, ${other},` : '';
    const isMasked = /\[MASK\]|<mask>/i.test(text_a + text_b);
    comparison.host.hidden = !other || lacking !== '' || !isMasked;
    setText(why, lacking ? `${lacking} predicts no masked tokens, so there are no predictions to compare.`
      : other && !isMasked ? 'Mask a word to compare the two models.' : '');
    if (!comparison.host.hidden) await panel.show(comparison, 'compare', { other });
  });
  const folds = [
    panel.foldOf('joint', 'Several masked tokens jointly', ['chart', 'All masked tokens jointly', { id: 'fill-joint' }],
      'joint'),
    panel.foldOf('surprisal', 'Surprisal (pseudo-log-likelihood)',
      ['tokens', 'Surprisal of each token', { id: 'fill-surprisal', linked: true }], 'surprisal',
        { more: masked.filled }),
  ];
  for (const fold of folds) fold.node.hidden = true; // until it is known that the model has an MLM head

  const known = new Map(); // model -> what it can predict, or will once it is answered

  /** What a model can predict; asked once a model. */
  function heads(model = page.input.model) {
    if (!known.has(model)) known.set(model, page.ask('predictions', 'heads', { model }, `heads ${model}`));
    return known.get(model).catch((error) => {
      known.delete(model);
      throw error;
    });
  }

  /** The same, and nothing of a model that cannot be opened: the first part says why. */
  const headsIfAny = () => heads().catch(() => ({}));
}
