/** The worker's state and the agent's configuration, as they hold on the active path. */
import { JsonTree } from "../../components/JsonTree";
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
  const absent = value === null || value === undefined;
  return (
    <section className={css.data}>
      <h2 className={css.heading}>{title}</h2>
      {absent ? <p className={css.note}>{none}</p> : <div className={css.json}><JsonTree value={value} label={title} /></div>}
    </section>
  );
}
