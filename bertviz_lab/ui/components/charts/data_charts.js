// Labels and sequence lengths of a data set, each folded away and drawn when it is opened.

const root = element.querySelector('.lab');
root.classList.add('workspace');
root.setAttribute('role', 'group');
root.setAttribute('aria-label', props.label);
const folds = [['labels', 'Labels', 'Label distribution'], ['lengths', 'Sequence lengths', 'Distribution of sequence lengths']]
  .map(([name, title, label]) => {
    const drawing = makeDrawing('chart', label, { id: `examples-${name}` });
    const node = h('details', { class: 'fold', id: `examples-${name}-part` }, h('summary', {}, title), drawing.host);
    const draw = () => {
      if (node.open) drawing.show(readPayload()?.[name] ?? { message: 'These are shown once the data set has been read.' });
    };
    node.addEventListener('toggle', draw);
    return { node, draw };
  });
root.append(...folds.map(({ node }) => node));

onValue(() => folds.forEach(({ draw }) => draw()));
