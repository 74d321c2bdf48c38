// What would run, whole: the requester's preview, the tool with what its arguments say, and whatever else the question carries.

import { SquareTerminal } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { Button } from "../../components/Button";
import { Chip } from "../../components/Chip";
import { Diff, diffLines } from "../../components/Diff";
import { JsonTree } from "../../components/JsonTree";
import { Markdown } from "../../components/Markdown";
import { Visible } from "../../components/Visible";
import { derive, type Derived, type FileChange } from "./derived";
import css from "./PreviewPart.module.css";
import type { Preview, Risk, Tool } from "./question";

export function PreviewPart({ preview }: { preview: Preview }) {
  switch (preview.kind) {
    case "diff":
      return (
        <Box title={preview.path === null ? "Changes" : <Visible text={preview.path} />}>
          <Diff lines={diffLines(preview.text)} />
        </Box>
      );
    case "markdown":
      return (
        <Box title="Preview">
          <div className={css.markdown}>
            <Markdown text={preview.text} />
          </div>
        </Box>
      );
    case "command":
      return (
        <Box title={preview.cwd === null ? "Command" : <>Command in <Visible text={preview.cwd} /></>} icon={<SquareTerminal aria-hidden="true" />}>
          <CommandText command={preview.command} />
        </Box>
      );
    case "json":
      return (
        <Box title="Preview">
          <JsonTree value={preview.value} label="Preview" />
        </Box>
      );
  }
}

/** The tool, whose it is, and what it would get: what can be read off the arguments plainly, and always the arguments themselves. */
export function ToolPart({ tool, risk, hasPreview }: { tool: Tool; risk: Risk | null; hasPreview: boolean }) {
  const derived = useMemo(() => (hasPreview ? null : derive(tool.arguments)), [hasPreview, tool.arguments]);
  const tree = <JsonTree value={tool.arguments} label={`Arguments of ${tool.name}`} />;
  return (
    <Box
      title={<Visible text={tool.name} />}
      note={tool.server === null ? "would run with these arguments" : <>on <Visible text={tool.server} /></>}
      chip={tool.hints !== null ? <Hints hints={tool.hints} /> : risk === "high" ? <Chip tone="danger">high risk</Chip> : undefined}
    >
      {tool.behind > 0 && <p className={css.behind}>{tool.behind === 1 ? "One more call of this message is" : `${tool.behind} more calls of this message are`} asked about after this one; none runs before.</p>}
      {derived === null ? tree : (
        <>
          <DerivedPart derived={derived} />
          <details className={css.all} open={derived.besides.length > 0 ? true : undefined}>
            <summary>All arguments, as they would be sent</summary>
            {tree}
          </details>
        </>
      )}
    </Box>
  );
}

function Hints({ hints }: { hints: string[] }) {
  if (hints.length === 0) return <Chip title="Its server does not say what it may do">not marked</Chip>;
  return hints.map((hint) => (
    <Chip key={hint} tone={hint === "destructive" ? "danger" : "plain"} title="So its server says">
      {hint}
    </Chip>
  ));
}

const filesAtFirst = 20;

function DerivedPart({ derived }: { derived: Derived }) {
  const [all, setAll] = useState(false);
  const files = derived.kind === "files" ? derived.files : [];
  const shown = all ? files : files.slice(0, filesAtFirst);
  return (
    <div className={css.derived}>
      {derived.kind === "command" && (
        <Part head={derived.cwd === null ? "Command" : <>Command in <Visible text={derived.cwd} /></>}>
          <CommandText command={derived.command} />
        </Part>
      )}
      {shown.map((file, index) => (
        // The same file may come twice; the list never changes its order.
        // oxlint-disable-next-line react/no-array-index-key
        <Part key={index} head={<>{changeWords[file.what]}{file.path !== null && <> <b><Visible text={file.path} /></b></>}</>}>
          <Diff lines={file.lines} label={file.path === null ? "Changes" : `Changes to ${file.path}`} />
        </Part>
      ))}
      {shown.length < files.length && (
        <Button size="s" onClick={() => setAll(true)}>
          {shown.length} of {files.length} files shown. Show all
        </Button>
      )}
      <p className={css.source}>
        Derived from the arguments; what the tool makes of them is up to it.
        {derived.besides.length > 0 && <> Not shown here: <Visible text={derived.besides.join(", ")} />.</>}
      </p>
    </div>
  );
}

const changeWords: Record<FileChange["what"], string> = { writes: "Text for", changes: "Old and new text for", patch: "Patch" };

function Part({ head, children }: { head: ReactNode; children: ReactNode }) {
  return (
    <section>
      <h3 className={css.part}>{head}</h3>
      {children}
    </section>
  );
}

function CommandText({ command }: { command: string }) {
  return (
    // A scrolling region takes the focus, so that keys can scroll it.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <pre className={css.command} role="region" aria-label="Command" tabIndex={0}>
      <Visible text={command} />
    </pre>
  );
}

export function RestPart({ value }: { value: unknown }) {
  return (
    <Box title="Also in this question">
      <JsonTree value={value} label="Also in this question" />
    </Box>
  );
}

function Box({ title, note, chip, icon, children }: { title: ReactNode; note?: ReactNode; chip?: ReactNode; icon?: ReactNode; children: ReactNode }) {
  return (
    <section className={css.box}>
      <header className={css.head}>
        {icon}
        <b>{title}</b>
        {note !== undefined && <span>{note}</span>}
        {chip}
      </header>
      {children}
    </section>
  );
}
