// The first minute: over the sample session's question, what to try and where its files are.

import { useState } from "react";
import { Button } from "../../components/Button";
import { useDesk, useDeskState } from "../../store/hooks";
import type { InterruptRow } from "../../wire";
import css from "./FirstRun.module.css";

export function FirstRun({ row }: { row: InterruptRow }) {
  const desk = useDesk();
  const sample = useDeskState((state) => state.about.sample_session_id);
  const folder = useDeskState((state) => state.about.sample_folder);
  const seen = useDeskState((state) => state.settings.first_run_seen === true);
  const [closed, setClosed] = useState(false);
  if (sample === null || row.session_id !== sample || seen || closed) return null;
  return (
    <aside className={css.welcome} aria-label="Welcome">
      <div>
        <h2>This agent stopped to ask you</h2>
        <p>
          Answer with the number on a button. Then open its session, edit your first message, and see a second branch grow. Its model is <b>scripted</b>: it
          follows a file and costs nothing.
        </p>
        {folder !== null && (
          <p>
            The sample’s files are in <code>{folder}</code>.
          </p>
        )}
      </div>
      <Button
        size="s"
        look="quiet"
        onClick={() => {
          setClosed(true);
          desk.saveSettings({ first_run_seen: true });
        }}
      >
        Got it
      </Button>
    </aside>
  );
}
