// Ablation study: cards to tick, predict and reveal.

import { h, setText } from 'lab/client/dom.js';

export function mount(panel) {
  const { page } = panel;
  const plan = panel.settings({ steps: '', seed: '' }, () => part.redraw()); // "": as in the runs that were queued last
  const planned = (name) => (plan.values[name] === '' ? null : Number(plan.values[name]));
  const message = h('p.complaint', { id: 'ablation-message', role: 'status', hidden: true });
  const cards = panel.drawing('recipe', 'Ablations', { id: 'ablation-cards',
    events: {
      train_request: train,
      compare_request: ({ runs }) => page.open({ space: 'runs', settings: { 'compare.runs': runs.join(',') },
        show: 'compare' }),
    },
    server: {
      look: (runs) => page.ask('runs', 'glances', { runs }, 'ablation.glances'),
      reveal: (name, whole, run, predicted) => panel.ask('reveal', { name, whole, run, predicted }, `reveal ${name}`),
    } });
  const steps = plan.field('steps', 'number', 'Steps of each run', { min: 20, step: 1 });
  const seed = plan.field('seed', 'number', 'Seed', { min: 0, step: 1 });
  const limits = h('p.quiet', { id: 'ablation-limits' });

  const part = panel.part([
    h('p.quiet',
      'All runs share the same stories, seed and number of steps. They run one after the other, '
      + 'about a minute each on two idle cores.'),
    limits, message, cards.host,
    h('details.fold', { id: 'ablation-settings', open: plan.values.steps !== '' || plan.values.seed !== '' },
      h('summary', 'Training settings'),
      h('div.fields', steps.node, seed.node),
      h('p.quiet', 'More steps give clearer results; another seed shows the variance.')),
  ], async () => {
    const payload = await panel.ask('cards', { steps: planned('steps'), seed: planned('seed') })
      .catch((error) => cards.say(error.message));
    if (!payload) return;
    steps.set(payload.steps);
    seed.set(payload.seed);
    limits.textContent = payload.limits;
    cards.show(payload);
  });

  /** Queue the runs; they are not compared at once: their curves would give away what a person is to predict. */
  async function train({ names }) {
    const wanted = { names, steps: steps.value, seed: seed.value };
    setText(message, await page.change('ablation', 'train', wanted)
      .then(([first]) => { if (first) page.emit('follow', first); }, (error) => error.message));
    part.redraw();
  }
}
