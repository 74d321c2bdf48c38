// Every key that works right now, by section.

import { keyLabel, type Action } from "../actions/action";
import { useRegistry } from "../actions/hooks";
import { Dialog } from "../components/Dialog";
import { Kbd } from "../components/Kbd";
import { useDesk, useUi } from "../store/hooks";
import css from "./KeySheet.module.css";

const sections: Action["section"][] = ["Go to", "Inbox", "Answer", "Session", "Window"];

export function KeySheet() {
  const desk = useDesk();
  const open = useUi((ui) => ui.overlay === "keys");
  return (
    <Dialog open={open} onClose={() => desk.ui.setState({ overlay: null })} title="Keys" size="l">
      {open && <Keys />}
    </Dialog>
  );
}

function Keys() {
  const actions = useRegistry().all().filter((action) => action.keys !== undefined && action.keys.length > 0);
  return (
    <div className={css.sheet}>
      {sections.map((section) => {
        const inside = actions.filter((action) => action.section === section);
        if (inside.length === 0) return null;
        return (
          <section key={section}>
            <h3>{section}</h3>
            <dl>
              {inside.map((action) => (
                <div key={action.id}>
                  <dt>{action.title}</dt>
                  <dd>
                    {action.keys?.map((key) => <Kbd key={key} keys={keyLabel(key)} />)}
                    <span className="visually-hidden">{action.keys?.join(" or ")}</span>
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        );
      })}
    </div>
  );
}
