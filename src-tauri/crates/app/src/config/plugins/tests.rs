use serde_json::{Value, json};

use crate::config::{Config, ConfigError, ConnectionSettings, parse};

/// A project with a plugin in `tools/`, whose `.mcp.json` is `listed`.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn with(listed: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("tools")).expect("a folder");
        std::fs::write(folder.path().join("tools/.mcp.json"), listed).expect("a file");
        Self { folder }
    }

    fn of(servers: &Value) -> Self {
        Self::with(&json!({"mcpServers": servers}).to_string())
    }

    fn reads(&self, more: &str) -> Result<Config, ConfigError> {
        let text = format!(
            "[llm.main]\ntype = \"scripted\"\nscript = \"s.json\"\n[mcp.one]\ncommand = [\"x\"]\n[plugin.t]\npath = \"tools\"\n{more}"
        );
        parse(&self.folder.path().join("holdpoint.toml"), text)
    }

    /// The connection of one server, under what the configuration says more.
    fn connection(&self, server: &str, more: &str) -> ConnectionSettings {
        let config = self.reads(more).expect("a configuration");
        config.connections[&format!("plugin.t.mcp.{server}")].clone()
    }

    /// The complaint, with places relative to the project.
    fn complaint(&self, more: &str) -> String {
        let said = self.reads(more).map_or_else(|error| error.to_string(), |_| "no complaint".to_owned());
        said.replace(&format!("{}/", self.folder.path().display()), "")
    }

    fn home(&self) -> std::path::PathBuf {
        self.folder.path().join("tools")
    }
}

fn agent(keys: &str) -> String {
    format!("[agent.a]\nllm = \"main\"\nmodel = \"m\"\n{keys}\n")
}

fn local(command: &[&str], env: &[(&str, &str)], cwd: impl Into<std::path::PathBuf>) -> ConnectionSettings {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    ConnectionSettings::Stdio { command: command.iter().map(|word| (*word).to_owned()).collect(), env, cwd: cwd.into() }
}

#[test]
fn the_servers_of_a_plugin_are_connections_m2_f3() {
    let project = Project::of(&json!({
        "git": {"type": "stdio", "command": "uvx", "args": ["mcp-server-git"], "env": {"TOKEN": "${GIT_TOKEN}", "MODE": "fast"}},
        "own": {"command": "${CLAUDE_PLUGIN_ROOT}/serve", "cwd": "work"},
        "web": {"type": "http", "url": "https://example.com/mcp"},
    }));
    let home = project.home();
    assert_eq!(project.connection("git", ""), local(&["uvx", "mcp-server-git"], &[("TOKEN", "$GIT_TOKEN"), ("MODE", "fast")], &home));
    let program = home.join("serve").display().to_string();
    assert_eq!(project.connection("own", ""), local(&[&program], &[], home.join("work")));
    assert!(matches!(project.connection("web", ""), ConnectionSettings::Http { url, .. } if url == "https://example.com/mcp"));
    let config = project.reads("").expect("a configuration");
    assert_eq!(config.engine.plugins["plugin.t"], ["plugin.t.mcp.git", "plugin.t.mcp.own", "plugin.t.mcp.web"]);
    assert_eq!(config.engine.connections["plugin.t.mcp.git"].prefix.as_deref(), Some("git__"), "M-1");
}

#[test]
fn what_this_configuration_says_of_a_server_wins_key_by_key_f3() {
    let project = Project::of(&json!({"s": {"command": "a", "args": ["b"], "env": {"A": "1", "B": "2"}, "cwd": "w"}}));
    let home = project.home();
    let over = |keys: &str| project.connection("s", &format!("[plugin.t.mcp.s]\n{keys}\n"));
    assert_eq!(over(""), local(&["a", "b"], &[("A", "1"), ("B", "2")], home.join("w")));
    assert_eq!(over("env = { B = \"$MINE\", C = \"3\" }"), local(&["a", "b"], &[("A", "1"), ("B", "$MINE"), ("C", "3")], home.join("w")));
    assert_eq!(over("command = [\"c\"]"), local(&["c"], &[("A", "1"), ("B", "2")], home.join("w")), "`args` belong to the command");
    assert_eq!(over("cwd = \"here\""), local(&["a", "b"], &[("A", "1"), ("B", "2")], project.folder.path().join("here")), "F-1");
    assert!(matches!(over("url = \"http://127.0.0.1:1/\""), ConnectionSettings::Http { url, .. } if url == "http://127.0.0.1:1/"));
    let config = project.reads("[plugin.t.mcp.s]\nprefix_tools = false\n").expect("a configuration");
    assert_eq!(config.engine.connections["plugin.t.mcp.s"].prefix, None);
}

#[test]
fn bad_content_is_named_with_the_file_and_the_key_it_stands_in() {
    for (server, wanted) in [
        (json!({}), "tools/.mcp.json: mcpServers.s: needs exactly one of `url` and `command`"),
        (json!([]), "tools/.mcp.json: mcpServers.s: must be an object"),
        (json!({"comand": "x"}), "tools/.mcp.json: mcpServers.s.comand: unknown key; did you mean `command`?"),
        (json!({"command": ["x"]}), "tools/.mcp.json: mcpServers.s.command: must be a string, the program; its arguments are in `args`"),
        (json!({"command": "x", "args": "y"}), "tools/.mcp.json: mcpServers.s.args: must be a list of strings"),
        (json!({"command": "x", "args": [1]}), "tools/.mcp.json: mcpServers.s.command: must be a list of strings"),
        (json!({"command": ""}), "tools/.mcp.json: mcpServers.s.command: must not be empty: the program, then its arguments"),
        (json!({"url": "http://x", "args": ["y"]}), "tools/.mcp.json: mcpServers.s.args: needs a `command`"),
        (json!({"command": "x", "url": "http://x"}), "tools/.mcp.json: mcpServers.s: needs exactly one of `url` and `command`"),
        (json!({"url": "x"}), "tools/.mcp.json: mcpServers.s.url: must start with http:// or https://"),
        (json!({"url": "http://x", "env": {}}), "tools/.mcp.json: mcpServers.s.env: does not go with `url`"),
        (
            json!({"command": "x", "cwd": null}),
            "tools/.mcp.json: mcpServers.s: holds a null, a number beyond 64 bits, or a list of objects among other values",
        ),
        (
            json!({"command": "x", "cwd": u64::MAX}),
            "tools/.mcp.json: mcpServers.s: holds a null, a number beyond 64 bits, or a list of objects among other values",
        ),
        (json!({"command": "x", "env": {"A": 1}}), "tools/.mcp.json: mcpServers.s.env: must be a table of strings"),
        (json!({"command": "x", "env": {"A": "x${B}"}}), "tools/.mcp.json: mcpServers.s.env: a variable may be a whole value of `env`"),
        (json!({"command": "x", "args": ["${HOME}"]}), "tools/.mcp.json: mcpServers.s.args: a variable may be a whole value of `env`"),
        (json!({"type": "sse", "url": "http://x"}), "tools/.mcp.json: mcpServers.s.type: servers of the older transport \"sse\""),
        (json!({"type": "tcp", "url": "http://x"}), "tools/.mcp.json: mcpServers.s.type: must be one of \"stdio\", \"http\""),
        (json!({"type": "http", "command": "x"}), "tools/.mcp.json: mcpServers.s.type: does not fit"),
        (
            json!({"url": "http://x", "headers": {"Authorization": "Bearer sk-123"}}),
            "tools/.mcp.json: mcpServers.s.headers: is not read from here",
        ),
    ] {
        let said = Project::of(&json!({"s": server})).complaint("");
        assert!(said.starts_with(wanted), "said {said:?}, wanted {wanted:?}");
        assert!(!said.contains("sk-123"), "Q-52: {said}");
    }
    for (text, wanted) in [
        ("{\n  \"mcpServers\": {,\n", "tools/.mcp.json:2: not valid JSON: "),
        ("{}", "tools/.mcp.json: mcpServers: is missing; it lists the plugin's servers by name"),
        ("{\"mcpServers\": []}", "tools/.mcp.json: mcpServers: must be an object of servers by name"),
        ("{\"mcpServers\": {\"a b\": {}}}", "tools/.mcp.json: mcpServers.a b: a server's name has 1 to 64 letters"),
    ] {
        let said = Project::with(text).complaint("");
        assert!(said.starts_with(wanted), "said {said:?}, wanted {wanted:?}");
    }
}

#[test]
fn what_is_wrong_with_an_override_is_said_where_it_stands_f2() {
    let project = Project::of(&json!({"s": {"command": "x"}}));
    for (more, wanted) in [
        ("[plugin.t.mcp.z]\ncwd = \"x\"\n", "holdpoint.toml:8: plugin.t.mcp.z: the plugin has no such server"),
        ("[plugin.t.mcp.s]\ncwdd = \"x\"\n", "holdpoint.toml:9: plugin.t.mcp.s.cwdd: unknown key; did you mean `cwd`?"),
        (
            "[plugin.t.mcp.s]\ntoken = \"sk-123\"\n",
            "holdpoint.toml:9: plugin.t.mcp.s.token: unknown key, and secrets do not belong in this file; set it in the desktop's settings, or \
             in the environment as HOLDPOINT_MCP_TOKEN_T_S",
        ),
        ("[plugin.t.mcp.s]\nheader = \"X\"\n", "holdpoint.toml:9: plugin.t.mcp.s.header: does not go with `command`"),
        ("[plugin.t.mcp.s]\nprefix_tools = 1\n", "holdpoint.toml:9: plugin.t.mcp.s.prefix_tools: must be true or false"),
        ("[plugin.u]\n", "holdpoint.toml:8: plugin.u.path: is missing; it names the folder that holds the plugin's .mcp.json"),
        ("[plugin.u]\npath = \"nowhere\"\n", "holdpoint.toml:9: plugin.u.path: nowhere/.mcp.json cannot be read: "),
        ("[plugin.u]\npaht = \"x\"\n", "holdpoint.toml:9: plugin.u.paht: unknown key; did you mean `path`?"),
    ] {
        let said = project.complaint(more);
        assert!(said.starts_with(wanted), "said {said:?}, wanted {wanted:?}");
    }
}

#[test]
fn an_agent_uses_every_server_of_its_plugins_under_the_settings_of_the_entry_m11_p22() {
    let project = Project::of(&json!({"s": {"command": "x"}, "r": {"command": "y"}}));
    let more = agent("mcp = [\"mcp.one\"]\nplugins = [{ id = \"plugin.t\", approve = \"always\", tools = { include = [\"a*\"] } }]");
    let config = project.reads(&more).expect("a configuration");
    let own = config.engine.agents["a"].config.as_ref().expect("it sets a model");
    let entries = holdpoint_core::connector::entries(own);
    let seen: Vec<_> = entries.iter().map(|entry| (entry.path.as_str(), entry.approve, entry.tools.include.clone())).collect();
    let (always, only) = (holdpoint_core::connector::Approve::Always, Some(vec!["a*".to_owned()]));
    assert_eq!(
        seen,
        [
            ("mcp.one", holdpoint_core::connector::Approve::Never, None),
            ("plugin.t.mcp.s", always, only.clone()),
            ("plugin.t.mcp.r", always, only)
        ]
    );
}

#[test]
fn plugins_are_named_once_and_by_their_path_f7_q30() {
    let project = Project::of(&json!({"s": {"command": "x"}}));
    for (keys, wanted) in [
        ("plugins = \"plugin.t\"", ":11: agent.a.plugins: is a list of"),
        ("plugins = [\"t\"]", ":11: agent.a.plugins: there is no [t]; write the path \"plugin.t\" (Q-30)"),
        ("plugins = [\"plugin.tt\"]", ":11: agent.a.plugins: there is no [plugin.tt]; did you mean \"plugin.t\"?"),
        ("plugins = [\"plugin.t\", \"plugin.t\"]", ":11: agent.a.plugins: `plugin.t.mcp.s` is named twice"),
        ("plugins = [\"plugin.t\"]\nmcp = [\"plugin.t.mcp.s\"]", ":11: agent.a.plugins: `plugin.t.mcp.s` is named twice"),
        ("plugins = [{ id = \"plugin.t\", aprove = \"always\" }]", ":11: agent.a.plugins: unknown key `aprove` in an entry"),
    ] {
        let said = project.complaint(&agent(keys));
        assert!(said.starts_with(&format!("holdpoint.toml{wanted}")), "said {said:?}, wanted {wanted:?}");
    }
    let alone = project.reads(&agent("mcp = [\"plugin.t.mcp.s\"]")).expect("one server of a plugin can be named alone");
    assert_eq!(alone.engine.agents["a"].config.as_ref().map(|own| own.other["mcp"].clone()), Some(json!(["plugin.t.mcp.s"])));
}

#[test]
fn only_a_file_of_fair_size_is_read_from_a_plugin_f3() {
    let project = Project::with(&format!("{}{{}}", " ".repeat(1024 * 1024)));
    assert_eq!(project.complaint(""), "holdpoint.toml:7: plugin.t.path: tools/.mcp.json cannot be read: it has more than 1048576 bytes");
}

#[cfg(target_os = "linux")]
#[test]
fn a_plugin_whose_list_has_no_end_is_refused_f3() {
    let project = Project::with("{}");
    let file = project.home().join(".mcp.json");
    std::fs::remove_file(&file).expect("removed");
    std::os::unix::fs::symlink("/dev/zero", &file).expect("a link");
    assert_eq!(project.complaint(""), "holdpoint.toml:7: plugin.t.path: tools/.mcp.json cannot be read: it is no file");
}
