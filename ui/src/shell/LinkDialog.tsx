// A link out of untrusted text opens only after its host and whole address were seen.

import { Button } from "../components/Button";
import { Dialog } from "../components/Dialog";
import { hostOf } from "../components/Markdown";
import { Visible } from "../components/Visible";
import { useDesk, useUi } from "../store/hooks";
import css from "./LinkDialog.module.css";

export function LinkDialog() {
  const desk = useDesk();
  const link = useUi((ui) => ui.link);
  const close = (): void => desk.ui.setState({ link: null });
  const openExternal = desk.transport.openExternal;
  if (link === null) return null;
  return (
    <Dialog
      open
      onClose={close}
      title={`Open ${hostOf(link) ?? "this link"}?`}
      actions={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button onClick={() => void desk.attempt(navigator.clipboard.writeText(link)).then(close)}>Copy link</Button>
          {openExternal !== undefined && (
            <Button
              look="primary"
              onClick={() => {
                close();
                void desk.attempt(openExternal(link));
              }}
            >
              Open in browser
            </Button>
          )}
        </>
      }
    >
      <p className="muted">The text of a message chose this address:</p>
      <p className={css.address}>
        <Visible text={link} />
      </p>
    </Dialog>
  );
}
