// Attribution: a prediction, the tokens that it rests on, and folded away its heads and what it is without them.

import { h } from 'lab/client/dom.js';
import { makeTarget } from 'lab/views/attribution/target.js';

export function mount(panel) {
  const { page } = panel;
  const target = makeTarget(panel, () => {
    main.redraw();
    redrawFolds();
  });
  // Ablated heads are in the address as "layer.head layer.head", counted from 0.
  const changes = panel.settings({ causal: '', segments: '', ablated: '' }, redrawFolds);
  const parts = panel.drawings({ facts: ['facts', 'Prediction explained'],
    tokens: ['tokens', 'Attribution of each token', { linked: true }] });

  const main = panel.part([...target.nodes, parts.facts.host, parts.tokens.host],
    () => target.show('attribution', parts));
  const folds = [
    panel.foldOf('heads', 'Head ablation', ['chart', 'Effect of each head', { id: 'attribution-head-map',
      events: { item_select: toggleHead } }], 'head_effects',
    { more: () => ({ ...target.question(), ablated: heads() }) }),
    panel.fold('intervention', 'Interventions', (host) => {
      const causal = panel.field('checkbox', 'Causal mask, as in GPT', changes.values.causal,
        (on) => changes.change({ causal: on ? '1' : '' }), { id: 'attribution-causal' });
      const restore = h('button.plain', { onclick: () => changes.change({ ablated: '' }) }, 'Restore all heads');
      const facts = panel.drawing('facts', 'Intervention', { id: 'attribution-changed' });
      const chart = panel.drawing('chart', 'Prediction before and after', { id: 'attribution-change' });
      const segments = changes.field('segments', 'select', 'Segment ids of a pair',
        { options: [['', 'as they are'], ['zero', 'all 0'], ['swapped', 'swapped']] });
      host.append(h('div.fields', causal.node, segments.node, restore), facts.host, chart.host);
      return () => panel.showParts({ facts, chart }, panel.ask('intervention', { ...target.question(),
        ablated: heads(), causal: changes.values.causal !== '', segments: changes.values.segments }));
    }),
  ];
  function redrawFolds() { folds.forEach((fold) => fold.redraw()); }

  const ablated = () => changes.values.ablated.match(/\d+\.\d+/g) ?? [];
  const heads = () => ablated().map((place) => place.split('.').map(Number));

  function toggleHead({ row, column }) {
    // The column after the last head represents all heads of the layer.
    const columns = column < target.heads ? [column] : [...Array(target.heads).keys()];
    const meant = columns.map((head) => `${row}.${head}`);
    const others = ablated().filter((place) => !meant.includes(place));
    const restored = ablated().length - others.length === meant.length;
    changes.change({ ablated: (restored ? others : [...others, ...meant]).join(' ') });
  }

  // Heads that were chosen for one model mean nothing in another.
  page.on('input', (changed) => { if (changed.includes('model')) changes.change({ ablated: '' }); });
}
