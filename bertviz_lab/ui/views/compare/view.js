// Compare: up to six runs side by side, and the same input for all their models.

import { h, setOptions } from 'lab/client/dom.js';
import { makeLinkButton } from 'lab/client/panel.js';

export function mount(panel) {
  let names = panel.kept('runs') ? panel.kept('runs').split(',') : null; // null until a person, or a link, has chosen
  let [choices, first, most] = [[], [], 6];

  // ---- which runs

  const chips = h('div.chosen.line', { id: 'compare-chosen', role: 'group', 'aria-label': 'Compared runs' });
  const adding = panel.field('select', 'Add a run', '', (name) => name && choose([...chosen(), name]),
    { id: 'compare-add' });
  const bringProbes = () => panel.showAny(probes, 'probes', { names: chosen() });
  const runs = panel.drawing('comparison', 'Runs side by side', { id: 'compare-runs',
    server: { poll: (run_id, start) => panel.ask('follow', { run_id, start }, `follow ${run_id}`) },
      events: { probes_done: bringProbes } });
  const chart = (label, id) => panel.drawing('chart', label, { id });
  const probes = chart('Minimal-pair probes', 'compare-probes');
  const chosen = () => names ?? first;

  panel.part([h('div.fields', chips, adding.node, makeLinkButton('compare-link')), runs.host,
    probes.host], async () => {
    const before = String(chosen());
    const answer = await panel.ask('runs');
    if (!answer) return;
    ({ choices, first, most } = answer);
    showChosen();
    if (!runs.payload || String(chosen()) !== before) await bring();
  });

  function showChosen() {
    const label = (name) => choices.find(([value]) => value === name)?.[1] ?? name;
    chips.replaceChildren(...chosen().map((name, place) => h('button.chip', { 'data-run': name, title: 'Remove',
      'aria-label': `Remove ${label(name)}`, onclick: () => choose(chosen().filter((other) => other !== name), place) },
    label(name), h('span', { 'aria-hidden': 'true' }, ' ×'))));
    const full = chosen().length >= most && `${most} runs at most are shown`; // the field stays, and with it the focus
    const others = full ? [] : choices.filter(([name]) => !chosen().includes(name));
    setOptions(adding.input, [['', full || (others.length ? `choose a run (up to ${most})` : 'all runs are shown')],
      ...others]);
  }

  function choose(some, removed = null) {
    names = some;
    panel.keep('runs', names.join(','));
    panel.page.emit('compared');
    showChosen();
    if (removed !== null) (chips.children[removed] ?? adding.input).focus();
    bring();
  }

  /** The chosen runs, and what their models make of the input. */
  async function bring() {
    await panel.show(runs, 'comparison', { names: chosen() });
    asked.redraw();
    await bringProbes();
  }

  // ---- the same input for all of them

  const asked = panel.fold('ask', 'Same input for all models', (host) => {
    const texts = panel.settings({ text_a: '', text_b: '' }, () => {});
    const textA = texts.field('text_a', 'text', 'Sentence with [MASK]');
    const textB = texts.field('text_b', 'text', 'Sentence B (optional)');
    const predictions = chart('Predictions of each model', 'compare-fills');
    const nsp = chart('Does B follow A? (NSP)', 'compare-follows');
    const attention = panel.drawing('heads', 'All heads of each model', { id: 'compare-heads' });
    const onsubmit = (event) => {
      event.preventDefault();
      asked.redraw();
    };
    host.append(h('form.fields', { onsubmit }, textA.node, textB.node,
      h('button.action', { type: 'submit', id: 'compare-predict' }, 'Predict')),
    predictions.host, nsp.host, attention.host);
    return async () => {
      if (!runs.payload) return; // which runs there are is not known yet
      const question = { names: chosen() };
      if (!texts.values.text_a) texts.change({ text_a: (await panel.ask('example', question)) ?? '' });
      const pair = { ...question, ...texts.values };
      await Promise.all([panel.show(predictions, 'predictions', { ...question, text_a: pair.text_a }),
        panel.show(nsp, 'nsp', pair), panel.show(attention, 'attention', pair)]);
    };
  });
}
