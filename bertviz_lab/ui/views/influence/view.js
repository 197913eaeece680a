// Influence: the training sentences that taught a prediction, and the model trained again without them.

import { poll } from 'lab/client/ask.js';
import { h, setText } from 'lab/client/dom.js';
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

  const candidates = settings.field('candidates', 'number', 'Sentences to compare', { id: 'influence-candidates',
    min: 100, max: 100000, step: 100 });
  const find = h('button.action', { id: 'influence-find', onclick: rank }, 'Find the sentences');
  const hint = h('p.quiet', 'TracIn compares gradients in five snapshots of the training run: some seconds for a small '
    + 'model.');
  const facts = panel.drawing('facts', 'What was compared', { id: 'influence-facts' });
  const tracin = panel.drawing('chart', 'TracIn', { id: 'influence-tracin' });
  const bm25 = panel.drawing('chart', 'BM25', { id: 'influence-bm25' });
  const rankings = [facts, tracin, bm25];

  const by = plan.field('by', 'select', 'Leave out', { id: 'influence-by', options: METHODS });
  const count = plan.field('count', 'number', 'How many', { id: 'influence-count', min: 1, max: 50, step: 1 });
  const steps = plan.field('steps', 'number', 'Steps', { id: 'influence-steps', min: 1, step: 1,
    placeholder: 'as many as it had' });
  const train = h('button.action', { id: 'influence-train', onclick: retrain }, 'Train without these');
  const message = h('p.complaint', { id: 'influence-message', role: 'status', hidden: true });
  const waiting = h('p.quiet', { id: 'influence-waiting', role: 'status', hidden: true });
  const after = panel.drawing('chart', 'Trained again', { id: 'influence-after' });

  const main = panel.part([...target.nodes, h('div.fields', candidates.node, find), hint,
    ...rankings.map(({ host }) => host)], async () => {
    rankings.forEach(({ host }) => { host.hidden = ranked !== asked(); });
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
    find.disabled = true;
    facts.host.hidden = false;
    facts.say('Computing …');
    const answer = await panel.ask('influence', question())
      .catch((error) => ({ facts: { message: error.message, tone: 'error' } }));
    find.disabled = false;
    if (!answer) return;
    ranked = answer.tracin ? mine : '';
    for (const [name, drawing] of Object.entries({ facts, tracin, bm25 })) drawing.showIfAny(answer[name]);
  }

  async function retrain() {
    const { model, text_a, text_b } = page.input;
    const { by: method, count: number, steps: length } = plan.values;
    const wanted = { model, text_a, text_b, ...question(), by: method, count: Number(number),
      steps: length === '' ? null : Number(length) };
    train.disabled = true;
    setText(message, await page.change('influence', 'leave_out', wanted).then(() => '', (error) => error.message));
    train.disabled = false;
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
