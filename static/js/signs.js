// What is noticed while somebody writes, where the study says so and the consent names it: counts, never contents.

/**
 * @param {HTMLFormElement} form with hidden fields sign-pasted, sign-typed, ...; without them nothing is noticed
 * @returns {{stop: () => void}}
 */
export function keepSigns(form) {
  const field = (name) => form.elements.namedItem(`sign-${name}`);
  if (!field("pasted")) return { stop() {} };
  const add = (name, count) => { field(name).value = Number(field(name).value) + count; };
  let lastKey = 0, leftAt = 0;

  const onPaste = (event) => {
    if (event.target instanceof HTMLTextAreaElement) add("pasted", event.clipboardData?.getData("text").length ?? 0);
  };
  const onInput = (event) => {
    if (!(event.target instanceof HTMLTextAreaElement) || event.inputType === "insertFromPaste") return;
    add("typed", event.data?.length ?? 0);
    const now = Date.now();
    // A pause of more than half a minute is no composing.
    if (lastKey && now - lastKey < 30_000) composed += now - lastKey;
    lastKey = now;
    field("composing_seconds").value = Math.round(composed / 1000);
  };
  let composed = Number(field("composing_seconds").value) * 1000;
  const onBlur = () => { leftAt = Date.now(); add("left", 1); };
  const onFocus = () => {
    if (leftAt) add("away_seconds", Math.round((Date.now() - leftAt) / 1000));
    leftAt = 0;
  };

  form.addEventListener("paste", onPaste);
  form.addEventListener("input", onInput);
  addEventListener("blur", onBlur);
  addEventListener("focus", onFocus);
  return {
    stop() {
      removeEventListener("blur", onBlur);
      removeEventListener("focus", onFocus);
    },
  };
}
