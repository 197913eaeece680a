// Attention: the grid of all heads with one in detail, and folded away the difference to other weights.

import { h, setOptions } from 'lab/client/dom.js';
import { figureOf } from 'lab/components/figures/index.js';

export function mount(panel) {
  const { page } = panel;

  /** A grid of weights, scores or differences, whose settings the address keeps under names that begin with `prefix`.
   * */
  function makeGrid(label, id, prefix) {
    const server = {
      layer_values: (key, layer) => page.ask('attention', 'layer_values', { key, layer }, `${id} layer ${layer}`),
      query_key: (key, layer, head, row, column) =>
        page.ask('attention', 'query_key', { key, layer, head, row, column }, `${id} query_key`).then(figureOf),
    };
    const memory = {
      kept: (name) => panel.kept(prefix + name),
      keep(texts) {
        Object.entries(texts).forEach(([name, text]) => panel.keep(prefix + name, text));
        const head = [Number(texts.layer), Number(texts.head)];
        if (prefix || String(head) === String(chosen)) return;
        chosen = head;
        page.emit('head', panel.view.id, ...head);
      },
    };
    return panel.drawing('attention', label, { id, linked: true, server, memory });
  }

  let chosen = [0, 0]; // the head in detail, which Corpus search follows, and may choose
  const grid = makeGrid('Attention of every head', 'attention-grid', '');
  page.on('head', (from, ...head) => {
    if (from === panel.view.id) return;
    chosen = head;
    if (grid.payload) grid.show(grid.payload);
  });
  const terms = panel.settings({ shown: 'weights' }, () => heads.redraw());
  const shown = terms.field('shown', 'select', 'Weights or scores', { options: [['weights', 'attention weights']] });
  const heads = panel.part([grid.host, h('div.fields', shown.node)], async () => {
    await panel.show(grid, 'attention', terms.values);
    const { choices = [], shown: now } = grid.payload ?? {};
    shown.node.hidden = choices.length < 2;
    if (choices.length) setOptions(shown.input, choices, now);
  });

  const part = panel.fold('difference', 'Attention difference: two models, causal mask, two texts', (host) => {
    const settings = panel.settings({ against: 'model', other_text: '' }, () => part.redraw());
    const against = settings.field('against', 'select', 'Compare with', { options: [['model', 'the comparison model'],
      ['causal', 'the same with a causal mask'], ['text', 'another text A']] });
    const text = settings.field('other_text', 'text', 'Other text A (same number of tokens)');
    const difference = makeGrid('Attention difference', 'attention-difference-grid', 'difference_');
    host.append(h('div.fields', against.node, text.node), difference.host);
    return () => {
      text.node.hidden = settings.values.against !== 'text';
      return panel.show(difference, 'difference', { ...settings.values, other: page.input.other || 'before' });
    };
  });
}
