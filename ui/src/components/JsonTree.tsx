// JSON to look at: a tree whose branches open, or the raw text. Nothing is cut; what is hidden says how much.

import { useState } from "react";
import { Button } from "./Button";
import css from "./JsonTree.module.css";
import { Visible } from "./Visible";

const openAtFirst = 40;
const atOnce = 500;

export function JsonTree({ value, label }: { value: unknown; label: string }) {
  const [raw, setRaw] = useState(false);
  const [copied, setCopied] = useState(false);
  const text = JSON.stringify(value, null, 2) ?? "null";
  return (
    <div className={css.box}>
      {/* A scrolling region takes the focus, so that keys can scroll it. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className={css.scroll} role="region" aria-label={label} tabIndex={0}>
        <div className={css.tools}>
          <Button size="s" look="quiet" aria-pressed={raw} onClick={() => setRaw(!raw)}>
            {raw ? "Tree" : "Raw"}
          </Button>
          <Button size="s" look="quiet" onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}>
            {copied ? "Copied" : "Copy"}
          </Button>
        </div>
        {raw ? (
          <pre className={css.raw}>
            <Visible text={text} />
          </pre>
        ) : (
          <Branch value={value} depth={0} />
        )}
      </div>
    </div>
  );
}

function Branch({ name, value, depth }: { name?: string; value: unknown; depth: number }) {
  if (typeof value !== "object" || value === null) return <Leaf name={name} value={value} />;
  const members = Array.isArray(value) ? value.map((each: unknown, index): [string, unknown] => [String(index), each]) : Object.entries(value);
  if (members.length === 0) return <Leaf name={name} value={value} />;
  if (depth === 0 && name === undefined) return <Members members={members} depth={depth} />;
  return <Fold name={name} size={Array.isArray(value) ? `[${members.length}]` : `{${members.length}}`} members={members} depth={depth} />;
}

/** What is folded is not drawn: arguments may hold a hundred thousand values. */
function Fold({ name, size, members, depth }: { name?: string | undefined; size: string; members: [string, unknown][]; depth: number }) {
  const [open, setOpen] = useState(depth < 3 && members.length <= openAtFirst);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {name !== undefined && (
          <span className={css.key}>
            <Visible text={name} />
          </span>
        )}{" "}
        <span className={css.size}>{size}</span>
      </summary>
      {open && <Members members={members} depth={depth} />}
    </details>
  );
}

function Members({ members, depth }: { members: [string, unknown][]; depth: number }) {
  const [shown, setShown] = useState(atOnce);
  return (
    <ul className={css.members}>
      {members.slice(0, shown).map(([key, member]) => (
        <li key={key}>
          <Branch name={key} value={member} depth={depth + 1} />
        </li>
      ))}
      {shown < members.length && (
        <li>
          <Button size="s" onClick={() => setShown(shown + atOnce)}>
            {shown} of {members.length} shown. Show {Math.min(atOnce, members.length - shown)} more
          </Button>
        </li>
      )}
    </ul>
  );
}

function Leaf({ name, value }: { name?: string | undefined; value: unknown }) {
  const isText = typeof value === "string";
  return (
    <div className={css.leaf}>
      {name !== undefined && (
        <span className={css.key}>
          <Visible text={name} />
        </span>
      )}
      <span className={css.value} data-type={value === null ? "null" : typeof value}>
        {isText ? <Visible text={value} /> : JSON.stringify(value)}
      </span>
    </div>
  );
}
