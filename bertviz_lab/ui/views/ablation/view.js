// Ablation study: cards to tick, predict and reveal.

import { h, setText } from 'lab/client/dom.js';

export function mount(panel) {
  const { page } = panel;
  const kept = (name) => (panel.kept(name) === '' ? null : Number(panel.kept(name)));
  const plan = { steps: kept('steps'), seed: kept('seed') }; // null: those of the runs that were queued last
  const message = h('p.complaint', { id: 'ablation-message', role: 'status', hidden: true });
  const cards = panel.drawing('recipe', 'Ablations', { id: 'ablation-cards',
    events: {
      train_request: train,
      compare_request: ({ runs }) => page.open({ space: 'runs', settings: { 'compare.runs': runs.join(',') },
        show: 'compare' }),
    },
    server: {
      look: (runs) => panel.ask('progress', { runs }),
      reveal: (name, whole, run, predicted) => panel.ask('reveal', { name, whole, run, predicted }, `reveal ${name}`),
    } });
  const number = (name, label, min) => panel.field('number', label, '', (value) => {
    plan[name] = value;
    panel.keep(name, value);
    part.redraw();
  }, { min, step: 1, id: `ablation-${name}` });
  const fields = { steps: number('steps', 'Steps of each run', 20), seed: number('seed', 'Seed', 0) };
  const limits = h('p.quiet', { id: 'ablation-limits' });

  const part = panel.part([
    h('p.quiet',
      'All runs share the same stories, seed and number of steps. They run one after the other, '
      + 'about a minute each on two idle cores.'),
    limits, message, cards.host,
    h('details.fold', { id: 'ablation-settings', open: plan.steps !== null || plan.seed !== null },
      h('summary', 'Training settings'),
      h('div.fields', fields.steps.node, fields.seed.node),
      h('p.quiet', 'More steps give clearer results; another seed shows the variance.')),
  ], async () => {
    const payload = await panel.ask('cards', { ...plan }).catch((error) => cards.say(error.message));
    if (!payload) return;
    for (const name of ['steps', 'seed']) fields[name].set(payload[name]);
    limits.textContent = payload.limits;
    cards.show(payload);
  });

  /** Queue the runs; they are not compared at once: their curves would give away what a person is to predict. */
  async function train({ names }) {
    const wanted = { names, steps: fields.steps.value, seed: fields.seed.value };
    setText(message, await page.change('ablation', 'train', wanted)
      .then(([first]) => { if (first) page.emit('follow', first); }, (error) => error.message));
    part.redraw();
  }
}
