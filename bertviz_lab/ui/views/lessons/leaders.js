// For who leads others: all lessons on one page with times, answers and links, and the sheet to hand out.

const here = () => location.origin + location.pathname;

/** `back()` returns to the lessons. The measurements come one by one. */
function drawLeader(lessons, back) {
  const heading = h('h2', { tabindex: '-1' }, 'For leaders');
  const minutes = lessons.reduce((sum, lesson) => sum + lesson.minutes, 0);
  const rows = lessons.map((lesson) => drawRow(lesson));
  const node = h('article', { class: 'leader' },
    h('div', { class: 'act' }, heading, h('button', { type: 'button', class: 'plain push', onclick: back }, 'Back to the lessons')),
    paragraph(`${lessons.length} lessons, ${minutes} minutes in all; the first eight make an hour of their own. Each works alone. Let everybody predict and say why before anybody `
      + 'reveals; wrong predictions are worth discussing most. The answers below are measured on this page now.', { class: 'idea' }),
    drawSheet(), ...rows.map((row) => row.node));
  ask(rows);
  return { node, heading };
}

async function ask(rows) {
  for (const row of rows) {
    if (row.node.isConnected || row === rows[0]) row.tell(await measured(row.number));
  }
}

function drawSheet() {
  const said = h('span', { class: 'quiet', role: 'status' });
  const fetching = (use) => async () => {
    said.textContent = 'Measuring …';
    try {
      const sheet = await page.ask('lessons', 'handout', { address: here() });
      if (sheet) use(sheet);
      said.textContent = '';
    } catch (error) {
      said.textContent = error.message;
    }
  };
  const button = (words, use) => h('button', { type: 'button', class: 'plain', onclick: fetching(use) }, words);
  return h('div', { class: 'act' }, button('Print the handout', print),
    button('Save the handout', (sheet) => saveText('bertviz-lab-lessons.html', 'text/html', sheet)), said,
    h('p', { class: 'quiet' }, 'Five sides of A4: the questions, and the answers to cut off or keep.'));
}

/** Print the sheet without leaving this page. */
function print(sheet) {
  element.querySelector('iframe')?.remove();
  const frame = h('iframe', { class: 'hush', 'aria-hidden': 'true', title: 'The handout', tabindex: '-1' });
  frame.onload = () => frame.contentWindow.print();
  frame.srcdoc = sheet;
  element.append(frame);
}

function drawRow(lesson) {
  const answers = lesson.choices.map((text) => h('li', {}, ...marked(text)));
  const told = h('div', { class: 'told' }, h('p', { class: 'quiet' }, 'Measuring …'));
  const address = `${here()}?lesson=${lesson.number}`;
  const node = h('section', { class: 'row' },
    h('h3', {}, `${lesson.number}. ${lesson.title}`, h('span', { class: 'quiet' }, ` · ${lesson.minutes} minutes · ${lesson.model}`)),
    lesson.example ? h('p', { class: 'example mono small' }, lesson.example) : null, h('p', {}, h('b', {}, ...marked(lesson.question))), h('ul', { class: 'answers' }, ...answers), told,
    h('p', { class: 'links small' }, h('span', { class: 'quiet' }, 'To hand out: '), h('a', { href: address }, address)));
  const tell = (body) => {
    if (body.message) {
      told.replaceChildren(h('p', {}, body.message));
      return;
    }
    answers[body.answer]?.classList.add('right');
    answers[body.answer]?.append(' ✓');
    told.replaceChildren(...body.paragraphs.map((text) => paragraph(text)), h('ul', { class: 'links quiet small' },
      ...body.links.map(([name, link, text]) => h('li', {}, h('a', { href: here() + link }, name), ': ', ...marked(text)))));
  };
  return { number: lesson.number, node, tell };
}
