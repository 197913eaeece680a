// Causes: a clean text and a corrupted one, what of the one restores or breaks the other's prediction, and folded away
// what adds to the logit and which tokens reach it.

import { h, setOptions, setText } from 'lab/client/dom.js';
import { percent } from 'lab/client/format.js';
import { makeTarget } from 'lab/views/attribution/target.js';

const CORRUPTIONS = [['word', 'another token'], ['mask', '[MASK]'], ['noise', 'noise on the embedding'],
  ['text', 'a text of your own']];
const DIRECTIONS = [['denoising', 'denoising: clean into corrupted'], ['noising', 'noising: corrupted into clean']];
const COMPONENTS = [['residual', 'residual state by token'], ['attention', 'attention output by token'],
  ['feed_forward', 'feed-forward output by token'], ['head', 'attention heads']];
const THRESHOLDS = [0.01, 0.02, 0.05, 0.1, 0.2];
const METHODS = ['value zeroing', 'norm', 'ALTI', 'attention'].map((name) => [name, name]);

export function mount(panel) {
  const { page } = panel;
  const redraw = () => [main, ...folds].forEach((part) => part.redraw());
  const target = makeTarget(panel, redraw);
  const settings = panel.settings({ corruption: 'word', changed: '', replacement: '', direction: 'denoising' }, redraw);
  const look = panel.settings({ component: 'residual' }, () => main.redraw());
  const methods = panel.settings({ method: 'value zeroing', threshold: '0.05' }, () => folds[1].redraw());
  let tokens = []; // that can be changed, as Python last said
  let picked = null; // the cell that somebody clicked, and the question that it belongs to

  const corruption = settings.field('corruption', 'select', 'Corrupt by', { options: CORRUPTIONS });
  const changed = settings.field('changed', 'select', 'Token to change');
  const replacement = settings.field('replacement', 'text', 'Replace by', { placeholder: 'the model’s proposal' });
  const direction = settings.field('direction', 'select', 'Direction', { options: DIRECTIONS });
  const component = look.field('component', 'select', 'Patch', { options: COMPONENTS });
  const { cell, ...parts } = panel.drawings({ facts: ['facts', 'Clean and corrupted text'],
    map: ['chart', 'Effect of each patch', { events: { item_select: pick } }],
    cell: ['chart', 'Prediction with a patch'] });
  cell.host.hidden = true;
  const choices = h('div.fields', corruption.node, changed.node, replacement.node, direction.node, component.node);

  const main = panel.part([...target.nodes, choices, parts.facts.host, parts.map.host, cell.host], async () => {
    const isText = settings.values.corruption === 'text';
    changed.node.hidden = isText;
    replacement.node.hidden = !['word', 'text'].includes(settings.values.corruption);
    setText(replacement.node.querySelector('.name'), isText ? 'Corrupted text A' : 'Replace by');
    const answer = await target.show('patching', parts, () => ({ ...question(), ...look.values }));
    cell.host.hidden = picked?.asked !== asked();
    if (!answer?.tokens) return;
    tokens = answer.tokens.map(([place]) => String(place));
    setOptions(changed.input, answer.tokens, tokens.includes(settings.values.changed) ? settings.values.changed : '');
  });
  const folds = [
    panel.foldOf('decomposition', 'Where the logit comes from: a sum of components',
      ['chart', 'Components of the logit', { id: 'causes-components' }], 'decomposition',
      { more: () => question() }),
    panel.fold('flow', 'Information flow: which tokens reach the prediction', (host) => {
      const method = methods.field('method', 'select', 'Method', { options: METHODS });
      const threshold = methods.field('threshold', 'select', 'Leave out edges under',
        { options: THRESHOLDS.map((share) => [share, percent(share, 0)]) });
      const drawing = (kind, label, id) => panel.drawing(kind, label, { id, linked: kind === 'tokens' });
      const all = drawing('tokens', 'Contribution of each token', 'causes-flow-methods');
      const graph = drawing('chart', 'Paths through the layers', 'causes-flow-graph');
      const layers = drawing('tokens', 'Contributions by layer', 'causes-flow-layers');
      host.append(all.host, h('div.fields', method.node, threshold.node), graph.host, layers.host);
      return () => panel.showParts({ graph, methods: all, layers }, panel.ask('flow', { ...question(),
        method: methods.values.method, threshold: Number(methods.values.threshold) }));
    }),
    panel.foldOf('findings', 'Findings report: five sentences, each with its picture',
      ['findings', 'Findings', { id: 'causes-report', events: { open: (to) => page.open(to) } }], 'findings',
      { more: () => question() }),
  ];

  /** What Python is asked about. */
  function question() {
    const { changed: place, ...others } = settings.values;
    const at = tokens.length && !tokens.includes(place) ? '' : place;
    return { ...target.question(), ...others, changed: at === '' ? null : Number(at) };
  }

  const asked = () => JSON.stringify([page.input, question(), look.values]);

  function pick({ row, column }) {
    picked = { asked: asked() };
    cell.host.hidden = false;
    panel.show(cell, 'patched', { ...question(), ...look.values, layer: row, index: column });
  }

  // Another text has other tokens, and what replaces one of them means nothing there.
  page.on('input', () => {
    tokens = [];
    settings.change({ changed: '', replacement: '' });
  });
  page.on('select', (selected) => {
    if (tokens.includes(String(selected))) settings.change({ changed: String(selected), replacement: '' });
  });
}
