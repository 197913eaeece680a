// Evaluate on BLiMP or GLUE, folded away below the runs.

import { makeFiles } from 'lab/client/form.js';

export function mount(panel) {
  let refresh = () => {};
  panel.fold('part', 'Evaluate on BLiMP or GLUE', (host) => {
    panel.ask('form').then((form) => build(host, form));
    return () => refresh();
  });
  panel.page.on('start', () => refresh());

  function build(host, form) {
    const scores = panel.drawing('facts', 'Accuracy per phenomenon', { id: 'evaluate-scores',
      empty: 'With minimal pairs the model of the run above is asked which sentence of each is likelier, by '
        + 'pseudo-log-likelihood. On each task of GLUE it is fine-tuned in a run of its own.' });
    const suite = panel.drawing('facts', 'GLUE', { id: 'evaluate-suite' });
    const files = makeFiles({ id: 'evaluate-files', label: form.upload, accept: ['.jsonl', '.zip'],
      onChange: (early) => early || evaluate() });
    host.append(files.node, scores.host, suite.host);
    refresh = () => panel.showAny(suite, 'suite');
    refresh();

    async function evaluate() {
      panel.cancel('evaluate');
      scores.show(null);
      if (!files.tokens.length) return;
      scores.say('Scoring …');
      const answer = await panel.ask('evaluate', { run: panel.page.kept('run.id'), files: files.tokens })
        .catch(({ message }) => ({ scores: { items: [], note: message, tone: 'error' } }));
      if (!answer) return;
      scores.show(answer.scores);
      if (!answer.started) return;
      panel.page.emit('follow', answer.started);
      panel.page.emit('start');
    }
  }
}
