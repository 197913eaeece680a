// Attribution: a prediction, the tokens that it rests on, and folded away its heads and what it is without them.

import { h, setOptions } from 'lab/client/dom.js';

export function mount(panel) {
  const { page } = panel;
  // Ablated heads are in the address as "layer.head layer.head", counted from 0.
  const target = { kind: '', position: '', choice: '', contrast: '' };
  const settings = panel.settings({ ...target, causal: '', segments: '', ablated: '' }, (names) => {
    if (names.some((name) => name in target)) main.redraw();
    folds.forEach((fold) => fold.redraw());
  });
  let { model } = page.input; // whose classes and heads the settings name
  let targets = null; // what can be explained, as Python last said
  let explainedLarge = ''; // the last question about a large model that somebody pressed the button for

  const kind = panel.field('select', 'Prediction to explain', '',
    (value) => settings.change({ ...target, kind: value }), { id: 'attribution-kind' });
  const position = settings.field('position', 'select', 'Token', { id: 'attribution-position' });
  const choice = settings.field('choice', 'text', 'Predicted token or label',
    { id: 'attribution-choice', placeholder: 'the top prediction' });
  const contrast = settings.field('contrast', 'text', 'Contrast with',
    { id: 'attribution-contrast', placeholder: 'anything else' });
  const classes = h('datalist', { id: 'attribution-classes' });
  for (const { input } of [choice, contrast]) input.setAttribute('list', classes.id);
  const explain = h('button.action', { id: 'attribution-explain', onclick() {
    explainedLarge = JSON.stringify([page.input, question()]);
    main.redraw();
  } }, 'Explain');
  const large = h('p.quiet', { hidden: true }, 'This model is large: its attributions take some seconds. ', explain);
  const facts = panel.drawing('facts', 'Prediction explained', { id: 'attribution-facts' });
  const tokens = panel.drawing('tokens', 'Attribution of each token', { id: 'attribution-tokens', linked: true });

  const main = panel.part([h('div.fields', kind.node, position.node, choice.node, contrast.node, classes),
    large, facts.host, tokens.host], async () => {
    const asked = question();
    try {
      const possible = await panel.ask('targets', { kind: asked.kind });
      if (!possible) return;
      targets = possible;
      showFields();
      large.hidden = !targets.large || explainedLarge === JSON.stringify([page.input, asked]);
      for (const { host } of [facts, tokens]) host.hidden = !large.hidden;
      if (!large.hidden) return;
      const answer = await panel.ask('attribution', asked);
      if (!answer) return;
      facts.show(answer.facts);
      tokens.show(answer.tokens);
    } catch (error) {
      facts.show({});
      tokens.say(error.message);
      tokens.host.hidden = false;
    }
  });
  const folds = [
    panel.foldOf('heads', 'Head ablation', ['chart', 'Effect of each head', { id: 'attribution-head-map',
      events: { item_select: toggleHead } }], 'head_effects', { more: () => ({ ...question(), ablated: ablated() }) }),
    panel.fold('intervention', 'Interventions', (host) => {
      const causal = panel.field('checkbox', 'Causal mask, as in GPT', settings.values.causal,
        (on) => settings.change({ causal: on ? '1' : '' }), { id: 'attribution-causal' });
      const restore = h('button.plain', { onclick: () => settings.change({ ablated: '' }) }, 'Restore all heads');
      const changed = panel.drawing('facts', 'Intervention', { id: 'attribution-changed' });
      const chart = panel.drawing('chart', 'Prediction before and after', { id: 'attribution-change' });
      const segments = settings.field('segments', 'select', 'Segment ids of a pair', { id: 'attribution-segments',
        options: [['', 'as they are'], ['zero', 'all 0'], ['swapped', 'swapped']] });
      host.append(h('div.fields', causal.node, segments.node, restore), changed.host, chart.host);
      return async () => {
        const asked = question();
        const answer = await panel.ask('intervention', { ...asked, ablated: ablated(),
          causal: settings.values.causal !== '', segments: settings.values.segments });
        if (!answer) return;
        changed.show(answer.facts);
        chart.show(answer.chart);
      };
    }),
  ];

  /** What Python is asked about. Classes, tokens and heads that were chosen for one model mean nothing in another. */
  function question() {
    const before = model;
    ({ model } = page.input);
    if (before && before !== model) settings.change({ position: '', choice: '', contrast: '', ablated: '' });
    const { kind: asked, position: place, choice: word, contrast: other } = settings.values;
    return { kind: asked, position: place === '' ? null : Number(place), choice: word, contrast: other };
  }

  const ablated = () => [...settings.values.ablated.matchAll(/(\d+)\.(\d+)/g)]
    .map(([, layer, head]) => [Number(layer), Number(head)]);

  function showFields() {
    setOptions(kind.input, targets.kinds, targets.kind);
    const chosen = targets.positions.find(([place]) => String(place) === settings.values.position)
      ?? targets.positions[0];
    setOptions(position.input, targets.positions, chosen?.[0]);
    kind.node.hidden = targets.kinds.length < 2;
    position.node.hidden = targets.positions.length < 2;
    for (const field of [choice, contrast]) field.node.hidden = !targets.choosable;
    classes.replaceChildren(...targets.classes.map((name) => h('option', { value: name })));
  }

  function toggleHead({ row, column }) {
    // The column after the last head represents all heads of the layer.
    const heads = column < targets.heads ? [column] : [...Array(targets.heads).keys()];
    const meant = heads.map((head) => `${row}.${head}`);
    const before = ablated().map((place) => place.join('.'));
    const others = before.filter((place) => !meant.includes(place));
    const restored = before.length - others.length === meant.length;
    settings.change({ ablated: (restored ? others : [...others, ...meant]).join(' ') });
  }

  page.on('select', (selected) => {
    const place = String(selected);
    if (targets?.positions.some(([other]) => String(other) === place)
      && place !== position.input.value) settings.change({ position: place });
  });
}
