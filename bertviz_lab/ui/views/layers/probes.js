// Probing classifiers: what can be read off each layer, at the end and over training.

import { h, setOptions } from 'lab/client/dom.js';

export function addProbes(panel) {
  const probing = panel.settings({ task: 'subject' }, () => [probes, training].forEach((part) => part.redraw()));
  const measuring = panel.settings({ measure: 'selectivity' }, () => training.redraw());
  const probes = panel.fold('probes', 'Probes: what a linear classifier reads off each layer', (host) => {
    const task = probing.field('task', 'select', 'Label', { id: 'probes-task' });
    const drawing = panel.drawing('chart', 'Probes', { id: 'probes-by-layer' });
    host.append(h('div.fields', task.node), drawing.host);
    return async () => {
      const choices = await panel.ask('tasks').catch(({ message }) => drawing.say(message));
      if (!choices) return;
      setOptions(task.input, choices.tasks, probing.values.task);
      await panel.show(drawing, 'probes', probing.values);
    };
  });
  const training = panel.fold('probes_training', 'Probes over training: the same at every snapshot', (host) => {
    const measure = measuring.field('measure', 'select', 'Show', { id: 'probes-measure' });
    const drawing = panel.drawing('chart', 'Probes over training', { id: 'probes-over-training' });
    host.append(h('div.fields', measure.node), drawing.host);
    return async () => {
      const choices = await panel.ask('tasks', {}, 'snapshots').catch(({ message }) => drawing.say(message));
      if (!choices) return;
      setOptions(measure.input, choices.measures, measuring.values.measure);
      if (choices.snapshots)
        await panel.show(drawing, 'probes_over_training', { ...probing.values, ...measuring.values });
      else drawing.say('Without snapshots there is no training to look into: choose tiny-town, or pretrain a model.');
    };
  });
}
