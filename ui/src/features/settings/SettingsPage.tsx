// What the person can choose, and the facts of this installation.

import { useState, type ReactNode } from "react";
import { Button } from "../../components/Button";
import { Select } from "../../components/Field";
import page from "../../components/Page.module.css";
import { useDesk, useDeskState, useUi } from "../../store/hooks";
import type { Settings } from "../../store/state";
import { asRefusal } from "../../transport/transport";
import { ApiKeys } from "./ApiKeys";
import { themeWords, undoChoices, undoWord } from "./choices";
import css from "./SettingsPage.module.css";


export function SettingsPage() {
  const desk = useDesk();
  const settings = useDeskState((state) => state.settings);
  const about = useDeskState((state) => state.about);
  const engine = useDeskState((state) => state.engine);
  return (
    <div className={page.page}>
      <div className={page.bar}>
        <h1>Settings</h1>
      </div>
      <div className={page.body}>
        <div className={css.groups}>
          <Group title="Appearance">
            <div className={css.choices}>
              <Select label="Theme" value={settings.theme} onChange={(event) => desk.saveSettings({ theme: event.target.value as Settings["theme"] })}>
                {Object.entries(themeWords).map(([theme, word]) => (
                  <option key={theme} value={theme}>
                    {word}
                  </option>
                ))}
              </Select>
            </div>
          </Group>
          <Group title="Answering" about="An answer is held back for this long, so that you can take it back with U. Held answers survive a restart.">
            <div className={css.choices}>
              <Select label="Time to undo" value={settings.undo_ms} onChange={(event) => desk.saveSettings({ undo_ms: Number(event.target.value) })}>
                {withChoice(settings.undo_ms).map((ms) => (
                  <option key={ms} value={ms}>
                    {undoWord(ms)}
                  </option>
                ))}
              </Select>
              {(["low", "medium", "high"] as const).map((risk) => (
                <Select key={risk} label={`${risk} risk`} value={ofRisk(settings, risk)} onChange={(event) => desk.saveSettings({ [`undo_ms_${risk}`]: event.target.value === "" ? undefined : Number(event.target.value) })}>
                  <option value="">The same</option>
                  {withChoice(ofRisk(settings, risk)).map((ms) => (
                    <option key={ms} value={ms}>
                      {undoWord(ms)}
                    </option>
                  ))}
                </Select>
              ))}
            </div>
          </Group>
          {desk.transport.notificationTest !== undefined && <Notifications test={desk.transport.notificationTest} />}
          <Group title="API keys" about="A program shows its key to the engine's HTTP API and may then start sessions, answer their questions and read their logs.">
            <ApiKeys />
          </Group>
          <Group title="This installation">
            <dl className={css.facts}>
              <Fact name="Version" value={about.version} />
              <Fact name="Configuration" value={about.config_path} />
              <Fact name="Database" value={about.db_path} />
              <Fact name="API" value={engine.address ?? "off"} />
              <Fact name="You answer as" value={about.user} />
              {about.sample_folder !== null && <Fact name="Sample project" value={about.sample_folder} />}
            </dl>
          </Group>
        </div>
      </div>
    </div>
  );
}

/** The undo time of one risk; empty: the same as for all. */
function ofRisk(settings: Settings, risk: "low" | "medium" | "high"): number | "" {
  const own = settings[`undo_ms_${risk}`];
  return typeof own === "number" ? own : "";
}

/** A time written into the settings by hand stands among the usual ones. */
function withChoice(ms: number | ""): readonly number[] {
  return ms === "" || undoChoices.includes(ms) ? undoChoices : [...undoChoices, ms].sort((a, b) => a - b);
}

function Notifications({ test }: { test: NonNullable<ReturnType<typeof useDesk>["transport"]["notificationTest"]> }) {
  const desk = useDesk();
  const problem = useUi((ui) => ui.notificationProblem);
  const [said, setSaid] = useState<string | null>(null);
  async function run(): Promise<void> {
    setSaid(null);
    try {
      const status = await test();
      desk.ui.setState({ notificationProblem: status.problem });
      setSaid(status.problem ?? `Shown${status.service === null ? "" : ` by ${status.service}`}. Click it: this window tells you when the click comes back.`);
    } catch (thrown) {
      setSaid(asRefusal(thrown).message);
    }
  }
  return (
    <Group title="Notifications" about={problem ?? "A notification is raised for each new question whose card is not on screen."}>
      <Button onClick={() => void run()}>Send a test notification</Button>
      {said !== null && <p role="status">{said}</p>}
    </Group>
  );
}

function Group({ title, about, children }: { title: string; about?: string; children: ReactNode }) {
  return (
    <section className={css.group} aria-label={title}>
      <h2>{title}</h2>
      <div>
        {children}
        {about !== undefined && <p className={css.about}>{about}</p>}
      </div>
    </section>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
