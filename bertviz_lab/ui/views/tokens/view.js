// Tokens: what the tokenizer makes of the text, and what the masking of MLM makes of its tokens.

import { h } from 'lab/client/dom.js';
import { whole } from 'lab/client/format.js';

export function mount(panel) {
  // with this seed the first example has a masked token
  const RULE = { rate: 15, mask: 80, random: 10, unit: 'tokens', seed: 1 };
  const settings = panel.settings({ ...RULE, draws: '10000', masks: 'dynamic' }, follow);
  const rule = () => ({ settings: Object.fromEntries(Object.keys(RULE).map((name) => [name, settings.values[name]])) });

  const input = panel.drawing('tokens', 'Input of the model', { id: 'token-strip', linked: true });
  panel.part([input.host], () => panel.show(input, 'tokens'));
  panel.foldOf('split', 'How does the tokenizer split the words?', ['split', 'How the words are split',
    { id: 'word-splits' }], 'split');

  const masked = panel.drawing('tokens', 'Masking', { id: 'masking-strip', linked: true });
  const share = (name, label, min, max) => settings.field(name, 'range', label, { id: `masking-${name}`, min, max,
    step: 1 }).node;
  const knobs = h('div.fields', share('rate', 'Masking probability, % of all tokens', 1, 90),
    share('mask', '[MASK], % of the selected', 0, 100),
    share('random', 'Random token, % of the selected', 0, 100),
    settings.field('unit', 'select', 'Masking unit', { id: 'masking-unit',
      options: [['tokens', 'single tokens'], ['words', 'whole words'], ['spans', 'spans (SpanBERT)']] }).node,
    settings.field('seed', 'number', 'Seed', { id: 'masking-seed', min: 0, step: 1 }).node,
    h('button.action', { id: 'masking-again', onclick: () =>
      settings.change({ seed: settings.values.seed + 1 }) }, 'Mask again'));
  const masking = panel.part([h('h3', 'Masking in masked language modeling (MLM)'), masked.host, knobs],
    () => panel.show(masked, 'masking', rule()), 'masking');
  const choice = (name, label, options) => () => [h('div.fields',
    settings.field(name, 'select', label, { id: `masking-${name}`, options }).node)];
  const loss = panel.foldOf('loss', 'MLM loss at the selected positions',
    ['tokens', 'MLM loss of this text', { id: 'masking-loss', linked: true }], 'loss', { more: rule });
  const statistics = panel.foldOf('statistics', 'Masking statistics: is it really 80/10/10?',
    ['chart', 'Masking statistics', { id: 'masking-statistics' }], 'statistics', {
      more: () => ({ ...rule(), draws: settings.values.draws }),
      above: choice('draws', 'Number of draws', [100, 1000, 10000, 100000]
        .map((count) => [String(count), whole(count)])),
    });
  const epochs = panel.foldOf('epochs', 'Static or dynamic masking',
    ['chart', 'Masked tokens in each epoch', { id: 'masking-epochs' }], 'epochs', {
      more: () => ({ ...rule(), masks: settings.values.masks }),
      above: choice('masks', 'Masks', [['dynamic', 'dynamic: new masks in each epoch'],
        ['static', 'static: three sets that repeat']]),
    });

  function follow(names) {
    if (names.some((name) => name in RULE)) [masking, loss, statistics, epochs].forEach((part) => part.redraw());
    else if (names.includes('draws')) statistics.redraw();
    if (names.includes('masks')) epochs.redraw();
  }
}
