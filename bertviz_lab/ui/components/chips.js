// Example sentences as buttons. Their text may come from a person's own file: it is only ever text.

const root = element.querySelector('.lab');
root.setAttribute('role', 'group');
root.setAttribute('aria-label', props.label ?? 'Examples');

function update() {
  const body = readPayload();
  const items = body?.items ?? [];
  root.hidden = items.length === 0;
  root.replaceChildren(h('span', { class: 'quiet' }, body?.label ?? ''), ...items.map((texts) =>
    h('button', { type: 'button', class: 'chip', title: body.does ?? 'Put this into the field', onclick: () => trigger('pick', { texts }) },
      texts.slice(0, body.shown).filter((text) => text).join('  |  '))));
}

watch('value', update);
update();
