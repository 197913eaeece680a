// Attention: the grid of all heads with one in detail, and folded away the difference to other weights.

const WORDS = ['of', 'scale', 'form', 'quarter', 'special', 'order'];
const INDEXES = ['layer', 'head', 'column']; // counted from 0

/** A grid whose settings the address keeps under names that begin with `prefix`. */
function makeGrid(label, id, prefix, server = {}) {
  const remembered = () => {
    const kept = (name) => panel.kept(prefix + name);
    const chosen = Object.fromEntries(WORDS.filter(kept).map((name) => [name, kept(name)]));
    for (const name of INDEXES.filter(kept)) chosen[name] = Number(kept(name));
    if (kept('rows')) chosen.rows = kept('rows').split(',').map(Number);
    return chosen;
  };
  const keep = (chosen) => [...WORDS, ...INDEXES, 'rows'].forEach((name) => panel.keep(prefix + name, String(chosen[name] ?? '')));
  const drawing = panel.drawing('attention', label, { id, linked: true, events: { state_change: keep }, server: { ...server, remembered } });
  page.on('settings', (names) => {
    if (drawing.payload && names.some((name) => name.startsWith(`attention.${prefix}`))) drawing.show(drawing.payload);
  });
  return drawing;
}

const grid = makeGrid('Attention of every head', 'attention-grid', '', {
  exact_values: (key, layer, head) => page.ask('attention', 'exact_values', { key, layer, head }),
  layer_values: (key, layer) => page.ask('attention', 'layer_values', { key, layer }, `layer ${layer}`),
  query_key: (key, layer, head, row, column) => page.ask('attention', 'query_key', { key, layer, head, row, column }),
});
panel.part([grid.host], () => panel.show(grid, 'attention'));

panel.fold('difference', 'Attention difference: two models, causal mask, two texts', (host) => {
  const against = panel.field('select', 'Compare with', panel.kept('against', 'model'), () => change(), { id: 'attention-against',
    options: [['model', 'the comparison model'], ['causal', 'the same with a causal mask'], ['text', 'another text A']] });
  const text = panel.field('text', 'Other text A (same number of tokens)', panel.kept('other_text'), () => change(), { id: 'attention-other-text' });
  const difference = makeGrid('Attention difference', 'attention-difference-grid', 'difference_');
  const change = () => {
    panel.keep('against', against.value === 'model' ? '' : against.value);
    panel.keep('other_text', text.value);
    return draw();
  };
  const draw = () => {
    text.node.hidden = against.value !== 'text';
    return panel.show(difference, 'difference', { against: against.value, other: page.input.other || 'before', other_text: text.value });
  };
  host.append(h('div', { class: 'fields' }, against.node, text.node), difference.host);
  return draw;
});
