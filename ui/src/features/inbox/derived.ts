// What a call's arguments plainly say: a command line, or what would be written into files. Read off the names and shapes that tools
// share, never off which tool or server it is. What does not fit wholly is left to the JSON tree: half a preview would mislead.

import { compareLines, writtenLines } from "../../components/compare";
import { diffLines, type DiffLine } from "../../components/Diff";
import { commandLine, record } from "./question";

export interface FileChange {
  /** Null for a patch that names its files itself. */
  path: string | null;
  what: "writes" | "changes" | "patch";
  lines: DiffLine[];
}

export type Derived = (
  | { kind: "command"; command: string; cwd: string | null }
  | { kind: "files"; files: FileChange[] }
) & {
  /** Names of the arguments that the preview does not show. */
  besides: string[];
};

const paths = new Set(["path", "file", "filepath", "filename", "targetfile", "targetpath", "notebookpath", "absolutepath", "relativepath", "uri"]);
const pairs = new Map([
  ["old", "new"], ["oldtext", "newtext"], ["oldstring", "newstring"], ["oldstr", "newstr"], ["oldcontent", "newcontent"],
  ["oldcontents", "newcontents"], ["oldcode", "newcode"], ["oldlines", "newlines"], ["search", "replace"], ["find", "replace"],
]);
const youngs = new Set(pairs.values());
const wholes = new Set(["content", "contents", "filecontent", "filecontents", "filetext", "newcontent", "newcontents"]);
const patches = new Set(["patch", "diff", "unifieddiff", "patchtext"]);
const lists = new Set(["edits", "changes", "replacements", "files", "operations"]);
const commands = new Set(["command", "cmd", "commandline", "shellcommand", "argv"]);
const parameters = new Set(["args", "arguments", "argv", "parameters"]);
const folders = new Set(["cwd", "workdir", "workingdir", "workingdirectory", "currentdirectory"]);

/** Null where the arguments are not plain. */
export function derive(given: unknown): Derived | null {
  const members = record(given);
  if (members === null) return null;
  const found = patched(members) ?? written(members, null) ?? listed(members);
  if (found !== null) return { kind: "files", files: together(found.files), besides: Object.keys(members).filter((name) => !found.used.has(name)).concat(found.inside) };
  return commanded(members);
}

interface Found {
  files: FileChange[];
  used: ReadonlySet<string>;
  /** What an entry of a list says beside its change. */
  inside: string[];
}

function patched(members: Members): Found | null {
  const [patch, path] = [one(members, patches), pathOf(members)];
  if (patch === null || typeof patch.value !== "string" || path === "unclear") return null;
  if (!/^(@@ |--- |\*\*\* (Begin Patch|Add File|Update File|Delete File))/m.test(patch.value)) return null;
  return { files: [{ path: path?.value ?? null, what: "patch", lines: diffLines(patch.value) }], used: used(patch, path), inside: [] };
}

/** A path with an old and a new text, or with a whole one. Within a list the path may stand outside. */
function written(members: Members, outer: string | null): Found | null {
  const path = pathOf(members);
  const name = path === null ? outer : path === "unclear" ? null : path.value;
  if (name === null || path === "unclear") return null;
  const old = one(members, new Set(pairs.keys()));
  if (old !== null) {
    const young = one(members, new Set([pairs.get(plain(old.name)) ?? ""]));
    // Beside another new text it would not be plain which one counts.
    const clear = one(members, new Set([...youngs, ...wholes])) !== null;
    if (!clear || young === null || typeof old.value !== "string" || typeof young.value !== "string") return null;
    return { files: [{ path: name, what: "changes", lines: compareLines(old.value, young.value) }], used: used(old, young, path), inside: [] };
  }
  const whole = one(members, wholes);
  if (whole === null || typeof whole.value !== "string") return null;
  return { files: [{ path: name, what: "writes", lines: writtenLines(whole.value) }], used: used(whole, path), inside: [] };
}

function listed(members: Members): Found | null {
  const [list, path] = [one(members, lists), pathOf(members)];
  if (list === null || !Array.isArray(list.value) || list.value.length === 0 || path === "unclear") return null;
  const files: FileChange[] = [];
  const inside = new Set<string>();
  for (const each of list.value as unknown[]) {
    const entry = record(each);
    const found = entry === null ? null : written(entry, path?.value ?? null);
    if (entry === null || found === null) return null;
    files.push(...found.files);
    for (const name of Object.keys(entry)) if (!found.used.has(name)) inside.add(`${list.name}[].${name}`);
  }
  return { files, used: used(list, path), inside: [...inside] };
}

/** Changes to one file that follow each other stand under one head, numbered. */
function together(files: FileChange[]): FileChange[] {
  const merged: (FileChange & { parts: DiffLine[][] })[] = [];
  for (const file of files) {
    const last = merged.at(-1);
    if (last !== undefined && last.path === file.path && last.what === file.what && file.what === "changes") last.parts.push(file.lines);
    else merged.push({ ...file, parts: [file.lines] });
  }
  return merged.map(({ path, what, parts }) => {
    const numbered = parts.flatMap((lines, index): DiffLine[] => [{ kind: "note", text: `change ${index + 1} of ${parts.length}`, before: null, after: null }, ...lines]);
    return { path, what, lines: parts.length === 1 ? parts.flat() : numbered };
  });
}

function commanded(members: Members): Derived | null {
  const command = one(members, commands);
  if (command === null) return null;
  const more = one(members, new Set([...parameters].filter((name) => name !== plain(command.name))));
  const [folder, path] = [one(members, folders), pathOf(members)];
  if (typeof command.value === "string" && command.value.trim() === "") return null;
  // An editor's verb for a file (`view`, `undo`) is no command line.
  if (path !== null && typeof command.value === "string" && !/\s/.test(command.value)) return null;
  const line = commandLine(more === null ? command.value : withParameters(command.value, more.value));
  if (line === null || line === "") return null;
  const cwd = folder !== null && typeof folder.value === "string" ? folder.value : null;
  const known = used(command, more, cwd === null ? null : folder);
  return { kind: "command", command: line, cwd, besides: Object.keys(members).filter((name) => !known.has(name)) };
}

function withParameters(program: unknown, more: unknown): unknown {
  if (typeof program !== "string" || !Array.isArray(more)) return null;
  return more.length === 0 ? program : [program, ...(more as unknown[])];
}

type Members = Record<string, unknown>;

interface Named {
  name: string;
  value: unknown;
}

/** The one argument with such a name; null when there is none, or two that could be meant. */
function one(members: Members, names: ReadonlySet<string>): Named | null {
  const found = Object.entries(members).filter(([name]) => names.has(plain(name)));
  const [first] = found;
  return found.length === 1 && first !== undefined ? { name: first[0], value: first[1] } : null;
}

function pathOf(members: Members): (Named & { value: string }) | null | "unclear" {
  const found = Object.entries(members).filter(([name]) => paths.has(plain(name)));
  const [first] = found;
  if (first === undefined) return null;
  const [name, value] = first;
  return found.length === 1 && typeof value === "string" && value.trim() !== "" ? { name, value } : "unclear";
}

/** `old_str`, `oldStr` and `OldStr` are one name. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, "");
}

function used(...named: (Named | null)[]): ReadonlySet<string> {
  return new Set(named.flatMap((each) => (each === null ? [] : [each.name])));
}
