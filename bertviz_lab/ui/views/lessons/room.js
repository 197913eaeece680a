// The room of a workshop: every few seconds this browser says where it is and what it predicts, without a name, and is
// told what the leader has called and revealed.

async function report() {
  const { room, at, chosen, done } = memory;
  const answer = await fetch('room', posted(room && room === page.room?.room ? { room, at, chosen, done } : {}));
  return answer.ok ? answer.json() : undefined;
}

function take(told) {
  // What was done before belongs to another room. A link may have led to a lesson; a leader who begins anew does so at 1.
  if (told.room !== memory.room) keep({ room: told.room, at: page.room ? 1 : memory.at, chosen: {}, done: [], called: 0 });
  page.room = told;
  page.emit('room');
  if (told.call.lesson && told.call.number > memory.called) {
    keep({ called: told.call.number });
    page.lesson = told.call.lesson; // Learn may not be there yet, and then begins with it
    page.open({ space: 'learn', show: 'lessons', lesson: { number: page.lesson } });
  }
  return 2500; // milliseconds
}

if (readPayload()?.workshop) poll(report, take, () => element.isConnected);
