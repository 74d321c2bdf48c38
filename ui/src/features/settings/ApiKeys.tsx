// API keys: for programs that use the engine over HTTP. A new key is seen once, in the dialog that made it, and nowhere after that.

import { useEffect, useId, useRef, useState, type FormEvent, type RefObject } from "react";
import { Button } from "../../components/Button";
import { Chip } from "../../components/Chip";
import { Dialog } from "../../components/Dialog";
import { Select } from "../../components/Field";
import { ago, exact, expiry, useNow } from "../../components/time";
import { Visible } from "../../components/Visible";
import { useDesk } from "../../store/hooks";
import { asRefusal } from "../../transport/transport";
import type { ApiKeyRow } from "../../wire";
import css from "./ApiKeys.module.css";
import { expiryChoices, expiryTime } from "./choices";

export function ApiKeys() {
  const desk = useDesk();
  const newKey = useRef<HTMLButtonElement>(null);
  const [keys, setKeys] = useState<ApiKeyRow[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<ApiKeyRow | null>(null);
  const [changes, setChanges] = useState(0);

  useEffect(() => {
    let shown = true;
    desk.transport.listKeys().then(
      (rows) => {
        if (!shown) return;
        setKeys(rows);
        setProblem(null);
      },
      (thrown: unknown) => {
        if (shown) setProblem(asRefusal(thrown).message);
      },
    );
    return () => {
      shown = false;
    };
  }, [desk, changes]);

  const changed = (): void => setChanges((count) => count + 1);
  return (
    <div className={css.part}>
      <Button ref={newKey} onClick={() => setMaking(true)}>New key…</Button>
      {problem !== null && <Problem text={problem} />}
      {keys?.length === 0 && <p className="muted">There is no API key.</p>}
      {keys !== null && keys.length > 0 && (
        <ul className={css.list} aria-label="API keys">
          {keys.map((row) => (
            <Key key={row.id} row={row} onRevoke={() => setRevoking(row)} />
          ))}
        </ul>
      )}
      {making && <NewKey home={newKey} onMade={changed} onClose={() => setMaking(false)} />}
      {revoking !== null && <Revoke row={revoking} home={newKey} onRevoked={changed} onClose={() => setRevoking(null)} />}
    </div>
  );
}

function Key({ row, onRevoke }: { row: ApiKeyRow; onRevoke: () => void }) {
  const now = useNow();
  const expired = row.expires_at !== null && Date.parse(row.expires_at) <= now;
  return (
    <li className={css.key} aria-label={row.name}>
      <div className={css.text}>
        <h3>
          <Visible text={row.name} />
          {row.revoked_at !== null ? <Chip tone="danger">revoked</Chip> : expired && <Chip tone="danger">expired</Chip>}
        </h3>
        <p className={css.facts}>
          <time dateTime={row.created_at} title={exact(row.created_at)}>made {ago(row.created_at, now)}</time>
          {row.tenant !== null && <span>for <Visible text={row.tenant} /></span>}
          <Lasts row={row} now={now} />
        </p>
      </div>
      {row.revoked_at === null && (
        <Button size="s" look="quiet" aria-label={`Revoke ${row.name}`} onClick={onRevoke}>
          Revoke
        </Button>
      )}
    </li>
  );
}

function Lasts({ row, now }: { row: ApiKeyRow; now: number }) {
  if (row.revoked_at !== null) return <time dateTime={row.revoked_at} title={exact(row.revoked_at)}>revoked {ago(row.revoked_at, now)}</time>;
  if (row.expires_at === null) return <span>never expires</span>;
  return <time dateTime={row.expires_at} title={exact(row.expires_at)}>{expiry(row.expires_at, now)}</time>;
}

/** The key is in this dialog's state alone: closing it is forgetting it. */
function NewKey({ home, onMade, onClose }: { home: RefObject<HTMLElement | null>; onMade: () => void; onClose: () => void }) {
  const desk = useDesk();
  const form = useId();
  const [name, setName] = useState("");
  const [days, setDays] = useState("");
  const [secret, setSecret] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  async function make(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (name.trim() === "" || busy) return;
    setBusy(true);
    setProblem(null);
    try {
      const made = await desk.transport.makeKey(name.trim(), expiryTime(days, Date.now()));
      setSecret(made.key);
      onMade();
    } catch (thrown) {
      setProblem(asRefusal(thrown).message);
    } finally {
      setBusy(false);
    }
  }

  const ask = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button type="submit" form={form} look="primary" disabled={busy || name.trim() === ""}>
        Make key
      </Button>
    </>
  );
  return (
    <Dialog
      open
      onClose={onClose}
      focusAfter={() => home.current}
      title={secret === null ? "New API key" : `The key ${name.trim()}`}
      actions={secret === null ? ask : <CopyOrClose secret={secret} onClose={onClose} />}
    >
      {secret === null ? (
        <form id={form} className={css.fields} onSubmit={(event) => void make(event)}>
          <label htmlFor={`${form}-name`}>Name</label>
          {/* The dialog is opened to write this. */}
          {/* oxlint-disable-next-line jsx-a11y/no-autofocus */}
          <input id={`${form}-name`} autoFocus autoComplete="off" className={css.box} value={name} onChange={(event) => setName(event.target.value)} />
          <Select label="Expires" value={days} onChange={(event) => setDays(event.target.value)}>
            {expiryChoices.map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
          </Select>
          {problem !== null && <Problem text={problem} />}
        </form>
      ) : (
        <div className={css.fields}>
          <p className={css.warning}>Copy it now: this key is not shown again. Closing this forgets it.</p>
          <input readOnly aria-label="API key" className={css.box} data-mono="true" value={secret} onFocus={(event) => event.target.select()} />
        </div>
      )}
    </Dialog>
  );
}

function CopyOrClose({ secret, onClose }: { secret: string; onClose: () => void }) {
  const desk = useDesk();
  const [copied, setCopied] = useState(false);
  async function copy(): Promise<void> {
    const written = await desk.attempt(navigator.clipboard.writeText(secret).then(() => true));
    setCopied(written === true);
  }
  return (
    <>
      <p role="status" className={css.said}>{copied ? "Copied." : ""}</p>
      <Button onClick={onClose}>Close</Button>
      {/* What the person does next; Enter does not close what cannot be seen again. */}
      {/* oxlint-disable-next-line jsx-a11y/no-autofocus */}
      <Button autoFocus look="primary" onClick={() => void copy()}>
        Copy
      </Button>
    </>
  );
}

function Revoke({ row, home, onRevoked, onClose }: { row: ApiKeyRow; home: RefObject<HTMLElement | null>; onRevoked: () => void; onClose: () => void }) {
  const desk = useDesk();
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  // The button that asked for it goes away with the key.
  const revoked = useRef(false);
  async function revoke(): Promise<void> {
    setBusy(true);
    try {
      await desk.transport.revokeKey(row.id);
      revoked.current = true;
      onRevoked();
      onClose();
    } catch (thrown) {
      setProblem(asRefusal(thrown).message);
      setBusy(false);
    }
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Revoke ${row.name}?`}
      size="s"
      focusAfter={() => (revoked.current ? home.current : null)}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button look="danger" disabled={busy} onClick={() => void revoke()}>
            Revoke key
          </Button>
        </>
      }
    >
      <p>Programs that use this key are refused from now on. This cannot be taken back.</p>
      {problem !== null && <Problem text={problem} />}
    </Dialog>
  );
}

function Problem({ text }: { text: string }) {
  return (
    <p role="alert" className={css.problem}>
      {text}
    </p>
  );
}
