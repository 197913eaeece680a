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
  const probes = panel.drawing('chart', 'Minimal-pair probes', { id: 'compare-probes' });
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
    const fields = {
      text_a: panel.field('text', 'Sentence with [MASK]', panel.kept('text_a'), () => {}, { id: 'compare-text' }),
      text_b: panel.field('text', 'Sentence B (optional)', panel.kept('text_b'), () => {}, { id: 'compare-b' }),
    };
    const answers = {
      predictions: panel.drawing('chart', 'Predictions of each model', { id: 'compare-fills' }),
      nsp: panel.drawing('chart', 'Does B follow A? (NSP)', { id: 'compare-follows' }),
      attention: panel.drawing('heads', 'All heads of each model', { id: 'compare-heads' }),
    };
    host.append(h('form.fields', { onsubmit(event) {
      event.preventDefault();
      asked.redraw();
    } }, fields.text_a.node, fields.text_b.node,
    h('button.action', { type: 'submit', id: 'compare-predict' }, 'Predict')),
    ...Object.values(answers).map((drawing) => drawing.host));
    return async () => {
      if (!runs.payload) return; // which runs there are is not known yet
      if (!fields.text_a.value) fields.text_a.set((await panel.ask('example', { names: chosen() })) ?? '');
      const question = { names: chosen(), text_a: fields.text_a.value, text_b: fields.text_b.value };
      for (const name of ['text_a', 'text_b']) panel.keep(name, question[name]);
      const { text_b, ...alone } = question;
      await Promise.all(Object.entries(answers).map(([name, drawing]) => panel.show(drawing, name,
        name === 'predictions' ? alone : question)));
    };
  });
}
