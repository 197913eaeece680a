// Evaluate the model of the run that is chosen: on minimal pairs, or by fine-tuning it on each task of GLUE.

import { h } from 'lab/client/dom.js';
import { makeFiles } from 'lab/client/form.js';
import { saveText } from 'lab/client/saving.js';

export async function mount(panel) {
  const form = await panel.ask('form');
  const scores = panel.drawing('facts', 'Accuracy per phenomenon', { id: 'evaluate-scores',
    empty: 'With minimal pairs the model is asked which sentence of each is likelier, by pseudo-log-likelihood. On '
      + 'each task of GLUE it is fine-tuned in a run of its own.' });
  let answer = null;
  const save = h('button.action', { id: 'evaluate-table', hidden: true,
    onclick: () => saveText(answer.name, 'text/csv', `\ufeff${answer.table}`) }, 'Download the scores of the pairs');
  const suite = panel.drawing('facts', 'GLUE', { id: 'evaluate-suite' });
  const files = makeFiles({ id: 'evaluate-files', label: form.upload, accept: ['.csv', '.tsv', '.jsonl', '.zip'],
    onChange: evaluate });
  const part = panel.part([files.node, scores.host, save, suite.host], () => panel.showAny(suite, 'suite'));
  panel.page.on('start', part.redraw);

  async function evaluate() {
    scores.say(files.tokens.length ? 'Scoring …' : null);
    save.hidden = true;
    answer = await panel.ask('evaluate', { run: panel.page.kept('run.id'), files: files.tokens })
      .catch(({ message }) => ({ scores: { message, tone: 'error' } }));
    if (!answer) return;
    scores.show(answer.scores);
    save.hidden = !answer.table;
    if (answer.started) panel.page.emit('follow', answer.started);
  }
}
