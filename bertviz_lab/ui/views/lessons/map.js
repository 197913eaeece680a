// The picture of BERT beside the lessons: of the model that a lesson is about, with the parts lit that it is about.

import { h, makeField } from 'lab/client/dom.js';
import { gettext, page } from 'lab/client/page.js';
import { makeDrawing } from 'lab/client/panel.js';
import { showModel } from 'lab/views/architecture/view.js';

const TYPING = 600; // milliseconds without a key until what was typed is drawn
const WIDE = '(min-width: 1200px)'; // where it is beside the lesson (lessons.css), and open from the start

/** {node, show(lesson)}; it is hidden where there is no lesson. It asks for numbers only while it is open, and keeps
 * those of the same text. */
export function makeMap() {
  let lesson = null;
  let drawn = ''; // the model and texts that are on the picture
  const typed = makeField('text', gettext('Your own sentence'), '', draw, { rest: TYPING, maxlength: 500 });
  const picture = makeDrawing('architecture', gettext('BERT in one picture'), { gettext, isCompact: true,
    events: { open: openView } });
  const node = h('details.map', { open: matchMedia(WIDE).matches, ontoggle: draw },
    h('summary', gettext('BERT in one picture')), typed.node, picture.host);

  function input() {
    const { model, texts: [first, second] } = lesson.picture;
    return typed.value.trim() ? { model, text_a: typed.value, text_b: '' } : { model, text_a: first, text_b: second };
  }

  function openView(place) {
    const { number, title } = lesson;
    page.open({ space: 'explore', ...place, input: { ...input(), other: '' },
      lesson: { number, title, text: gettext('The part of the picture, in detail.') } });
  }

  async function draw() {
    if (!node.open || !lesson) return;
    const { lights } = lesson.picture;
    const asked = JSON.stringify(input());
    if (asked === drawn && picture.payload?.name) {
      picture.show({ ...picture.payload.given, lights });
      return;
    }
    drawn = asked;
    await showModel(input(), picture, page, 'map', { lights }).catch(({ message }) => {
      drawn = '';
      picture.say(gettext(message));
    });
  }

  return { node, show(now) {
    lesson = now?.picture ? now : null;
    node.hidden = !lesson;
    if (lesson) typed.input.placeholder = lesson.picture.texts[0];
    draw();
  } };
}
