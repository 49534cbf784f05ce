// The trial's own clock and keys. Without this script the form works as well; times are then missing.
'use strict';
(() => {
  const form = document.getElementById('trial');
  if (!form) {
    // Where there is something to decide, nothing is chosen beforehand: no button of consent is `first`.
    const first = document.querySelector('a.button, button.first');
    if (first) first.focus();
    return;
  }
  let shown = performance.now();
  let blurs = 0, input = 'key', answered = null, sent = false;
  // Whoever answers before the page is drawn is timed from its arrival: never from after the answer.
  const drawn = () => { if (answered === null && !sent && !words.length) shown = performance.now(); };
  requestAnimationFrame(() => requestAnimationFrame(drawn));
  addEventListener('blur', () => { blurs += 1; });
  addEventListener('pointerdown', (e) => { input = e.pointerType === 'mouse' ? 'mouse' : 'touch'; });
  const field = (name) => form.elements.namedItem(name);
  const boxes = [...form.querySelectorAll('input[name=answer]')].filter((b) => b.type === 'radio' || b.type === 'checkbox');
  // Self-paced reading: from one press to the next, the time of the word that stands uncovered between them.
  const words = [...form.querySelectorAll('.word')];
  const times = [];
  let at = -1, since = 0;
  const reading = () => at < words.length && words.length > 0;
  const onward = () => {
    const now = performance.now();
    if (at >= 0) {
      times.push(now - since);
      words[at].classList.remove('now');
    }
    since = now;
    at += 1;
    if (reading()) {
      words[at].classList.add('now');
      return;
    }
    field('times').value = times.map((t) => t.toFixed(1)).join(' ');
    form.classList.remove('unread');
    if (form.dataset.kind === 'read') form.requestSubmit();
    else shown = performance.now();
  };
  if (words.length) {
    form.classList.add('scripted');
    document.getElementById('window').addEventListener('pointerdown', () => { if (reading()) onward(); });
  }
  form.addEventListener('input', () => { answered = performance.now(); });
  addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (reading()) {
      if (e.key !== ' ' || e.target instanceof HTMLAnchorElement) return;
      e.preventDefault();
      // A key that is held down reads nothing.
      if (!e.repeat) { input = 'key'; onward(); }
      return;
    }
    if (!boxes.length) return;
    if (e.key === 'Enter') {
      if (e.target instanceof HTMLAnchorElement || e.target instanceof HTMLButtonElement) return;
      input = 'key';
      e.preventDefault();
      form.requestSubmit();
      return;
    }
    const byMark = boxes.find((b) => form.querySelector('.scale') && b.value === e.key);
    const at = Number.parseInt(e.key, 10);
    const box = byMark || (at >= 1 && at <= boxes.length ? boxes[at - 1] : null);
    if (!box) return;
    input = 'key';
    e.preventDefault();
    box.checked = box.type === 'radio' ? true : !box.checked;
    box.focus();
    answered = performance.now();
  });
  form.addEventListener('submit', (e) => {
    if (sent) { e.preventDefault(); return; }
    sent = true;
    const now = performance.now();
    field('rt').value = ((answered ?? now) - shown).toFixed(1);
    field('elapsed').value = now.toFixed(1);
    field('blurs').value = String(blurs);
    field('width').value = String(innerWidth);
    field('height').value = String(innerHeight);
    field('input').value = input;
  });
  addEventListener('pageshow', (e) => { if (e.persisted) location.reload(); });
  const seconds = Number(form.dataset.seconds);
  const clock = document.getElementById('clock');
  if (seconds > 0) {
    const tick = setInterval(() => {
      if (reading()) return;
      const left = Math.max(0, seconds - (performance.now() - shown) / 1000);
      clock.textContent = `${Math.ceil(left)} ${clock.dataset.words}`;
      if (left > 0 || sent) return;
      clearInterval(tick);
      for (const b of boxes) { b.checked = false; b.required = false; b.disabled = true; }
      const over = document.createElement('input');
      over.type = 'hidden'; over.name = 'answer'; over.value = 'time-out';
      const written = document.getElementById('answer');
      if (written) { written.disabled = true; }
      form.append(over);
      form.requestSubmit();
    }, 200);
  }
})();
