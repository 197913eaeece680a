// Probing classifiers: what can be read off each layer, at the end and over training.

import { h, setOptions } from 'lab/client/dom.js';

/** Ask about the model alone: the text of Explore changes nothing. */
export const askOfModel = ({ page, prefix }, question, more = {}, line = question) =>
  page.ask('layers', question, { model: page.input.model, ...more }, `${prefix}.${line}`);

export function addProbes(panel) {
  async function show(drawing, question, more) {
    if (!drawing.payload || drawing.payload.message) drawing.say('Computing …');
    const payload = await askOfModel(panel, question, more).catch(({ message }) => ({ message }));
    if (payload !== undefined) drawing.show(payload);
  }

  const probing = panel.settings({ task: 'subject' }, () => [probes, training].forEach((part) => part.redraw()));
  const measuring = panel.settings({ measure: 'selectivity' }, () => training.redraw());
  const probes = panel.fold('probes', 'Probes: what a linear classifier reads off each layer', (host) => {
    const task = probing.field('task', 'select', 'Label', { id: 'probes-task' });
    const drawing = panel.drawing('chart', 'Probes', { id: 'probes-by-layer' });
    host.append(h('div.fields', task.node), drawing.host);
    return async () => {
      const choices = await askOfModel(panel, 'tasks').catch(({ message }) => drawing.say(message));
      if (!choices) return;
      setOptions(task.input, choices.tasks, probing.values.task);
      await show(drawing, 'probes', probing.values);
    };
  });
  const training = panel.fold('probes_training', 'Probes over training: the same at every snapshot', (host) => {
    const measure = measuring.field('measure', 'select', 'Show', { id: 'probes-measure' });
    const drawing = panel.drawing('chart', 'Probes over training', { id: 'probes-over-training' });
    host.append(h('div.fields', measure.node), drawing.host);
    return async () => {
      const choices = await askOfModel(panel, 'tasks', {}, 'snapshots').catch(({ message }) => drawing.say(message));
      if (!choices) return;
      setOptions(measure.input, choices.measures, measuring.values.measure);
      if (choices.snapshots)
        await show(drawing, 'probes_over_training', { ...probing.values, ...measuring.values });
      else drawing.say('Without snapshots there is no training to look into: choose tiny-town, or pretrain a model.');
    };
  });
}
