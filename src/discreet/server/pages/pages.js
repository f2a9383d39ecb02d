// Completion, the slider, the caret at a fault, and logs that follow. Pages work without this script; it loads nothing from elsewhere.
"use strict";

const made = (tag, given, ...inside) => {
  const one = Object.assign(document.createElement(tag), given);
  one.append(...inside);
  return one;
};

// Parts that follow: they are got again every ten seconds while somebody looks and nobody is at work in them.
const follow = async () => {
  if (document.hidden) return;
  try {
    const seen = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
    for (const was of document.querySelectorAll("[data-live]")) {
      const now = seen.getElementById(was.id);
      const open = new Set([...was.querySelectorAll("details[open] > summary")].map((one) => one.textContent));
      for (const one of now?.querySelectorAll("details > summary") ?? [])
        one.parentElement.open = open.has(one.textContent);
      if (now && now.innerHTML !== was.innerHTML && !was.contains(document.activeElement))
        was.replaceWith(document.adoptNode(now));
    }
  } catch { /* the next time */ }
};
if (document.querySelector("[data-live]")) setInterval(follow, 10_000);

// The caret stands where the question is at fault.
const editor = document.getElementById("query");
const fault = document.querySelector(".fault[data-line]");
if (editor && fault) {
  const before = editor.value.split("\n").slice(0, fault.dataset.line - 1);
  const at = before.reduce((sum, line) => sum + line.length + 1, 0) + Number(fault.dataset.column) - 1;
  editor.focus();
  editor.setSelectionRange(at, at);
}

// Completion: arrows choose, Enter takes the chosen one, Tab that or the first one, Escape closes, Ctrl+Space opens.
if (editor) {
  const words = JSON.parse(editor.dataset.words);
  const list = made("ul", { id: "completions", className: "completions", hidden: true, role: "listbox", ariaLabel: "Completions" });
  const told = made("p", { className: "unseen", role: "status" });
  let begun = "", chosen = -1;
  editor.after(list, told);
  for (const [name, value] of [["aria-autocomplete", "list"], ["aria-controls", list.id], ["aria-haspopup", "listbox"]])
    editor.setAttribute(name, value);

  const close = () => { list.hidden = true; list.replaceChildren(); editor.removeAttribute("aria-activedescendant"); };
  const choose = (index) => {
    const all = [...list.children];
    chosen = (index + all.length) % all.length;
    all.forEach((one, i) => one.setAttribute("aria-selected", i === chosen));
    editor.setAttribute("aria-activedescendant", all[chosen].id);
    all[chosen].scrollIntoView({ block: "nearest" });
  };
  const take = (word) => {
    const end = editor.selectionStart;
    editor.setRangeText(word, end - begun.length, end, "end");
    close();
    editor.focus();
  };
  const open = (least) => {
    begun = /[\w.]*$/.exec(editor.value.slice(0, editor.selectionStart))[0];
    const found = begun.length < least ? [] : words.filter(([word]) =>
      word.replace(/^"/, "").toLowerCase().startsWith(begun.toLowerCase()) && word !== begun);
    close();
    chosen = -1;
    found.slice(0, 8).forEach(([word, kind], i) => {
      const one = made("li", { id: `completion-${i}`, role: "option", ariaSelected: "false" },
        made("code", {}, word), " ", made("span", { className: "hint" }, kind));
      one.addEventListener("mousedown", (event) => { event.preventDefault(); take(word); });
      one.dataset.word = word;
      list.append(one);
    });
    list.hidden = !found.length;
    list.style.top = `${editor.offsetTop + editor.offsetHeight}px`;
    told.textContent = found.length ? `${found.length} completion${found.length === 1 ? "" : "s"}` : "";
  };
  editor.addEventListener("input", (event) => event.inputType?.startsWith("insertFromPaste") ? close() : open(2));
  editor.addEventListener("blur", close);
  editor.addEventListener("keydown", (event) => {
    if (event.ctrlKey && event.key === " ") { open(0); event.preventDefault(); return; }
    if (event.ctrlKey && event.key === "Enter") { editor.form.requestSubmit(); return; }
    if (list.hidden) return;
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen < 0 ? -1 : chosen - 1);
    else if (event.key === "Escape") close();
    else if (event.key === "Tab" && !event.shiftKey) take(list.children[Math.max(chosen, 0)].dataset.word);
    else if (event.key === "Enter" && chosen >= 0) take(list.children[chosen].dataset.word);
    else return;
    event.preventDefault();
  });
}

// The slider: each place is a price, for which the page is asked as its button would ask; one request at a time.
const place = document.getElementById("slider");
if (place) {
  const price = (x) => Number((10 ** x).toPrecision(2)).toString();
  const current = Number(document.querySelector("#prices .chosen button").value) || 0.1;
  const range = made("input", { type: "range", id: "price", min: Math.min(-2, Math.log10(current)),
    max: Math.max(0, Math.log10(current)), step: "any", value: Math.log10(current) });
  const said = () => range.setAttribute("aria-valuetext", `epsilon ${price(range.value)}`);
  let wanted = null, busy = false;
  const move = async () => {
    if (busy) return;
    busy = true;
    while (wanted !== null) {
      const form = document.getElementById("prices"), given = new URLSearchParams(new FormData(form));
      const address = new URL(form.action), get = form.method === "get";
      given.set("epsilon", wanted);
      wanted = null;
      if (get) address.search = given;
      try {
        const answer = await fetch(address, get ? {} : { method: "post", body: given });
        const seen = new DOMParser().parseFromString(await answer.text(), "text/html");
        const now = seen.getElementById("previewed");
        if (!now) continue;
        const folds = () => [...document.querySelectorAll("#previewed details")], was = folds().map((one) => one.open);
        document.getElementById("previewed").replaceWith(document.adoptNode(now));
        folds().forEach((one, i) => { one.open = was[i]; });
        for (const id of ["epsilon", "precise"])
          if (document.getElementById(id)) document.getElementById(id).value = given.get("epsilon");
      } catch { /* the last preview stays */ }
      await new Promise((done) => setTimeout(done, 120));
    }
    busy = false;
  };
  range.addEventListener("input", () => { said(); wanted = price(range.value); move(); });
  said();
  place.append(made("label", { htmlFor: "price" }, "Move to choose a price"), range,
    made("div", { className: "ends", ariaHidden: "true" }, made("span", {}, "better privacy"), made("span", {}, "better accuracy")));
  place.hidden = false;
  document.querySelector("details.choices").open = false;
}
