/** The worker's state and the agent's configuration, as they hold on the active path. */
import { Copy } from "lucide-react";
import { IconButton } from "../../components/Button";
import { Visible } from "../../components/Visible";
import { useSession } from "../session/view";
import css from "./Inspector.module.css";

export function WorkerState() {
  const { model } = useSession();
  const { state, agent } = model.followed;
  return (
    <div className={css.scroll}>
      {!model.active && <p className={css.note}>Of the active branch, not of the one on show.</p>}
      <Data title="Worker state" value={state} none="The worker keeps no state on this path." />
      <Data title="Configuration" value={agent} none="The agent has no configuration on this path." />
    </div>
  );
}

function Data({ title, value, none }: { title: string; value: unknown; none: string }) {
  const { operations } = useSession();
  const text = JSON.stringify(value, null, 2);
  const absent = value === null || value === undefined;
  return (
    <section aria-label={title} className={css.data}>
      <h3 className={css.heading}>
        {title}
        {!absent && <IconButton label={`Copy ${title.toLowerCase()}`} onClick={() => void operations.copy(text, title)}><Copy /></IconButton>}
      </h3>
      {absent && <p className={css.note}>{none}</p>}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      {!absent && <pre tabIndex={0}><Visible text={text} /></pre>}
    </section>
  );
}
