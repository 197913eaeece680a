// The run of a tab that trains: the same panel as in Runs, with the visitor's newest run of the tab's kind.

const root = element.querySelector('.lab');
root.classList.add('workspace');
const body = h('div', { class: 'lab-view-run' });
root.append(body);
const panel = Object.assign(makePanel(KNOWN_VIEWS.find(({ id }) => id === 'run'), body, props.kind), { kind: props.kind });
VIEWS.run(panel, body, panel.page);
new IntersectionObserver((entries) => panel.setSeen(entries.at(-1).isIntersecting), { rootMargin: NEAR }).observe(root);
page.on('start', panel.refresh);
