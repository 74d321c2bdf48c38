// What is wrong and stays wrong until something is done: said once, at the top, with what to do.

import { BellOff, DatabaseZap, FileWarning, Unplug } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useDeskState, useUi } from "../store/hooks";
import css from "./Banners.module.css";

export function Banners() {
  const configError = useDeskState((state) => state.config_error);
  const configPath = useDeskState((state) => state.about.config_path);
  const engine = useDeskState((state) => state.engine);
  const notification = useUi((ui) => ui.notificationProblem);
  const line = useUi((ui) => ui.line);
  const [quiet, setQuiet] = useState<string | null>(null);
  return (
    <div className={css.banners}>
      {engine.state !== "running" && (
        <Banner tone="danger" icon={<DatabaseZap aria-hidden="true" />}>
          <b>The engine is {engine.state}.</b> {engine.problem ?? "Nothing new is started until it runs again."}
        </Banner>
      )}
      {line === "lost" && (
        <Banner tone="danger" icon={<Unplug aria-hidden="true" />}>
          <b>The connection to the engine is lost.</b> What you see may be old; it is read again as soon as the engine answers.
        </Banner>
      )}
      {configError !== null && (
        <Banner tone="danger" icon={<FileWarning aria-hidden="true" />}>
          <b>{configPath === "" ? "The configuration" : configPath} cannot be read;</b> the last good configuration stays in force.
          <pre>{configError}</pre>
        </Banner>
      )}
      {notification !== null && quiet !== notification && (
        <Banner tone="wait" icon={<BellOff aria-hidden="true" />}>
          <b>No notification will reach you.</b> {notification}
          <button type="button" onClick={() => setQuiet(notification)}>
            Dismiss
          </button>
        </Banner>
      )}
    </div>
  );
}

function Banner({ tone, icon, children }: { tone: "danger" | "wait"; icon: ReactNode; children: ReactNode }) {
  return (
    <div className={css.banner} data-tone={tone} role={tone === "danger" ? "alert" : "status"}>
      {icon}
      <div>{children}</div>
    </div>
  );
}
