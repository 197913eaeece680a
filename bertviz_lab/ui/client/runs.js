// Runs: the runs of this browser and the shipped models, and a panel for each view of them. The run that was chosen
// last is the setting "runs.run" of the address.

const root = element.querySelector('.lab');
root.classList.add('workspace');
const workspace = makeWorkspace('runs', element, root, ['runs', 'run']);
// There are other runs, or one of them has reached another state.
page.on('start', workspace.refresh);
// What starts a training goes by Gradio's queue; the answer, {asked, message}, comes back as the value of this island.
page.on('train_ablations', (plan) => trigger('train_ablations', plan));
watch('value', () => page.emit('ablations_queued', readPayload()));
