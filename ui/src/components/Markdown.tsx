// Untrusted markdown: no HTML, no script, nothing remote; a link shows its host and asks before it opens.

import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { Children, memo, type ReactNode } from "react";
import { useDesk } from "../store/hooks";
import css from "./Markdown.module.css";
import { Visible } from "./Visible";

/** `code` draws fenced code; without it code is plain. The inspector of messages gives a highlighter. */
export const Markdown = memo(function Markdown({ text, code, inline = false }: { text: string; code?: (code: string, language: string | null) => ReactNode; inline?: boolean }) {
  if (inline) {
    return (
      <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={[rehypeSanitize]} allowedElements={phrasing} unwrapDisallowed components={plain}>
        {text}
      </ReactMarkdown>
    );
  }
  return (
    <div className={css.markdown}>
      <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={[rehypeSanitize]} components={code === undefined ? plain : { ...plain, pre: fenced(code) }}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

/** For headings: what may stand inside one. */
const phrasing = ["a", "strong", "em", "del", "code", "img"];

/** Strings among the children with their hidden characters drawn. */
function shown(children: ReactNode): ReactNode {
  return Children.map(children, (child) => (typeof child === "string" ? <Visible text={child} /> : child));
}

const plain: Components = {
  a: ({ href, children }) => <HostLink href={href ?? ""}>{shown(children)}</HostLink>,
  // Images would load from anywhere; their text stands for them.
  img: ({ alt, src }) => <span className={css.image}>image not loaded: {alt === undefined || alt === "" ? (src ?? "") : alt}</span>,
  p: ({ children }) => <p>{shown(children)}</p>,
  li: ({ children, className }) => <li className={className}>{shown(children)}</li>,
  td: ({ children }) => <td>{shown(children)}</td>,
  th: ({ children }) => <th>{shown(children)}</th>,
  strong: ({ children }) => <strong>{shown(children)}</strong>,
  em: ({ children }) => <em>{shown(children)}</em>,
  del: ({ children }) => <del>{shown(children)}</del>,
  code: ({ children, className }) => <code className={className}>{shown(children)}</code>,
  h1: ({ children }) => <h3>{shown(children)}</h3>,
  h2: ({ children }) => <h3>{shown(children)}</h3>,
  h3: ({ children }) => <h4>{shown(children)}</h4>,
  h4: ({ children }) => <h4>{shown(children)}</h4>,
  h5: ({ children }) => <h4>{shown(children)}</h4>,
  h6: ({ children }) => <h4>{shown(children)}</h4>,
  pre: ({ children }) => (
    // A long line scrolls, and keys scroll only what has the focus.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <pre tabIndex={0}>{children}</pre>
  ),
};

function fenced(code: (code: string, language: string | null) => ReactNode): Components["pre"] {
  return function Pre({ node, children }) {
    const inner = node?.children[0];
    if (inner?.type !== "element" || inner.tagName !== "code") return <pre>{children}</pre>;
    const source = inner.children.map((child) => (child.type === "text" ? child.value : "")).join("");
    const classes = inner.properties.className;
    const language = Array.isArray(classes) ? classes.map(String).find((each) => each.startsWith("language-")) : undefined;
    return code(source.replace(/\n$/, ""), language?.slice("language-".length) ?? null);
  };
}

/** A link that names its host and opens only after the person saw the whole address. */
export function HostLink({ href, children }: { href: string; children: ReactNode }) {
  const desk = useDesk();
  const host = hostOf(href);
  if (host === null) return <span>{children}</span>;
  return (
    <button type="button" className={css.link} onClick={() => desk.ui.setState({ link: href })}>
      <span className={css.text}>{children}</span> <span className={css.host}>({host})</span>
    </button>
  );
}

/** Host of a web address; null for anything that is not one. */
export function hostOf(href: string): string | null {
  try {
    const url = new URL(href);
    if (url.protocol === "mailto:") return url.pathname;
    return url.protocol === "http:" || url.protocol === "https:" ? url.host : null;
  } catch {
    return null;
  }
}
