/** Colours for code, in pieces that are drawn as text. Read on first use, one language at a time; code without them is complete. */
import type { HighlighterCore, LanguageInput } from "shiki/core";
import { useEffect, useState } from "react";

export interface Coloured {
  readonly text: string;
  readonly light: string | undefined;
  readonly dark: string | undefined;
}

/** Longer code costs more than a frame, and is not read by its colours. */
const longest = 20_000;

const languages: Record<string, () => LanguageInput> = {
  bash: () => import("shiki/langs/bash.mjs"),
  css: () => import("shiki/langs/css.mjs"),
  diff: () => import("shiki/langs/diff.mjs"),
  go: () => import("shiki/langs/go.mjs"),
  html: () => import("shiki/langs/html.mjs"),
  java: () => import("shiki/langs/java.mjs"),
  javascript: () => import("shiki/langs/javascript.mjs"),
  json: () => import("shiki/langs/json.mjs"),
  python: () => import("shiki/langs/python.mjs"),
  rust: () => import("shiki/langs/rust.mjs"),
  sql: () => import("shiki/langs/sql.mjs"),
  toml: () => import("shiki/langs/toml.mjs"),
  typescript: () => import("shiki/langs/typescript.mjs"),
  yaml: () => import("shiki/langs/yaml.mjs"),
};

const otherNames: Record<string, string> = {
  sh: "bash", shell: "bash", zsh: "bash", js: "javascript", mjs: "javascript", jsx: "javascript", ts: "typescript", tsx: "typescript",
  py: "python", rs: "rust", yml: "yaml", patch: "diff", jsonc: "json", postgres: "sql",
};

export function knownLanguage(name: string | null): string | null {
  const plain = (name ?? "").toLowerCase();
  const language = otherNames[plain] ?? plain;
  return Object.hasOwn(languages, language) ? language : null;
}

let highlighter: Promise<HighlighterCore> | null = null;

async function start(): Promise<HighlighterCore> {
  const [{ createHighlighterCore }, { createJavaScriptRegexEngine }] = await Promise.all([import("shiki/core"), import("shiki/engine/javascript")]);
  return createHighlighterCore({
    themes: [import("shiki/themes/github-light-high-contrast.mjs"), import("shiki/themes/github-dark-high-contrast.mjs")],
    langs: [],
    // The other engine is WebAssembly, which the content security policy does not allow.
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
}

export async function highlight(code: string, language: string): Promise<Coloured[][]> {
  highlighter ??= start();
  const core = await highlighter;
  const grammar = languages[language];
  if (grammar !== undefined && !core.getLoadedLanguages().includes(language)) await core.loadLanguage(grammar());
  const themes = { light: "github-light-high-contrast", dark: "github-dark-high-contrast" };
  return core.codeToTokensWithThemes(code, { lang: language, themes }).map((line) =>
    line.map((token) => ({ text: token.content, light: token.variants.light?.color, dark: token.variants.dark?.color })),
  );
}

/** Null while there are no colours (yet). */
export function useHighlight(code: string, language: string | null): readonly (readonly Coloured[])[] | null {
  const known = knownLanguage(language);
  const [done, setDone] = useState<{ code: string; lines: Coloured[][] } | null>(null);
  useEffect(() => {
    if (known === null || code.length > longest) return;
    let current = true;
    highlight(code, known).then(
      (lines) => { if (current) setDone({ code, lines }); },
      // Without colours the code is still all there.
      () => undefined,
    );
    return () => { current = false; };
  }, [code, known]);
  return done?.code === code ? done.lines : null;
}
