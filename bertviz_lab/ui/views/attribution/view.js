// Attribution: a prediction, the tokens that it rests on, and folded away its heads and what it is without them.

import { h, setOptions } from 'lab/client/dom.js';

export function mount(panel) {
  const { page } = panel;
  const NO_TARGET = { position: '', choice: '', contrast: '' };
  const target = panel.settings({ kind: '', ...NO_TARGET }, () => {
    main.redraw();
    redrawFolds();
  });
  // Ablated heads are in the address as "layer.head layer.head", counted from 0.
  const changes = panel.settings({ causal: '', segments: '', ablated: '' }, redrawFolds);
  let targets = null; // what can be explained, as Python last said
  let explainedLarge = ''; // the last question about a large model that somebody pressed the button for

  const kind = panel.field('select', 'Prediction to explain', '',
    (value) => target.change({ ...NO_TARGET, kind: value }), { id: 'attribution-kind' });
  const position = target.field('position', 'select', 'Token', { id: 'attribution-position' });
  const classes = h('datalist', { id: 'attribution-classes' });
  const choice = target.field('choice', 'text', 'Predicted token or label',
    { id: 'attribution-choice', placeholder: 'the top prediction', list: classes.id });
  const contrast = target.field('contrast', 'text', 'Contrast with',
    { id: 'attribution-contrast', placeholder: 'anything else', list: classes.id });
  const explain = h('button.action', { id: 'attribution-explain', onclick() {
    explainedLarge = JSON.stringify([page.input, question()]);
    main.redraw();
  } }, 'Explain');
  const large = h('p.quiet', { hidden: true }, 'This model is large: its attributions take some seconds. ', explain);
  const facts = panel.drawing('facts', 'Prediction explained', { id: 'attribution-facts' });
  const tokens = panel.drawing('tokens', 'Attribution of each token', { id: 'attribution-tokens', linked: true });

  const main = panel.part([h('div.fields', kind.node, position.node, choice.node, contrast.node, classes),
    large, facts.host, tokens.host], async () => {
    const answer = await explanation().catch(({ message }) => ({ facts: {}, tokens: { message } }));
    if (!answer) return;
    facts.show(answer.facts);
    tokens.show(answer.tokens);
    tokens.host.hidden = false;
  });
  const folds = [
    panel.foldOf('heads', 'Head ablation', ['chart', 'Effect of each head', { id: 'attribution-head-map',
      events: { item_select: toggleHead } }], 'head_effects', { more: () => ({ ...question(), ablated: heads() }) }),
    panel.fold('intervention', 'Interventions', (host) => {
      const causal = panel.field('checkbox', 'Causal mask, as in GPT', changes.values.causal,
        (on) => changes.change({ causal: on ? '1' : '' }), { id: 'attribution-causal' });
      const restore = h('button.plain', { onclick: () => changes.change({ ablated: '' }) }, 'Restore all heads');
      const changed = panel.drawing('facts', 'Intervention', { id: 'attribution-changed' });
      const chart = panel.drawing('chart', 'Prediction before and after', { id: 'attribution-change' });
      const segments = changes.field('segments', 'select', 'Segment ids of a pair', { id: 'attribution-segments',
        options: [['', 'as they are'], ['zero', 'all 0'], ['swapped', 'swapped']] });
      host.append(h('div.fields', causal.node, segments.node, restore), changed.host, chart.host);
      return async () => {
        const answer = await panel.ask('intervention', { ...question(), ablated: heads(),
          causal: changes.values.causal !== '', segments: changes.values.segments });
        if (!answer) return;
        changed.show(answer.facts);
        chart.show(answer.chart);
      };
    }),
  ];
  function redrawFolds() { folds.forEach((fold) => fold.redraw()); }

  /** What Python is asked about. */
  function question() {
    const { position: place, ...others } = target.values;
    return { ...others, position: place === '' ? null : Number(place) };
  }

  /** The answer to it; undefined where a newer question has taken its place, or a large model waits for the button. */
  async function explanation() {
    const asked = question();
    const possible = await panel.ask('targets', { kind: asked.kind });
    if (!possible) return undefined;
    targets = possible;
    setOptions(kind.input, targets.kinds, targets.kind);
    const chosen = targets.positions.find(([place]) => String(place) === target.values.position);
    setOptions(position.input, targets.positions, (chosen ?? targets.positions[0])?.[0]);
    kind.node.hidden = targets.kinds.length < 2;
    position.node.hidden = targets.positions.length < 2;
    for (const field of [choice, contrast]) field.node.hidden = !targets.choosable;
    classes.replaceChildren(...targets.classes.map((name) => h('option', { value: name })));
    large.hidden = !targets.large || explainedLarge === JSON.stringify([page.input, asked]);
    for (const { host } of [facts, tokens]) host.hidden = !large.hidden;
    return large.hidden ? panel.ask('attribution', asked) : undefined;
  }

  const ablated = () => changes.values.ablated.match(/\d+\.\d+/g) ?? [];
  const heads = () => ablated().map((place) => place.split('.').map(Number));

  function toggleHead({ row, column }) {
    // The column after the last head represents all heads of the layer.
    const columns = column < targets.heads ? [column] : [...Array(targets.heads).keys()];
    const meant = columns.map((head) => `${row}.${head}`);
    const others = ablated().filter((place) => !meant.includes(place));
    const restored = ablated().length - others.length === meant.length;
    changes.change({ ablated: (restored ? others : [...others, ...meant]).join(' ') });
  }

  // Classes, tokens and heads that were chosen for one model mean nothing in another.
  page.on('input', (changed) => {
    if (!changed.includes('model')) return;
    target.change(NO_TARGET);
    changes.change({ ablated: '' });
  });
  page.on('select', (selected) => {
    const place = String(selected);
    if (targets?.positions.some(([other]) => String(other) === place)
      && place !== position.input.value) target.change({ position: place });
  });
}
