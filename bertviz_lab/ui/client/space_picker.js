// On a narrow screen the workspaces are a list to choose from instead of tabs; page.css shows one of the two.

const picker = h('select', { id: 'space-picker', 'aria-label': 'Workspace', onchange: () => page.open({ space: picker.value }) },
  ...Object.entries(page.SPACES).map(([value, name]) => h('option', { value }, name)));
element.querySelector('header')?.after(picker);
picker.value = page.space || 'explore';
page.on('space', (name) => { picker.value = name; });
