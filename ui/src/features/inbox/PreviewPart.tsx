// What would run, whole: the requester's preview, the tool with its arguments, and whatever else the question carries.

import { SquareTerminal } from "lucide-react";
import type { ReactNode } from "react";
import { Chip } from "../../components/Chip";
import { Diff } from "../../components/Diff";
import { JsonTree } from "../../components/JsonTree";
import { Markdown } from "../../components/Markdown";
import { Visible } from "../../components/Visible";
import css from "./PreviewPart.module.css";
import type { Preview, Question, Risk } from "./question";

export function PreviewPart({ preview }: { preview: Preview }) {
  switch (preview.kind) {
    case "diff":
      return (
        <Box title={preview.path === null ? "Changes" : <Visible text={preview.path} />}>
          <Diff text={preview.text} />
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
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
          <pre className={css.command} role="region" aria-label="Command" tabIndex={0}>
            <Visible text={preview.command} />
          </pre>
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

export function ToolPart({ tool, risk }: { tool: NonNullable<Question["tool"]>; risk: Risk | null }) {
  return (
    <Box
      title={<Visible text={tool.name} />}
      note="would run with these arguments"
      chip={risk === "high" ? <Chip tone="danger">high risk</Chip> : undefined}
    >
      <JsonTree value={tool.arguments} label={`Arguments of ${tool.name}`} />
    </Box>
  );
}

export function RestPart({ value }: { value: unknown }) {
  return (
    <Box title="Also in this question">
      <JsonTree value={value} label="Also in this question" />
    </Box>
  );
}

function Box({ title, note, chip, icon, children }: { title: ReactNode; note?: string; chip?: ReactNode; icon?: ReactNode; children: ReactNode }) {
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
