"use strict";
(() => {
const root = document.documentElement, theme = document.getElementById("theme");
const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
try { const kept = localStorage.getItem("theme"); if (kept) root.dataset.theme = kept; } catch { /* not allowed: the system decides */ }
const tell = () => { theme.textContent = isDark() ? "Switch to light" : "Switch to dark"; theme.hidden = false; };
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tell);
theme.onclick = () => { root.dataset.theme = isDark() ? "light" : "dark"; try { localStorage.setItem("theme", root.dataset.theme); } catch { /* as above */ } tell(); };
tell();

// A filter is applied as soon as it is chosen; the button stays for keyboards and for search.
for (const form of document.querySelectorAll("form.filters"))
  form.addEventListener("change", (e) => {
    if (e.target.type === "search" || e.target.type === "number") return;
    const flip = form.querySelectorAll(".flip select");
    if (flip.length && [...flip].filter((s) => s.value).length === 1) return;
    form.requestSubmit();
  });

// While a run goes on: look for more, and renew the page's content without moving the reader.
const where = document.body.dataset.live, live = document.getElementById("live");
let seen = +document.body.dataset.samples;
async function look() {
  try {
    const told = await (await fetch(where)).json();
    if (told.samples !== seen || told.complete) {
      seen = told.samples;
      const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
      const busy = document.activeElement && document.activeElement.closest("form");
      for (const part of ["#count", ".lines", ".outcomes", "main > .scroll", ".pager"]) {
        const now = document.querySelector(part), next = page.querySelector(part);
        if (now && next && !(part === ".pager" && busy)) now.replaceWith(next);
      }
    }
    live.textContent = told.complete ? `complete: ${seen.toLocaleString("en")} samples` : `going on: ${seen.toLocaleString("en")} samples so far`;
    if (!told.complete) setTimeout(look, 2000);
  } catch { live.textContent = "the viewer does not answer"; setTimeout(look, 5000); }
}
if (where) look();
})();
