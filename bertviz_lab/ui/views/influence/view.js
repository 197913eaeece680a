// Influence: the training sentences that taught a prediction, and the model trained again without them.

import { poll } from 'lab/client/ask.js';
import { h, setText, whileBusy } from 'lab/client/dom.js';
import { makeTarget } from 'lab/views/attribution/target.js';

const METHODS = [['TracIn', 'the first by TracIn'], ['BM25', 'the first by BM25'], ['random', 'sentences at random'],
  ['nothing', 'none (trained again)']];

export function mount(panel) {
  const { page } = panel;
  let ranked = ''; // the question that the rankings on show answer
  let looks = 0;
  const target = makeTarget(panel, () => [main, again].forEach((part) => part.redraw()));
  const settings = panel.settings({ candidates: '1000' }, () => main.redraw());
  const plan = panel.settings({ by: 'TracIn', count: '20', steps: '' }, () => {});

  const candidates = settings.field('candidates', 'number', 'Sentences to compare',
    { min: 100, max: 100000, step: 100 });
  const find = h('button.action', { id: 'influence-find', onclick: rank }, 'Find the sentences');
  const hint = h('p.quiet', 'TracIn compares gradients in five snapshots of the training run: some seconds for a small '
    + 'model.');
  const rankings = panel.drawings({ facts: ['facts', 'What was compared'], tracin: ['chart', 'TracIn'],
    bm25: ['chart', 'BM25'] });
  const hosts = Object.values(rankings).map(({ host }) => host);

  const by = plan.field('by', 'select', 'Leave out', { options: METHODS });
  const count = plan.field('count', 'number', 'How many', { min: 1, max: 50, step: 1 });
  const steps = plan.field('steps', 'number', 'Steps', { min: 1, step: 1, placeholder: 'as many as it had' });
  const train = h('button.action', { id: 'influence-train', onclick: retrain }, 'Train without these');
  const message = h('p.complaint', { id: 'influence-message', role: 'status', hidden: true });
  const waiting = h('p.quiet', { id: 'influence-waiting', role: 'status', hidden: true });
  const after = panel.drawing('chart', 'Trained again', { id: 'influence-after' });

  const main = panel.part([...target.nodes, h('div.fields', candidates.node, find), hint, ...hosts], async () => {
    for (const host of hosts) host.hidden = ranked !== asked();
    await target.ready();
  });
  const again = panel.part([h('h3', 'Train without these sentences'),
    h('p.quiet', 'The test that counts: the same run in the queue, but for some sentences. Runs lists it with its '
      + 'curves.'),
    h('div.fields', by.node, count.node, steps.node, train), message, waiting, after.host], follow);

  function question() {
    return { ...target.question(), candidates: Number(settings.values.candidates) };
  }

  const asked = () => JSON.stringify([page.input, question()]);

  async function rank() {
    const mine = asked();
    rankings.facts.showIfAny({ message: 'Computing …' });
    const answer = await whileBusy(find, () => panel.showParts(rankings, panel.ask('influence', question())));
    if (answer) ranked = answer.tracin ? mine : '';
  }

  async function retrain() {
    const { model, text_a, text_b } = page.input;
    const { by: method, count: number, steps: length } = plan.values;
    const wanted = { model, text_a, text_b, ...question(), by: method, count: Number(number),
      steps: length === '' ? null : Number(length) };
    setText(message, '');
    await whileBusy(train, () => page.change('influence', 'leave_out', wanted), (words) => setText(message, words));
    again.redraw();
  }

  /** What came of the runs that were queued, while some of them train. */
  async function follow() {
    const mine = ++looks;
    after.host.hidden = true;
    setText(waiting, '');
    await poll(() => panel.ask('retrained', question()).catch(() => ({ runs: [], active: false })), (answer) => {
      setText(waiting, answer.runs.map(([name, status]) => `${name}: ${status}`).join('; '));
      after.showIfAny(answer.chart);
      return answer.active ? 3000 : null;
    }, () => mine === looks && after.host.isConnected, { node: panel.body });
  }
  page.on('changed', again.redraw);
}
