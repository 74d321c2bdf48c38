/** What else there is to know about a session, one question a tab. */
import { Tabs } from "@base-ui/react/tabs";
import { useSession } from "../session/view";
import { Interrupts } from "./Interrupts";
import { Log } from "./Log";
import { OpenWork, openCount } from "./OpenWork";
import { Spend } from "./Spend";
import { Threads } from "./Threads";
import { WorkerState } from "./WorkerState";
import css from "./Inspector.module.css";

export function Inspector() {
  const { model } = useSession();
  const open = openCount(model.followed);
  const waiting = model.followed.interrupts.length;
  return (
    <Tabs.Root defaultValue="threads" className={css.inspector}>
      <Tabs.List className={css.tabs} aria-label="Inspector">
        <Tabs.Tab value="threads" className={css.tab}>Threads</Tabs.Tab>
        <Tabs.Tab value="work" className={css.tab}>Open work<Count of={open} /></Tabs.Tab>
        <Tabs.Tab value="interrupts" className={css.tab}>Interrupts<Count of={waiting} /></Tabs.Tab>
        <Tabs.Tab value="state" className={css.tab}>State</Tabs.Tab>
        <Tabs.Tab value="log" className={css.tab}>Log</Tabs.Tab>
        <Tabs.Tab value="spend" className={css.tab}>Spend</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="threads" className={css.panel}><Threads /></Tabs.Panel>
      <Tabs.Panel value="work" className={css.panel}><OpenWork /></Tabs.Panel>
      <Tabs.Panel value="interrupts" className={css.panel}><Interrupts /></Tabs.Panel>
      <Tabs.Panel value="state" className={css.panel}><WorkerState /></Tabs.Panel>
      <Tabs.Panel value="log" className={css.panel}><Log /></Tabs.Panel>
      <Tabs.Panel value="spend" className={css.panel}><Spend /></Tabs.Panel>
    </Tabs.Root>
  );
}

function Count({ of }: { of: number }) {
  return of === 0 ? null : <span className={css.count}>{of}</span>;
}
