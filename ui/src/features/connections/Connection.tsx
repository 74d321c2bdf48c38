// A connection to an MCP server: how it stands, and what a person can do about its credential. The same in settings and on a card.

import { useState, type FormEvent } from "react";
import { Button } from "../../components/Button";
import { Chip } from "../../components/Chip";
import { Visible } from "../../components/Visible";
import { useDesk } from "../../store/hooks";
import { asRefusal } from "../../transport/transport";
import type { AuthorizationLink, ConnectionRow } from "../../wire";
import css from "./Connection.module.css";

export function ConnectionStanding({ row }: { row: ConnectionRow }) {
  const { tone, words } = standing(row);
  return (
    <div className={css.standing}>
      <Chip tone={tone}>{words}</Chip>
      {row.problem !== null && (
        <span className={css.problem}>
          <Visible text={row.problem} />
        </span>
      )}
    </div>
  );
}

function standing(row: ConnectionRow): { tone: "plain" | "wait" | "danger"; words: string } {
  if (row.auth === null) return { tone: "plain", words: "local, needs no authorization" };
  if (row.waiting) return { tone: "wait", words: "waiting for your browser" };
  if (row.needs === "never_authorized") return { tone: "wait", words: "needs authorization" };
  if (row.needs === "reauthorize") return { tone: "wait", words: "needs a new authorization" };
  if (row.needs !== null) return { tone: "danger", words: "refuses its token" };
  if (row.credential === "oauth") return { tone: "plain", words: "authorized" };
  if (row.credential === "token") return { tone: "plain", words: "has a token" };
  if (row.credential === "environment") return { tone: "plain", words: "token from the environment" };
  return { tone: "plain", words: row.auth === "none" ? "shows no credential" : "no authorization asked for so far" };
}

export function ConnectionControls({ row }: { row: ConnectionRow }) {
  const desk = useDesk();
  const [link, setLink] = useState<AuthorizationLink | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [typing, setTyping] = useState(false);
  const [busy, setBusy] = useState(false);
  if (row.auth === null || row.auth === "none" || row.credential === "environment") return null;

  async function run(work: () => Promise<void>): Promise<void> {
    setProblem(null);
    setBusy(true);
    try {
      await work();
    } catch (thrown) {
      setProblem(asRefusal(thrown).message);
    } finally {
      setBusy(false);
    }
  }

  const ask = (): Promise<void> => run(async () => setLink(await desk.transport.authorizeConnection(row.path)));
  const forget = (): Promise<void> =>
    run(async () => {
      setLink(null);
      await desk.transport.forgetConnection(row.path);
    });
  return (
    <div className={css.controls}>
      <div className={css.row}>
        {row.auth !== "token" && (
          <Button size="s" disabled={busy} aria-label={`Authorize ${row.path}`} onClick={() => void ask()}>
            Authorize
          </Button>
        )}
        {row.auth !== "oauth" && !typing && (
          <Button size="s" disabled={busy} look={row.auth === "token" ? "plain" : "quiet"} aria-label={`Set a token for ${row.path}`} onClick={() => setTyping(true)}>
            Set a token
          </Button>
        )}
        {row.credential !== null && (
          <Button size="s" look="quiet" disabled={busy} aria-label={`Forget the credential of ${row.path}`} onClick={() => void forget()}>
            Forget
          </Button>
        )}
      </div>
      {link !== null && (row.waiting || row.credential === null) && <LinkPart link={link} onOpened={() => setLink(null)} />}
      {typing && (
        <TokenPart
          path={row.path}
          onCancel={() => setTyping(false)}
          onSave={(token) =>
            void run(async () => {
              await desk.transport.setConnectionToken(row.path, token);
              setTyping(false);
            })
          }
        />
      )}
      {problem !== null && (
        <p role="alert" className={css.problem}>
          {problem}
        </p>
      )}
    </div>
  );
}

/** The server chose the address: its host is seen before it is opened. */
function LinkPart({ link, onOpened }: { link: AuthorizationLink; onOpened: () => void }) {
  const desk = useDesk();
  const openExternal = desk.transport.openExternal;
  return (
    <div className={css.link}>
      <p>
        The authorization is given at <b><Visible text={link.host} /></b>. It lets this engine use the server in your name.
      </p>
      <div className={css.row}>
        {openExternal !== undefined && (
          <Button
            size="s"
            look="primary"
            onClick={() => {
              void desk.attempt(openExternal(link.url)).then(onOpened);
            }}
          >
            Open in browser
          </Button>
        )}
        <Button size="s" onClick={() => void desk.attempt(navigator.clipboard.writeText(link.url))}>
          Copy link
        </Button>
      </div>
    </div>
  );
}

/** The token stays in this box until it is sent: no draft is kept of it. */
function TokenPart({ path, onSave, onCancel }: { path: string; onSave: (token: string) => void; onCancel: () => void }) {
  const [token, setToken] = useState("");
  function save(event: FormEvent): void {
    event.preventDefault();
    onSave(token.trim());
  }
  return (
    <form className={css.row} onSubmit={save}>
      <input
        type="password"
        autoComplete="off"
        spellCheck={false}
        aria-label={`Token for ${path}`}
        className={css.token}
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
      <Button size="s" type="submit" look="primary" disabled={token.trim() === ""}>
        Save
      </Button>
      <Button size="s" look="quiet" onClick={onCancel}>
        Cancel
      </Button>
    </form>
  );
}
