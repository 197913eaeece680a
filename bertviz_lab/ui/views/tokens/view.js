// Tokens: what the tokenizer makes of the text, and what the masking of MLM makes of its tokens.

import { h } from 'lab/client/dom.js';
import { whole } from 'lab/client/format.js';

export function mount(panel) {
  // with this seed the first example has a masked token
  const rule = panel.settings({ rate: 15, mask: 80, random: 10, unit: 'tokens', seed: 1 },
    () => [masking, loss, statistics, epochs].forEach((part) => part.redraw()));
  const draws = panel.settings({ draws: '10000' }, () => statistics.redraw());
  const masks = panel.settings({ masks: 'dynamic' }, () => epochs.redraw());
  const asked = () => ({ settings: rule.values });

  const input = panel.drawing('tokens', 'Input of the model', { id: 'token-strip', linked: true });
  panel.part([input.host], () => panel.show(input, 'tokens'));
  panel.foldOf('split', 'How does the tokenizer split the words?', ['split', 'How the words are split',
    { id: 'word-splits' }], 'split');

  const masked = panel.drawing('tokens', 'Masking', { id: 'masking-strip', linked: true });
  const share = (name, label, min, max) => rule.field(name, 'range', label, { id: `masking-${name}`, min, max,
    step: 1 }).node;
  const knobs = h('div.fields', share('rate', 'Masking probability, % of all tokens', 1, 90),
    share('mask', '[MASK], % of the selected', 0, 100),
    share('random', 'Random token, % of the selected', 0, 100),
    rule.field('unit', 'select', 'Masking unit', { id: 'masking-unit',
      options: [['tokens', 'single tokens'], ['words', 'whole words'], ['spans', 'spans (SpanBERT)']] }).node,
    rule.field('seed', 'number', 'Seed', { id: 'masking-seed', min: 0, step: 1 }).node,
    h('button.action', { id: 'masking-again', onclick: () => rule.change({ seed: rule.values.seed + 1 }) },
      'Mask again'));
  const masking = panel.part([h('h3', 'Masking in masked language modeling (MLM)'), masked.host, knobs],
    () => panel.show(masked, 'masking', asked()), 'masking');
  const loss = panel.foldOf('loss', 'MLM loss at the selected positions',
    ['tokens', 'MLM loss of this text', { id: 'masking-loss', linked: true }], 'loss', { more: asked });
  const statistics = panel.foldOf('statistics', 'Masking statistics: is it really 80/10/10?',
    ['chart', 'Masking statistics', { id: 'masking-statistics' }], 'statistics', {
      more: () => ({ ...asked(), ...draws.values }),
      fields: () => [draws.field('draws', 'select', 'Number of draws', { id: 'masking-draws',
        options: [100, 1000, 10000, 100000].map((count) => [String(count), whole(count)]) })],
    });
  const epochs = panel.foldOf('epochs', 'Static or dynamic masking',
    ['chart', 'Masked tokens in each epoch', { id: 'masking-epochs' }], 'epochs', {
      more: () => ({ ...asked(), ...masks.values }),
      fields: () => [masks.field('masks', 'select', 'Masks', { id: 'masking-masks',
        options: [['dynamic', 'dynamic: new masks in each epoch'], ['static', 'static: three sets that repeat']] })],
    });
}
