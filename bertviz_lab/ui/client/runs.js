// Runs: the visitor's runs and the shipped models, and a panel for each view of them. The one that was chosen last
// is the setting "run.id" of the address.

const root = element.querySelector('.lab');
root.classList.add('workspace');
const workspace = makeWorkspace('runs', element, root, ['runs', 'run']);
// There are other runs, or one of them has reached another state.
page.on('start', workspace.refresh);
