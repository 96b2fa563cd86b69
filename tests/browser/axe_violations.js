/* What axe says against the page that is open, without what it has examined before. A function for Playwright.

   Colours: a text with the same colours and fonts as one that axe has passed has the same contrast.
   Parts: a bar of the page or an entry of the sidebar is the same as on an earlier page if its HTML is. */
async ({ theme, tags, colourRules, partSelector, knownColours, knownParts }) => {
  const TRANSPARENT = "rgba(0, 0, 0, 0)";

  /* What the contrast of a text depends on; empty if the text may lie above something that it is not part of. */
  function coloursOf(element) {
    const own = getComputedStyle(element);
    const values = [theme, own.color, own.fontSize, own.fontWeight, own.textShadow];
    if (element.tagName === "A") {
      const around = getComputedStyle(element.parentElement);
      values.push(own.display, own.textDecoration, own.fontStyle, own.borderBottom);
      values.push(around.color, around.fontWeight, around.fontStyle);
    }
    for (let box = element; box; box = box.parentElement) {
      const { backgroundColor, backgroundImage, filter, mixBlendMode, opacity, position } = getComputedStyle(box);
      values.push(backgroundImage, filter, mixBlendMode, opacity);
      if (backgroundColor !== TRANSPARENT) values.push(backgroundColor);
      if (backgroundColor.startsWith("rgb(")) break; // opaque: what is behind it does not matter
      if (!["static", "relative"].includes(position)) return "";
    }
    return values.join(" ");
  }

  /* Form fields, and elements that are seen and have a text of their own. */
  function hasText(element) {
    const box = element.getBoundingClientRect();
    return (
      element.checkVisibility({ visibilityProperty: true }) &&
      box.width > 1 &&
      box.height > 1 &&
      getComputedStyle(element).fontSize !== "0px" &&
      (element.matches("input, select, textarea") ||
        [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()))
    );
  }

  function describe(rules) {
    return rules.flatMap((rule) => rule.nodes.map((node) => `${theme}: ${rule.id}: ${node.html.slice(0, 160)}`));
  }

  async function checkColours() {
    const colours = new Map();
    for (const element of document.body.querySelectorAll("*")) {
      if (hasText(element)) colours.set(element, coloursOf(element));
    }
    const unknown = [...colours.keys()].filter((element) => !knownColours.includes(colours.get(element)));
    if (!unknown.length) return { violations: [], passed: [] };
    const runOnly = { type: "rule", values: colourRules };
    const options = { runOnly, resultTypes: ["violations", "passes"], preload: false, elementRef: true };
    const { violations, passes } = await axe.run({ include: unknown }, options);
    const passed = passes.find((rule) => rule.id === "color-contrast")?.nodes ?? [];
    return { violations, passed: [...new Set(passed.map((node) => colours.get(node.element)).filter(Boolean))] };
  }

  async function checkEverythingElse() {
    const parts = new Map();
    for (const part of document.querySelectorAll(partSelector)) {
      parts.set(part, part.outerHTML.replace(/<input type="hidden"[^>]*>/g, ""));
    }
    const exclude = [...parts.keys()].filter((part) => knownParts.includes(parts.get(part)));
    const rules = Object.fromEntries(colourRules.map((rule) => [rule, { enabled: false }]));
    const options = { runOnly: tags, rules, resultTypes: ["violations"], preload: false };
    const { violations } = await axe.run({ include: [document.documentElement], exclude }, options);
    return { violations, parts: [...parts.values()] };
  }

  const everythingElse = theme === "light" ? await checkEverythingElse() : { violations: [], parts: [] };
  const { violations, passed } = await checkColours();
  const wrong = describe([...everythingElse.violations, ...violations]);
  return { wrong, colours: passed, parts: everythingElse.violations.length ? [] : everythingElse.parts };
}
